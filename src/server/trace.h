// W3C trace context: the caller's trace and span, from a request's traceparent.
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

// Empty if it is invalid: then it is ignored.
std::optional<Trace> parse_traceparent(std::string_view text);

// As a traceparent, with `parent_id` as the calling span.
std::string format_traceparent(const Trace& trace);

std::string new_span_id();

}  // namespace once::server
