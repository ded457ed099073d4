#include "proxy/serve.h"

#include <utility>

#include "api/service.h"
#include "client/url.h"
#include "once/batching_driver.h"
#include "once/entropy.h"
#include "once/open.h"
#include "proxy/workers.h"
#include "server/lifetime.h"
#include "server/server.h"

namespace once::proxy {
namespace {

// The API on a store that this process has opened, for all threads.
class OwnStore {
 public:
  explicit OwnStore(std::unique_ptr<Store> store) : store_(std::move(store)), driver_(*store_) {}

  Result<api::Response> call(const api::Request& request) {
    api::Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<api::Response>(&answer)) return std::move(*ready);
    return driver_.run(std::get<Plan<api::Response>>(std::move(answer)), kStoreCall);
  }
  std::string describe() const { return store_->describe(); }

 private:
  const std::unique_ptr<Store> store_;
  BatchingDriver driver_;
  api::Service service_;
};

bool is_server(const std::string& store) { return client::parse_url(store).has_value(); }

// A store that this process opened itself is its own as long as it is open, or forgotten with it.
bool is_own(const std::string& store) {
  return directory_of(store).has_value() || store.starts_with("memory:");
}

LedgerOptions ledger_options(const ProxyOptions& options, const std::string& instance) {
  return {.instance = instance,
          .others = is_own(options.store) ? Others::are_not : Others::may_be,
          .name_space = options.name_space,
          .ttl = options.ttl,
          .patience = options.rules.upstream_timeout + kTakeWithin,
          .after_unknown = options.rules.after_unknown};
}

// A client is one thread's, so each has its own.
Call call_to(const ProxyOptions& options, OwnStore* own) {
  if (own != nullptr) return [own](const api::Request& request) { return own->call(request); };
  auto client = std::make_shared<client::HttpClient>(options.store, options.token);
  return [client](const api::Request& request) { return client->call(request, kStoreCall); };
}

}  // namespace

Result<void> serve(ProxyOptions options, const std::function<void(const std::string&)>& ready) {
  const sigset_t signals = server::hold_signals();
  server::allow_many_descriptors();
  std::unique_ptr<OwnStore> own;
  if (!is_server(options.store)) {
    Result<std::unique_ptr<Store>> store = open_store(options.store);
    if (!store) return std::unexpected(std::move(store.error()));
    own = std::make_unique<OwnStore>(std::move(*store));
  }
  options.settings.max_body_bytes = options.rules.max_body;
  options.settings.max_document_bytes = options.rules.max_body;
  const std::string instance = std::to_string(system_entropy().random());
  Workers workers(options.workers, [&] {
    Ledger ledger(call_to(options, own.get()), ledger_options(options, instance));
    return std::make_unique<Exchange>(options.rules, std::move(ledger));
  });
  server::Server server(options.settings, workers);
  const Result<std::string> url = server.listen(options.listen);
  if (!url) return std::unexpected(url.error());
  ready("once: proxy " + *url + " to " + options.rules.upstream + " on " +
        (own ? own->describe() : options.store));
  (void)server::wait_for(signals);
  server.drain(options.rules.upstream_timeout + kTakeWithin);
  workers.finish();
  return {};
}

}  // namespace once::proxy
