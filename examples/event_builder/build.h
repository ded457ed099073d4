// Building, and what is recorded of it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "event.h"
#include "once/work.h"

namespace event_builder {

inline constexpr const char* kLog = "builds";  // Has an entry for each build that succeeded.

// The name of the image. An error if the build failed; another attempt may succeed.
once::Result<std::string> build(const Event& event, std::int64_t attempt,
                                const std::stop_token& stopped);

// Builds the event of a message, once however often it is delivered: what it returns is committed
// together with the completion of the message.
once::Result<once::Effects> handle(once::Task& task);

}  // namespace event_builder
