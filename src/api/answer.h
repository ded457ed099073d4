// What an operation returns: an answer, or work that leads to one.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "once/plan.h"
#include "wire/message.h"

namespace once::api {

// What a handler of a forwarded event is told about the request that brought the event.
struct ForwardContext {
  std::string traceparent;  // Its parent is the span of this server.
  std::string tracestate;
  std::string request_id;
};

// Work that runs by itself once it is started, and not as a plan of the caller's driver.
struct Deferred {
  using Done = std::move_only_function<void(Response)>;

  Duration patience{};  // The longest it may take.

  // `done` gets the answer on any thread, perhaps before this returns; it must not block.
  std::move_only_function<void(ForwardContext context, Done done)> start;
};

// A driver gives up on a plan after kAttemptLife and the time it `waits` for others: a request that
// may be sent again must not be under way for longer.
struct Answer : std::variant<Response, Plan<Response>, Deferred> {
  using variant::variant;

  Duration waits{};
};

}  // namespace once::api
