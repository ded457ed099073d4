// Following a log: what a follower asks for, and what it is sent (server-sent events, as the HTML
// standard defines them). The server does the continuous reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/call.h"
#include "once/log.h"

namespace once::api {

struct Following {
  std::string name_space;
  std::string stream;
  std::int64_t from = 1;                             // The first index to be sent.
  std::optional<Time> since = std::nullopt;          // In place of `from`: as LogRead has it.
  std::optional<std::int64_t> limit = std::nullopt;  // Ends after this many events.
};

// What a call whose route can follow wants to follow. Empty if it only reads: then its handler
// answers. A response if it asks in an invalid way.
std::expected<std::optional<Following>, Response> following_of(Call& call);

// Whether the caller asks for follow=true, or accepts text/event-stream. The second takes `follow`
// out of the query.
Result<bool> asks_to_follow(const Call& call);
Result<bool> wants_to_follow(Call& call);

// A follower that already got the event `last_event_id` continues after it. Otherwise it starts at
// `from`, or with the first event.
Result<std::int64_t> follow_start(std::optional<std::int64_t> from,
                                  std::optional<std::string_view> last_event_id);

// What a follower of a closed log gets at its end.
inline constexpr std::string_view kEndOfLog = "event: end\ndata: {}\n\n";

// One event as it is sent: its index as the id, event_json() as the data.
std::string sse_text(const LogEntry& entry);

}  // namespace once::api
