// Metrics and trace spans of the steps of a request.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/answer_metrics.h"
#include "server/journal.h"
#include "server/observer.h"

namespace once::proxy {

// Safe to share between threads.
class ProxyTelemetry {
 public:
  // Both must outlive it.
  ProxyTelemetry(metrics::AnswerMetrics& metrics, server::Journal& journal);

  metrics::AnswerMetrics& metrics() { return metrics_; }
  server::Journal& journal() { return journal_; }

 private:
  friend class Step;

  metrics::AnswerMetrics& metrics_;
  server::Journal& journal_;
  metrics::Histogram& upstream_seconds_;
  metrics::Family<metrics::Counter>& upstream_errors_;
};

// One step of one request, from now until it is finished.
class Step {
 public:
  enum class Kind : std::uint8_t {
    check,     // Reading the key's state from the store, and claiming it.
    upstream,  // From the first byte sent to the last received.
  };

  // `parent` is the request's trace, if it is one that is recorded.
  Step(ProxyTelemetry& telemetry, Kind kind, const std::optional<server::Trace>& parent);

  // The trace to pass on to the server that this step calls.
  std::optional<server::Trace> trace() const { return trace_; }

  // Excludes time that was spent on something else.
  void leave_out(std::chrono::nanoseconds length) { left_out_ += length; }

  // `outcome` is one word, such as "claimed".
  void finish(std::string_view outcome);

 private:
  ProxyTelemetry& telemetry_;
  const Kind kind_;
  std::optional<server::Trace> trace_;
  std::string parent_id_;
  std::chrono::nanoseconds left_out_{0};
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace once::proxy
