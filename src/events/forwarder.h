// Forwards events to the handlers of their routes. Safe to share between threads; each call blocks
// its caller.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "api/service.h"
#include "base/mutex.h"
#include "client/http_client.h"
#include "events/event_plans.h"

namespace once::events {

using api::ForwardContext;

class Forwarder {
 public:
  explicit Forwarder(client::SharedTls tls = nullptr) : tls_(std::move(tls)) {}

  // The handler's answer, of any status. `claimed` is null if the event has no claim.
  Result<Response> send(const EventWork& work, const Claimed* claimed,
                        const ForwardContext& context);

  // Makes current and later forwards fail at once.
  void stop() { stop_.request_stop(); }

 private:
  using Client = std::unique_ptr<client::HttpClient>;

  Client take(const std::string& server);
  void give_back(const std::string& server, Client client);

  const client::SharedTls tls_;
  std::stop_source stop_;
  Mutex mutex_;

  // Clients with an open connection. The one used last is used first: after a burst, a trickle of
  // events does not keep all its connections open and blocked at a handler with few threads.
  std::map<std::string, std::vector<Client>> idle_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::events
