// Passes events on to the handlers that their routes name. Safe to share between threads; each call
// blocks its own.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "api/event_work.h"
#include "client/http_client.h"
#include "kernel/mutex.h"

namespace once::events {

// Of the request that an event came with, what its handler is told.
struct Hop {
  std::string traceparent;  // With the span of this server as the parent.
  std::string tracestate;
  std::string request_id;
};

class Forwarder {
 public:
  // The handler's answer, whatever its status. `claimed` is null for what has no claim.
  Result<api::Response> send(const api::EventWork& work, const Claimed* claimed, const Hop& hop);

  // From now on a forward under way fails at once, and so does each that follows.
  void stop() { stop_.request_stop(); }

 private:
  using Client = std::unique_ptr<client::HttpClient>;

  Client take(const std::string& server);
  void give_back(const std::string& server, Client client);

  std::stop_source stop_;
  Mutex mutex_;

  // With a connection that is kept open. The one that was used last is used first: what a burst
  // opened is not all kept busy by a trickle, and a handler with few threads is not held up.
  std::map<std::string, std::vector<Client>> idle_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::events
