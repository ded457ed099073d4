// The trace context of the W3C: who asked, as a request's traceparent says it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace once::server {

struct Trace {
  std::string trace_id;   // 32 hex digits.
  std::string parent_id;  // 16 hex digits: the caller's span.
  bool sampled = false;   // The caller records this trace.
};

// What the next one is told: the same trace, with `span_id` as the caller's span.
std::string traceparent_of(const Trace& trace, std::string_view span_id);

// Nothing if it is none: then it is as if it were not there.
std::optional<Trace> parse_traceparent(std::string_view text);

}  // namespace once::server
