// The body of POST /v1/events, and how it is processed without a server.
#pragma once

#include <expected>
#include <utility>
#include <variant>
#include <vector>

#include "api/call.h"
#include "events/event_plans.h"
#include "events/route_counts.h"

namespace once::events {

// The answer to something that is no event, or an event to be processed.
using EventPart = std::variant<Response, SharedWork>;

struct EventRequest {
  bool batch = false;
  std::vector<EventPart> parts;  // One, unless it is a batch.
};

// A response if the request holds no events at all.
std::expected<EventRequest, Response> parse_event_request(const api::Call& call,
                                                          const EventOptions& options);

// Receives events for an API without a server: one after the other, as a plan of the caller's
// driver. An event whose route forwards is refused. Safe to share between threads.
class PlannedEvents final : public api::EventReceiver {
 public:
  explicit PlannedEvents(EventOptions options = {}) : options_(std::move(options)) {}

  api::Answer receive(api::Call& call) override;
  std::vector<api::EventRouteReport> routes() const override {
    return RouteCounts().report(options_.routes);  // It lives for one command: nothing is counted.
  }

 private:
  const EventOptions options_;
};

}  // namespace once::events
