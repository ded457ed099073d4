#include "proxy/serve.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "api/in_process.h"
#include "client/url.h"
#include "once/batching_driver.h"
#include "once/entropy.h"
#include "once/metered_store.h"
#include "once/open.h"
#include "proxy/metrics_page.h"
#include "proxy/observed_handler.h"
#include "proxy/workers.h"
#include "server/lifetime.h"
#include "server/running_metrics.h"
#include "server/server.h"
#include "server/warnings.h"
#include "wire/text.h"

namespace once::proxy {
namespace {

using Api = api::InProcess<BatchingDriver>;

bool is_server(const std::string& store) { return client::parse_url(store).has_value(); }

// A store that this process opened itself is its own as long as it is open, or forgotten with it.
bool is_own(const std::string& store) {
  return directory_of(store).has_value() || store.starts_with("memory:");
}

KeyRecordsOptions key_records_options(const ProxyOptions& options, const std::string& instance) {
  return {.instance = instance,
          .shared_store = is_own(options.store) ? SharedStore::no : SharedStore::yes,
          .name_space = options.name_space,
          .ttl = options.ttl,
          .patience = options.rules.upstream_timeout + kTakeWithin,
          .after_unknown = options.rules.after_unknown};
}

// A client is one thread's, so each has its own.
Call call_to(const ProxyOptions& options, Api* here) {
  if (here != nullptr) {
    return [here](const api::Request& request) { return here->call(request, kStoreCall); };
  }
  auto client = std::make_shared<client::HttpClient>(options.store, options.token);
  return [client](const api::Request& request) { return client->call(request, kStoreCall); };
}

constexpr std::size_t kMaxPassedBody = 64U << 20;

constexpr server::Settings kForWatchers = {.threads = 1, .max_connections = 64};

// What to say of it.
Result<std::string> listen_if_asked(server::Server& watchers, const std::string& address) {
  if (address.empty()) return "";
  const Result<std::string> url = watchers.listen(address);
  if (!url) return std::unexpected(url.error());
  return "; metrics at " + *url + "/metrics";
}

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
  std::unique_ptr<Store> store;
  std::unique_ptr<MeteredStore> metered;
  std::unique_ptr<Api> here;  // All three null if the store is a server's.
  if (!is_server(options.store)) {
    Result<std::unique_ptr<Store>> opened = open_store(options.store);
    if (!opened) return std::unexpected(std::move(opened.error()));
    store = std::move(*opened);
    metered = meter(*store);
    here = std::make_unique<Api>(*metered);
  }
  // What has no key is the upstream's to bound.
  options.settings.max_body_bytes = std::max(options.rules.max_body, kMaxPassedBody);
  options.settings.max_document_bytes = options.settings.max_body_bytes;
  std::stop_source stopping;
  options.rules.stopped = stopping.get_token();
  const std::uint64_t instance = system_entropy().random();
  const std::string on = store ? store->describe() : options.store;
  server::Journal journal(options.journal);
  api::Metrics metrics(api::Door::proxy);
  server::Observer observer(metrics, journal, api::hex_text(instance));
  ProxyTelemetry telemetry(metrics, journal);
  Workers workers(options.workers, [&] {
    KeyRecords ledger(call_to(options, here.get()),
                      key_records_options(options, std::to_string(instance)));
    return std::make_unique<Exchange>(options.rules, std::move(ledger), telemetry);
  });
  ObservedHandler watched(workers, observer);
  server::Server server(options.settings, watched);
  const server::RunningMetrics running(metrics.registry(), metered.get(), server, options.version);
  MetricsPage page(metrics.registry());
  server::Server watchers(kForWatchers, page);
  const Result<std::string> told = listen_if_asked(watchers, options.metrics_listen);
  if (!told) return std::unexpected(told.error());
  const Result<std::string> url = server.listen(options.listen);
  if (!url) return std::unexpected(url.error());
  ready("once: proxy " + *url + " to " + options.rules.upstream + " on " + on + *told);
  warn(journal, startup_facts(options));
  journal.line(server::Level::info, "start").text("url", *url).text("store", on);
  const int signal = server::wait_for(signals);
  journal.line(server::Level::info, "stop").integer("signal", signal);
  server.drain(options.rules.upstream_timeout + kTakeWithin);
  stopping.request_stop();  // By then only what is without a key, and goes on for ever, is left.
  workers.finish();
  return {};
}

}  // namespace once::proxy
