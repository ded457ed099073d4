#include "server/serve.h"

#include <tuple>
#include <utility>

#include "api/checkpoints.h"
#include "api/first_look.h"
#include "directory/owner.h"
#include "events/event_service.h"
#include "once/blocking_driver.h"
#include "once/metered_store.h"
#include "once/open.h"
#include "server/lifetime.h"
#include "server/mark_watch.h"
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
  return collect_facts(
      {.store = options.store,
       .listen = options.listen,
       .has_tokens = tokens.is_closed(),
       .no_token_left = tokens.is_closed() && tokens.empty(),
       .if_store_down_proceed = options.service.if_store_down == IfStoreDown::proceed,
       .max_connections = options.settings.max_connections});
}

Result<void> check_listen(const ServeOptions& options, const tokens::Table& tokens) {
  if (is_loopback(options.listen) || options.open_to_all || tokens.is_closed()) return {};
  return failure(ErrorCode::invalid, "refusing to listen on " + options.listen +
                                         " without tokens; see 'once help serve'");
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

// The server uses the driver, the events and the hub; these two use the driver, which answers to
// all of them. So the users stop first, then the driver ends, then its users are destroyed.
struct Stopping {
  std::optional<Server>& server;
  events::EventService& events;
  FollowHub& hub;
  ~Stopping() {
    if (server) server->stop();
    events.stop();
    hub.stop();
  }
};

}  // namespace

Result<void> serve(ServeOptions options, const std::function<void(const std::string&)>& ready) {
  ShutdownDeadline shutdown_deadline;  // First: destroyed last.
  const sigset_t signals = hold_signals();
  allow_many_descriptors();
  Result<std::unique_ptr<Store>> store =
      open_store(options.store, {.sweep_every = Duration::zero()});
  if (!store) return std::unexpected(std::move(store.error()));
  Journal journal(options.journal);
  const MarkWatch mark_watch(store->get(), journal);
  if (Result<void> marked = mark_watch.check(); !marked) return marked;
  options.service.check_writable = [&] {
    Result<void> same = mark_watch.check();
    return same ? check_writable(**store) : same;
  };
  options.service.instance = api::hex_text(system_entropy().random());
  options.service.store = (*store)->describe();
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
  // Where it cannot be written now, the first claim tries again.
  if (const auto secret = BlockingDriver(**store).run(api::learn_secret())) {
    metered->secret().set(**secret);
  }
  const StoreSweep sweeping(*metered, service.metrics(), system_clock());
  std::optional<Server> server;  // These outlive the driver, whose last answers arrive here.
  std::optional<Responder> responder;
  std::optional<FollowHub> hub;
  std::optional<events::EventService> events;
  BatchingDriver driver(*metered, {.batch_window = false});
  const bool shared = (*store)->limits().calls_in_flight > 1;
  hub.emplace(driver, system_clock(), shared ? FollowHub::kPollShared : FollowHub::kPollOwned);
  options.events.work = options.settings.work;
  events.emplace(driver, options.events);
  service.set_event_receiver(*events);
  const Stopping stop{server, *events, *hub};
  const Periodic refreshing(system_clock(), kTokensEvery, [&] {
    refresh_tokens(driver, token_watch);
    return false;
  });
  responder.emplace(service, driver, *hub, observer, options.settings.work);
  server.emplace(options.settings, *responder);
  const RunningMetrics running(service.metrics().registry(), metered.get(), *server,
                               options.version);
  const Result<std::string> url = server->listen(options.listen);
  if (!url) return std::unexpected(url.error());
  service.set_url(*url);
  std::optional<directory::AddressFile> file;
  if (const auto path = directory_of(options.store)) {
    Result<directory::AddressFile> written = directory::AddressFile::write(
        *path, {*url, options.service.instance, options.service.secret});
    if (!written) return std::unexpected(std::move(written.error()));
    file.emplace(std::move(*written));
  }
  ready("once: serving " + *url + " on " + (*store)->describe());
  warn(journal, startup_facts(options, service.tokens()));
  journal.line(Level::info, "start").text("url", *url).text("store", (*store)->describe());
  const int signal = wait_for(signals);
  shutdown_deadline.arm(kExit);
  journal.line(Level::info, "stop").integer("signal", signal);
  server->drain(kDrain);
  const auto left = static_cast<std::int64_t>(server->connections());
  if (left > 0) journal.line(Level::warning, "stopped_early").integer("connections", left);
  return {};
}

}  // namespace once::server
