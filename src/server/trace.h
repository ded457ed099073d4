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

// Nothing if it is none: then it is as if it were not there.
std::optional<Trace> parse_traceparent(std::string_view text);

// As a traceparent: who asks now is `parent_id`.
std::string format_traceparent(const Trace& trace);

std::string new_span_id();

}  // namespace once::server
