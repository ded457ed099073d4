#include "server/serve.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <tuple>
#include <utility>

#include "api/audit.h"
#include "api/checkpoints.h"
#include "api/first_look.h"
#include "api/store_walk.h"
#include "api/usage.h"
#include "directory/owner.h"
#include "events/event_service.h"
#include "kernel/engine_numbers.h"
#include "once/blocking_driver.h"
#include "once/metered_store.h"
#include "once/open.h"
#include "server/abandoned_watch.h"
#include "server/lifetime.h"
#include "server/listening.h"
#include "server/mark_watch.h"
#include "server/reload.h"
#include "server/responder.h"
#include "server/running_metrics.h"
#include "server/server.h"
#include "server/store_sweep.h"
#include "server/token_watch.h"
#include "server/warnings.h"
#include "wire/text.h"

namespace once::server {
namespace {

constexpr Duration kTokensEvery = std::chrono::seconds(2);
constexpr Duration kDrain = std::chrono::seconds(4);
constexpr auto kExit = std::chrono::milliseconds(4'700);  // From the signal.

StartupFacts startup_facts(const ServeOptions& options, const tokens::Table& tokens) {
  const auto& tls = options.settings.tls;
  return collect_facts(
      {.store = options.store,
       .listen = options.listen,
       .has_tokens = tokens.is_closed(),
       .no_token_left = tokens.is_closed() && tokens.empty(),
       .if_store_down_proceed = options.service.if_store_down == IfStoreDown::proceed,
       .tls = tls != nullptr,
       .certificate_left =
           tls != nullptr ? std::optional(tls->expires() - system_clock().now()) : std::nullopt,
       .max_connections = options.settings.max_connections});
}

// The same later, when tokens and the certificate may be others. Options may just be read again.
StartupFacts facts_now(StartupFacts started, const tokens::Table& tokens, const Server& server) {
  started.has_tokens = tokens.is_closed();
  started.no_token_left = tokens.is_closed() && tokens.empty();
  const std::optional<Time> expires = server.certificate_expires();
  started.certificate_left =
      expires ? std::optional(*expires - system_clock().now()) : std::nullopt;
  return collect_facts(std::move(started));
}

// What `once doctor` and the console are told of this server.
api::Facts facts_of(const std::string& address, Store& store, const MeteredStore& metered,
                    const AbandonedWatch& abandoned) {
  const std::vector<EngineNumber> engine = engine_numbers(store);
  const auto stopped = std::ranges::find(engine, "once_engine_writes_stopped", &EngineNumber::name);
  return {.directory = directory_of(address),
          .descriptors = api::descriptors_of_process(),
          .writes_stopped = stopped != engine.end() && stopped->value > 0,
          .corrupt = errors_of(metered.snapshot(), ErrorCode::corrupt),
          .abandoned = abandoned.count(),
          .more = {}};
}

Listening listening_of(const ServeOptions& options) {
  return {options.listen, options.tls, options.plain_http};
}

// Before anything is opened.
Result<void> read_files(ServeOptions& options) {
  auto certificate = read_certificate(listening_of(options));
  if (!certificate) return std::unexpected(std::move(certificate.error()));
  options.settings.tls = std::move(*certificate);
  Result<client::SharedTls> handlers = client::read_tls(options.client_tls);
  if (!handlers) return std::unexpected(std::move(handlers.error()));
  options.events.tls = std::move(*handlers);
  return {};
}

// The address of the server, for commands that are given its directory. `old` is shown until the
// last handshake with it is over.
directory::ServerAddress address_of(const std::string& url, const ServeOptions& options,
                                    const net::TlsServerContext* fresh,
                                    const net::TlsServerContext* old = nullptr) {
  directory::ServerAddress address{url, options.service.instance, options.service.secret, {}};
  for (const auto* one : {old, fresh}) {
    if (one != nullptr) address.certificates.push_back(one->fingerprint());
  }
  return address;
}

Result<void> check_listen(const ServeOptions& options, const tokens::Table& tokens) {
  if (is_loopback(options.listen) || options.open_to_all || tokens.is_closed()) return {};
  return failure(ErrorCode::invalid,
                 "refusing to listen on " + options.listen +
                     " without tokens; make one with 'once token new', or say --open-to-all");
}

BatchingOptions driver_options(const Settings& settings, HomeWatch* watch) {
  constexpr unsigned kFewest = 3;  // So that one tenant has two, and another finds one free.
  const std::size_t threads = settings.long_work_threads > 0
                                  ? settings.long_work_threads
                                  : std::max(std::thread::hardware_concurrency(), kFewest);
  return {.max_waiting = settings.max_connections,
          .max_waiting_of_tenant = settings.max_waiting_of_namespace,
          .long_work_threads = threads,
          .max_long_work_of_tenant = settings.max_long_work_of_namespace,
          .batch_window = false,
          .watch = watch};
}

// After an error the next round tries again.
void refresh_tokens(BatchingDriver& driver, TokenWatch& watch) {
  const Time asked = system_clock().now();
  watch.take(driver.run(tokens::list()), asked);
  if (watch.lacks_mark()) std::ignore = driver.run(tokens::mark_closed());
}

// What cannot be read does not keep a server from starting: it lets nobody in.
Result<void> read_tokens(Store& store, TokenWatch& watch) {
  const Time asked = system_clock().now();
  Result<tokens::Listing> known = BlockingDriver(store).run(tokens::list());
  if (!known && known.error().code != ErrorCode::corrupt) {
    return std::unexpected(std::move(known.error()));
  }
  watch.take(std::move(known), asked);
  return {};
}

constexpr Duration kPatienceForTurn = std::chrono::seconds(20);

// A server that stops by itself may be one of several that were started at once, or its predecessor
// may still be stopping: the directory is waited for, or is another server's by then.
Result<directory::Owner> find_owner(const ServeOptions& options) {
  const auto open = [&](Duration wait) {
    return open_store(options.store, {.wait_for_turn = wait, .sweep_every = Duration::zero()});
  };
  const auto path = directory_of(options.store);
  if (options.exit_when_idle && path) {
    return directory::find_owner(*path, open, kPatienceForTurn);
  }
  Result<std::unique_ptr<Store>> store =
      open_store(options.store, {.sweep_every = Duration::zero()});
  if (!store) return std::unexpected(std::move(store.error()));
  return std::move(*store);
}

// Stops this process, as SIGTERM does, once the server was idle for so long.
class IdleExit {
 public:
  IdleExit(const Server& server, Journal& journal, Duration idle)
      : watching_(system_clock(), kLook, [&server, &journal, idle, told = false]() mutable {
          if (told || server.idle_for() < idle) return false;
          told = true;
          journal.line(Level::info, "idle");
          ::kill(::getpid(), SIGTERM);
          return false;
        }) {}

 private:
  static constexpr Duration kLook = std::chrono::milliseconds(250);
  const Periodic watching_;
};

void write_forwards(metrics::Exposition& out, const events::EventService& events) {
  out.family("once_event_forwards", "Events that are at their handlers, or wait for that.",
             metrics::Exposition::Type::gauge);
  out.sample({{"state", "running"}}, static_cast<double>(events.forwarding()));
  out.sample({{"state", "waiting"}}, static_cast<double>(events.waiting()));
}

// What namespaces with quotas have in the store. Until a quota needs it, nothing is counted.
class CountedUsage {
 public:
  // `metered` is what is served; what is in `store`, it has. Both must outlive it, as the tenants.
  CountedUsage(api::Tenants& tenants, Store& metered, Store& store, Duration every)
      : tenants_(tenants),
        counted_(store),
        every_(every),
        usage_(tenants.counted()),
        noting_(metered, usage_) {
    count();
  }

  // Those whose quotas need it have changed.
  void count_others() {
    usage_.set_tenants(tenants_.counted());
    count();
  }

  Store& store() { return noting_; }

 private:
  void count() {
    const auto counted = tenants_.counted();
    if (count_) return count_->set_tenants(counted);
    if (!counted.empty()) count_.emplace(counted_, usage_, counted, system_clock(), every_);
  }

  api::Tenants& tenants_;
  Store& counted_;
  const Duration every_;
  api::Usage usage_;
  api::UsageStore noting_;
  std::optional<api::UsageCount> count_;
};

// A connection that waits for news of the store cannot be used behind some poolers, and may be
// lost. Followers and waiters then look by themselves, so that nothing but time is lost.
void write_watch_state(Journal& journal, const Result<void>& state) {
  if (state) {
    journal.line(Level::info, "watching");
  } else {
    journal.line(Level::warning, "not_watching").text("error", state.error().message);
  }
}

// The server uses the driver, the events and the hub; these two use the driver, which answers to
// all of them, and the watch tells both. So the users stop first, then the driver ends, then its
// users are destroyed.
struct Stopping {
  std::optional<Server>& server;
  events::EventService& events;
  FollowHub& hub;
  HomeWatch* watch;
  ~Stopping() {
    if (watch != nullptr) watch->stop();
    if (server) server->stop();
    events.stop();
    hub.stop();
  }
};

}  // namespace

Result<void> serve(ServeOptions options, const std::function<void(const std::string&)>& ready) {
  ShutdownDeadline shutdown_deadline;  // First: destroyed last.
  const sigset_t signals = hold_signals({SIGHUP});
  if (Result<void> ok = read_files(options); !ok) return ok;
  allow_many_descriptors();
  Result<directory::Owner> owner = find_owner(options);
  if (!owner) return std::unexpected(std::move(owner.error()));
  if (const auto* other = std::get_if<directory::ServerAddress>(&*owner)) {
    ready("once: serving " + other->url + " on " + options.store);
    return {};
  }
  std::unique_ptr<Store>* const store = &std::get<std::unique_ptr<Store>>(*owner);
  Journal journal(options.journal);
  const MarkWatch mark_watch(store->get(), journal);
  if (Result<void> marked = mark_watch.check(); !marked) return marked;
  options.service.check_writable = [&] {
    Result<void> same = mark_watch.check();
    return same ? check_writable(**store) : same;
  };
  options.service.instance = api::hex_text(system_entropy().random());
  options.service.store = (*store)->describe();
  options.service.version = options.version;
  Result<std::string> secret = tokens::new_secret();
  if (!secret) return std::unexpected(std::move(secret.error()));
  options.service.secret = std::move(*secret);
  options.settings.max_document_bytes =
      std::max(options.settings.max_document_bytes, (*store)->limits().value_bytes);
  std::optional<api::Checkpoints> checkpoints;
  if (const auto path = directory_of(options.store)) {
    checkpoints.emplace(*path, [&](const auto& to) { return checkpoint(**store, to); });
    options.service.checkpoints = &*checkpoints;
  }
  // Beyond loopback, revoking the last token must not let everyone in.
  options.service.needs_tokens = !is_loopback(options.listen) && !options.open_to_all;
  api::Service service(options.service);
  TokenWatch token_watch(service.tokens(), journal, service.metrics().registry());
  if (Result<void> ok = read_tokens(**store, token_watch); !ok) return ok;
  if (Result<void> ok = check_listen(options, service.tokens()); !ok) return ok;
  Observer observer(service.metrics(), journal, options.service.instance);
  const std::unique_ptr<MeteredStore> metered = meter(**store);
  CountedUsage usage(service.tenants(), *metered, **store, options.count_every);
  Store& used = usage.store();
  // Where it cannot be written now, the first claim tries again.
  if (const auto secret = BlockingDriver(**store).run(api::learn_secret())) {
    used.secret().set(**secret);
  }
  const StoreSweep sweeping(*metered, service.metrics(), system_clock(), options.sweep_every);
  const AbandonedWatch abandoned(*metered, journal, service.metrics().registry(), system_clock());
  const api::StoreWalk walking(used, service.tenants(), service.metrics().registry(),
                               system_clock(),
                               api::StoreWalk::pauses(used.limits(), options.count_every));
  const Periodic remembering(system_clock(), metrics::History::kEvery, [&] {
    service.history().sample(system_clock().now());
    return false;
  });
  const std::unique_ptr<HomeWatch> watch = watch_homes(options.store);
  std::optional<Server> server;  // These outlive the driver, whose last answers arrive here.
  std::optional<Responder> responder;
  std::optional<FollowHub> hub;
  std::optional<events::EventService> events;
  BatchingDriver driver(used, driver_options(options.settings, watch.get()));
  const bool shared = (*store)->limits().calls_in_flight > 1;
  hub.emplace(driver, system_clock(), shared ? FollowHub::kPollShared : FollowHub::kPollOwned,
              watch.get());
  options.events.work = options.settings.work;
  options.events.share = options.settings.namespace_share;
  events.emplace(driver, options.events);
  service.set_event_receiver(*events);
  const Stopping stop{server, *events, *hub, watch.get()};
  if (watch) {
    watch->start(
        {.written =
             [&](const std::string& home) {
               driver.hint(home);
               hub->hint_home(home);
             },
         .anything =
             [&] {
               driver.hint_all();
               hub->hint_all();
             },
         .changed = [&](const Result<void>& state) { write_watch_state(journal, state); }});
  }
  const Periodic refreshing(system_clock(), kTokensEvery, [&] {
    refresh_tokens(driver, token_watch);
    return false;
  });
  service.set_audit_listener(
      [&hub] { hub->hint(std::string(api::kAuditNamespace), std::string(api::kAuditLog)); });
  responder.emplace(service, driver, *hub, observer, options.settings.work);
  server.emplace(options.settings, *responder);
  const metrics::Registry::Collecting forwards(
      service.metrics().registry(),
      [&](metrics::Exposition& out) { write_forwards(out, *events); });
  const metrics::Registry::Collecting engine(service.metrics().registry(),
                                             [&](metrics::Exposition& out) {
                                               write_engine(out, engine_numbers(**store));
                                               write_followers(out, *hub);
                                             });
  const RunningMetrics running(service.metrics().registry(), metered.get(), *server,
                               options.version, &driver);
  service.set_facts([&, started = startup_facts(options, service.tokens())] {
    api::Facts facts = facts_of(options.store, **store, *metered, abandoned);
    facts.more = findings_for(facts_now(started, service.tokens(), *server));
    return facts;
  });
  const Result<std::string> url = server->listen(options.listen);
  if (!url) return std::unexpected(url.error());
  service.set_url(*url);
  std::optional<IdleExit> idle_exit;
  if (options.exit_when_idle) idle_exit.emplace(*server, journal, *options.exit_when_idle);
  std::optional<directory::AddressFile> file;
  if (const auto path = directory_of(options.store)) {
    Result<directory::AddressFile> written =
        directory::AddressFile::write(*path, address_of(*url, options, options.settings.tls.get()));
    if (!written) return std::unexpected(std::move(written.error()));
    file.emplace(std::move(*written));
  }
  ready("once: serving " + *url + " on " + (*store)->describe());
  warn(journal, startup_facts(options, service.tokens()));
  journal.line(Level::info, "start").text("url", *url).text("store", (*store)->describe());
  Reload<ServeOptions> reload(options.read_again);
  reload.add([&](const ServeOptions& fresh) -> Result<Change> {
    auto tls = read_certificate_again(listening_of(fresh), options.settings.tls.get());
    if (!tls) return std::unexpected(std::move(tls.error()));
    // Before the new certificate is shown, so that no command meets one that it does not know.
    if (file && *tls != nullptr) {
      Result<void> written =
          file->rewrite(address_of(*url, options, tls->get(), options.settings.tls.get()));
      if (!written) return std::unexpected(std::move(written.error()));
    }
    Settings settings = fresh.settings;
    settings.tls = *tls;
    settings.max_document_bytes =
        std::max(settings.max_document_bytes, (*store)->limits().value_bytes);
    const bool is_new =
        *tls != nullptr && (*tls)->fingerprint() != options.settings.tls->fingerprint();
    return Change{is_new ? "certificate" : "", [&, settings] {
                    options.settings = settings;
                    server->apply(settings);
                    responder->set_work(settings.work);
                  }};
  });
  reload.add([&](const ServeOptions& fresh) -> Result<Change> {
    if (options.events.tls == nullptr) return Change{};
    Result<client::SharedTls> tls = client::read_tls(fresh.client_tls);
    if (!tls) return std::unexpected(std::move(tls.error()));
    return Change{"", [&, tls = *tls] { client::replace_tls(*options.events.tls, *tls); }};
  });
  reload.add([&](const ServeOptions& fresh) -> Result<Change> {
    if (fresh.events.routes == options.events.routes) return Change{};
    const std::string count = std::to_string(fresh.events.routes.size());
    return Change{"routes (" + count + " now)", [&, routes = fresh.events.routes] {
                    options.events.routes = routes;
                    events->set_routes(routes);
                  }};
  });
  reload.add([&](const ServeOptions& fresh) -> Result<Change> {
    if (fresh.service.quotas == options.service.quotas) return Change{};
    return Change{"quotas", [&, quotas = fresh.service.quotas] {
                    options.service.quotas = quotas;
                    service.tenants().set_quotas(quotas);
                    usage.count_others();
                  }};
  });
  reload.add([&](const ServeOptions& fresh) -> Result<Change> {
    return Change{"", [&, trust = fresh.service.token_trust, most = fresh.service.tally_bytes] {
                    service.tokens().set_trust(trust);
                    service.set_tally_bytes(most);
                  }};
  });
  reload.add([&](const ServeOptions&) -> Result<Change> {
    return Change{"", [&] { refresh_tokens(driver, token_watch); }};
  });
  const int signal = serve_until(signals, [&] { reload.run(journal); });
  shutdown_deadline.arm(kExit);
  journal.line(Level::info, "stop").integer("signal", signal);
  server->drain(kDrain);
  const auto left = static_cast<std::int64_t>(server->connections());
  if (left > 0) journal.line(Level::warning, "stopped_early").integer("connections", left);
  return {};
}

}  // namespace once::server
