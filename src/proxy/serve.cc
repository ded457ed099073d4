#include "proxy/serve.h"

#include <algorithm>
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
#include "server/mark_watch.h"
#include "server/metrics_page.h"
#include "server/running_metrics.h"
#include "server/server.h"
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
                                system_entropy(), {}, wire::DataForm::json);
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

// Tokens are the upstream's business.
server::StartupFacts startup_facts(const ProxyOptions& options) {
  return server::collect_facts(
      {.store = options.store,
       .listen = options.listen,
       .has_tokens = true,
       .if_store_down_proceed = options.rules.if_store_down == IfStoreDown::proceed,
       .after_unknown_retry = options.rules.after_unknown == AfterUnknown::retry,
       .max_connections = options.settings.max_connections});
}

}  // namespace

Result<void> serve(ProxyOptions options, const std::function<void(const std::string&)>& ready) {
  const sigset_t signals = server::hold_signals();
  server::allow_many_descriptors();
  const Result<ClaimsPlace> place =
      is_server(options.store) ? at_server(options) : on_store(options);
  if (!place) return std::unexpected(place.error());
  server::Journal journal(options.journal);
  const server::MarkWatch mark_watch(place->store.get(), journal);
  if (Result<void> marked = mark_watch.check(); !marked) return marked;
  // What has no key is the upstream's to bound.
  options.settings.max_body_bytes = std::max(options.rules.max_body, kMaxPassedBody);
  options.settings.max_document_bytes = options.settings.max_body_bytes;
  options.settings.browsers.judges = false;  // So is who may ask, and by which name.
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
  server::MetricsServer watchers(metrics.registry());
  const Result<std::string> told = watchers.listen_if_asked(options.metrics_listen);
  if (!told) return std::unexpected(told.error());
  const Result<std::string> url = server.listen(options.listen);
  if (!url) return std::unexpected(url.error());
  ready("once: proxy " + *url + " to " + options.rules.upstream + " on " + place->description +
        *told);
  warn(journal, startup_facts(options));
  journal.line(server::Level::info, "start").text("url", *url).text("store", place->description);
  const int signal = server::wait_for(signals);
  journal.line(server::Level::info, "stop").integer("signal", signal);
  server.drain(options.rules.upstream_timeout + kTakeWithin);
  stopping.request_stop();  // By then only what is without a key, and goes on for ever, is left.
  workers.finish();
  return {};
}

}  // namespace once::proxy
