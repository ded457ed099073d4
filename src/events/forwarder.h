// Passes events on to the handlers that their routes name. Blocks, and is one thread's own: it has a
// connection to each handler, kept open.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "api/event_work.h"
#include "client/http_client.h"

namespace once::events {

// Of the request that an event came with, what its handler is told.
struct Hop {
  std::string traceparent;  // With the span of this server as the parent.
  std::string tracestate;
  std::string request_id;
};

class Forwarder {
 public:
  // Once it is stopped, a forward under way fails at once, and so does each that follows.
  explicit Forwarder(std::stop_token stopped) : stopped_(std::move(stopped)) {}

  // The handler's answer, whatever its status. `claimed` is null for what has no claim.
  Result<api::Response> send(const api::EventWork& work, const Claimed* claimed, const Hop& hop);

 private:
  client::HttpClient& client_of(const std::string& server);

  const std::stop_token stopped_;
  std::map<std::string, std::unique_ptr<client::HttpClient>> clients_;  // No more than routes.
};

}  // namespace once::events
