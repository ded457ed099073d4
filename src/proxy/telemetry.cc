#include "proxy/telemetry.h"

#include <utility>
#include <vector>

#include "once/error.h"

namespace once::proxy {
namespace {

// An upstream may take long.
const std::vector<double> kBounds = {0.001, 0.01, 0.1, 0.5, 1, 5, 30};

}  // namespace

ProxyTelemetry::ProxyTelemetry(metrics::AnswerMetrics& metrics, server::Journal& journal)
    : metrics_(metrics),
      journal_(journal),
      upstream_seconds_(metrics.registry().histogram(
          "once_proxy_upstream_seconds",
          "From sending a request to the upstream until its answer is there, or lost.", kBounds)),
      upstream_errors_(metrics.registry().counters(
          {"once_proxy_upstream_errors_total",
           "Requests that the upstream did not get, or whose answer was lost.",
           {"reason"}})) {
  // There from the start, so that the first one is seen as a rise from 0.
  (void)upstream_errors_.with({name_of(ErrorCode::unavailable)});
  (void)upstream_errors_.with({name_of(ErrorCode::unknown)});
}

Step::Step(ProxyTelemetry& telemetry, Kind kind, const std::optional<server::Trace>& parent)
    : telemetry_(telemetry), kind_(kind), trace_(parent) {
  if (trace_) parent_id_ = std::exchange(trace_->parent_id, server::new_span_id());
}

void Step::finish(std::string_view outcome) {
  const std::chrono::nanoseconds length = std::chrono::steady_clock::now() - since_ - left_out_;
  const bool failed =
      outcome == name_of(ErrorCode::unavailable) || outcome == name_of(ErrorCode::unknown);
  if (kind_ == Kind::check) telemetry_.metrics_.checked(length);
  if (kind_ == Kind::upstream) {
    telemetry_.upstream_seconds_.observe(length);
    if (failed) telemetry_.upstream_errors_.with({outcome}).add();
  }
  if (!trace_) return;
  telemetry_.journal_.line(server::Level::info, "span")
      .text("span", kind_ == Kind::check ? "idempotency_check" : "upstream")
      .text("trace_id", trace_->trace_id)
      .text("parent_id", parent_id_)
      .text("span_id", trace_->parent_id)
      .text("outcome", outcome)
      .milliseconds("duration_ms", length);
}

}  // namespace once::proxy
