// POST /v1/events: what a request brings.
#pragma once

#include <expected>
#include <optional>
#include <variant>
#include <vector>

#include "api/call.h"
#include "api/event_work.h"

namespace once::api {

// An answer for what is no event, or work.
using EventPart = std::variant<Response, SharedWork>;

struct EventRequest {
  bool batch = false;
  std::vector<EventPart> parts;  // One, unless it is a batch.
};

std::expected<EventRequest, Response> event_request(Call& call);

// The same of a request that nobody has looked at; nothing if it is another one, which respond()
// answers.
std::expected<std::optional<EventRequest>, Response> event_request_of(Service& service,
                                                                      const Request& request);

}  // namespace once::api
