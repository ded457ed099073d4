#include "proxy/serve.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/printable_address.h"
#include "client/url.h"
#include "local/local.h"
#include "once/entropy.h"
#include "once/metered_store.h"
#include "once/open.h"
#include "proxy/observed_handler.h"
#include "proxy/workers.h"
#include "remote/remote.h"
#include "server/lifetime.h"
#include "server/listening.h"
#include "server/mark_watch.h"
#include "server/metrics_page.h"
#include "server/reload.h"
#include "server/running_metrics.h"
#include "server/server.h"
#include "server/status_report.h"
#include "server/warnings.h"
#include "wire/text.h"

namespace once::proxy {
namespace {

bool is_server(const std::string& store) { return client::parse_url(store).has_value(); }

// A store that this process opened itself is its own as long as it is open, or forgotten with it.
bool is_own(const std::string& store) {
  return directory_of(store).has_value() || store.starts_with("memory:");
}

KeyRecordsOptions key_records_options(const ProxyOptions& options, const std::string& instance) {
  return {.instance = instance,
          .shared_store = is_own(options.store) ? SharedStore::no : SharedStore::yes,
          .ttl = options.ttl,
          .patience = options.rules.upstream_timeout + kTakeWithin,
          .after_unknown = options.rules.after_unknown};
}

// Where the claims of keys are: on a store that this process opened, or at a server.
struct ClaimsPlace {
  std::unique_ptr<Store> store;           // Null at a server,
  const MeteredStore* metered = nullptr;  // and so is this.
  std::unique_ptr<Backend> backend;       // Has the metered store, which has the store.
  std::string description;
};

// All that the proxy stores is JSON, so it is sent as that: larger answers fit into a request.
Result<ClaimsPlace> at_server(const ProxyOptions& options) {
  auto server = remote::connect(options.store, options.token, options.name_space, system_clock(),
                                system_entropy(), {}, wire::DataForm::json, options.trust);
  if (!server) return std::unexpected(std::move(server.error()));
  return ClaimsPlace{nullptr, nullptr, std::move(*server), printable_address(options.store)};
}

// The workers block in calls of the store, so their commits are grouped.
Result<ClaimsPlace> on_store(const ProxyOptions& options) {
  Result<std::unique_ptr<Store>> opened = open_store(options.store);
  if (!opened) return std::unexpected(std::move(opened.error()));
  ClaimsPlace place{.store = std::move(*opened)};
  std::unique_ptr<MeteredStore> metered = meter(*place.store);
  place.metered = metered.get();
  place.description = place.store->describe();
  place.backend = std::make_unique<Local>(
      std::move(metered), options.name_space.empty() ? "default" : options.name_space,
      system_clock(), system_entropy(), Commits::grouped);
  return place;
}

constexpr std::size_t kMaxPassedBody = 64U << 20;

void write_slow_readers(metrics::Exposition& out, const Workers& workers) {
  out.family("once_proxy_slow_readers", "Answers that wait for clients that read slowly.",
             metrics::Exposition::Type::gauge);
  out.sample({}, static_cast<double>(workers.slow_readers()));
  out.family("once_proxy_slow_readers_cut_total",
             "Answers cut off because too many waited for clients that read slowly.",
             metrics::Exposition::Type::counter);
  out.sample({}, workers.cut_off());
}

// Tokens are the upstream's business.
server::StartupFacts startup_facts(const ProxyOptions& options) {
  return server::collect_facts(
      {.store = options.store,
       .listen = options.listen,
       .has_tokens = true,
       .if_store_down_proceed = options.rules.if_store_down == IfStoreDown::proceed,
       .after_unknown_retry = options.rules.after_unknown == AfterUnknown::retry,
       .tls = options.settings.tls != nullptr,
       .certificate_left =
           options.settings.tls != nullptr
               ? std::optional(options.settings.tls->expires() - system_clock().now())
               : std::nullopt,
       .max_connections = options.settings.max_connections});
}

server::Listening listening_of(const ProxyOptions& options) {
  return {options.listen, options.tls, options.plain_http};
}

server::Settings settings_of(const ProxyOptions& options,
                             std::shared_ptr<const net::TlsServerContext> tls) {
  server::Settings settings = options.settings;
  settings.tls = std::move(tls);
  // What has no key is the upstream's to bound.
  settings.max_body_bytes = std::max(options.rules.max_body, kMaxPassedBody);
  settings.max_document_bytes = settings.max_body_bytes;
  settings.namespace_share = 100;    // It has one.
  settings.browsers.judges = false;  // So is who may ask, and by which name.
  return settings;
}

// Before anything is opened.
Result<void> prepare(ProxyOptions& options) {
  auto certificate = server::read_certificate(listening_of(options));
  if (!certificate) return std::unexpected(std::move(certificate.error()));
  options.settings = settings_of(options, std::move(*certificate));
  Result<client::SharedTls> upstream = client::read_tls(options.client_tls);
  if (!upstream) return std::unexpected(std::move(upstream.error()));
  options.rules.tls = std::move(*upstream);
  return {};
}

server::Reload<ProxyOptions> reload_of(ProxyOptions& options, server::Server& server,
                                       server::MetricsServer& watchers) {
  server::Reload<ProxyOptions> reload(options.read_again);
  reload.add([&](const ProxyOptions& fresh) -> Result<server::Change> {
    const auto& now = options.settings.tls;
    auto tls = server::read_certificate_again(listening_of(fresh), now.get());
    if (!tls) return std::unexpected(std::move(tls.error()));
    const bool is_new = *tls != nullptr && (*tls)->fingerprint() != now->fingerprint();
    return server::Change{is_new ? "certificate" : "", [&, settings = settings_of(fresh, *tls)] {
                            options.settings = settings;
                            server.apply(settings);
                            watchers.use(settings.tls);
                          }};
  });
  reload.add([&](const ProxyOptions& fresh) -> Result<server::Change> {
    if (options.rules.tls == nullptr) return server::Change{};
    Result<client::SharedTls> tls = client::read_tls(fresh.client_tls);
    if (!tls) return std::unexpected(std::move(tls.error()));
    return server::Change{"", [&, tls = *tls] { client::replace_tls(*options.rules.tls, *tls); }};
  });
  return reload;
}

}  // namespace

Result<void> serve(ProxyOptions options, const std::function<void(const std::string&)>& ready) {
  const sigset_t signals = server::hold_signals({SIGHUP});
  if (Result<void> ok = prepare(options); !ok) return ok;
  server::allow_many_descriptors();
  const Result<ClaimsPlace> place =
      is_server(options.store) ? at_server(options) : on_store(options);
  if (!place) return std::unexpected(place.error());
  server::Journal journal(options.journal);
  const server::MarkWatch mark_watch(place->store.get(), journal);
  if (Result<void> marked = mark_watch.check(); !marked) return marked;
  std::stop_source stopping;
  options.rules.stopped = stopping.get_token();
  const std::uint64_t instance = system_entropy().random();
  metrics::AnswerMetrics metrics(metrics::Door::proxy);
  server::Observer observer(metrics, journal, api::hex_text(instance));
  ProxyTelemetry telemetry(metrics, journal);
  Workers workers(options.workers, [&] {
    KeyRecords records(place->backend->claims(),
                       key_records_options(options, std::to_string(instance)));
    return std::make_unique<Exchange>(options.rules, std::move(records), telemetry);
  });
  ObservedHandler watched(workers, observer);
  server::Server server(options.settings, watched);
  const server::RunningMetrics running(metrics.registry(), place->metered, server, options.version);
  const metrics::Registry::Collecting slow_readers(
      metrics.registry(), [&](metrics::Exposition& out) { write_slow_readers(out, workers); });
  server::MetricsServer watchers(metrics.registry());
  const Result<std::string> told =
      watchers.listen_if_asked(options.metrics_listen, options.settings.tls);
  if (!told) return std::unexpected(told.error());
  const Result<std::string> url = server.listen(options.listen);
  if (!url) return std::unexpected(url.error());
  ready("once: proxy " + *url + " to " + options.rules.upstream + " on " + place->description +
        *told);
  warn(journal, startup_facts(options));
  journal.line(server::Level::info, "start").text("url", *url).text("store", place->description);
  const server::Reload<ProxyOptions> reload = reload_of(options, server, watchers);
  std::optional<server::StatusReport> report;
  if (!is_own(options.store)) {  // Nobody else could read it there.
    report.emplace(place->backend->documents(),
                   [&, name = printable_address(options.rules.upstream)] {
                     wire::WorkerStatus now = watched.status();
                     now.name = name;
                     now.in_flight = static_cast<std::int64_t>(workers.under_way());
                     return now;
                   });
  }
  const int signal = server::serve_until(signals, [&] { reload.run(journal); });
  journal.line(server::Level::info, "stop").integer("signal", signal);
  server.drain(options.rules.upstream_timeout + kTakeWithin);
  stopping.request_stop();  // By then only what is without a key, and goes on for ever, is left.
  workers.finish();
  return {};
}

}  // namespace once::proxy
