// What is known of every request: its id and trace, and what is counted and written about it.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/answer_metrics.h"
#include "server/journal.h"

namespace once::server {

// W3C trace context: the caller's trace and span, from a request's traceparent.
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

// A request that is not answered yet.
struct RequestContext {
  metrics::Subject subject;
  std::string request_id;
  std::string method;
  std::string path;  // Without the query.
  std::optional<Trace> trace;
  std::string span_id;  // Of this request's own span; empty if it is not recorded.
  bool is_ours = true;  // False: an upstream gave the answer, which is not changed.
  std::chrono::steady_clock::time_point start;
};

// Counts every request and answer of the server, gives each request an id, and writes notable ones
// to the journal. Safe to share between threads.
class Observer {
 public:
  // Both must outlive it. `instance` makes the ids of this server different from others'.
  Observer(metrics::AnswerMetrics& metrics, Journal& journal, std::string_view instance = "");

  RequestContext begin(const api::Request& request, metrics::Subject subject);

  // These add X-Request-Id to the response.
  void answered(const RequestContext& context, api::Response& response);
  void cancelled(const RequestContext& context, api::Response& response);  // The caller hung up.
  void refused(api::Response& response);  // It was no valid request.

 private:
  std::string new_id();
  void note(const RequestContext& context, const api::Response& response, api::Outcome outcome);
  void note_failure(const RequestContext& context, const api::Telemetry& telemetry,
                    api::Outcome outcome, int status, Level level);
  void note_part(const RequestContext& context, const api::Telemetry& telemetry,
                 api::Outcome outcome, int status);
  void note_duplicate(const RequestContext& context, const api::Telemetry& telemetry,
                      std::string_view reason);
  void note_span(const RequestContext& context, const api::Response& response, api::Outcome outcome,
                 std::chrono::nanoseconds length);
  void note_check(const RequestContext& context, const api::Telemetry& telemetry);

  metrics::AnswerMetrics& metrics_;
  Journal& journal_;
  const std::string prefix_;
  std::atomic<std::uint64_t> last_id_ = 0;
};

}  // namespace once::server
