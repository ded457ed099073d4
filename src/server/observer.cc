#include "server/observer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "once/entropy.h"
#include "wire/text.h"

namespace once::server {
namespace {

constexpr std::size_t kLength = 55;  // 00-(32)-(16)-01

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

// Later versions may append more after a dash.
bool has_length_of_its_version(std::string_view text) {
  if (text.size() == kLength) return true;
  return text.size() > kLength && !text.starts_with("00") && text[kLength] == '-';
}

using api::Outcome;
using metrics::Primitive;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::string_view kRequestId = "X-Request-Id";
constexpr std::size_t kMaxRequestId = 128;

// Whether the id may be sent back and written to a log unchanged.
bool is_sane(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestId && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.:/+=@~").find(c) != std::string_view::npos;
  });
}

// Why a duplicate was not executed; empty if the request was no duplicate.
std::string_view reason_of(const api::Telemetry& telemetry, Outcome outcome) {
  if (outcome == Outcome::replayed || telemetry.duplicates > 0) return "already_done";
  if (outcome == Outcome::busy) return "already_processing";
  if (outcome == Outcome::fenced) return "race_condition_prevented";
  return "";
}

std::string_view span_of(const RequestContext& context, const api::Response& response) {
  if (context.subject.primitive == Primitive::events) return "process_cloud_event";
  if (context.subject.primitive == Primitive::proxy) return "proxy";
  if (response.telemetry.checked > 0) return "idempotency_check";
  return name_of(context.subject.primitive);
}

bool is_our_failure(Outcome outcome) {
  return outcome == Outcome::unavailable || outcome == Outcome::unknown ||
         outcome == Outcome::corrupt;
}

bool is_refusal(Outcome outcome) {
  return outcome == Outcome::overloaded || outcome == Outcome::handler_failed ||
         outcome == Outcome::unauthorized || outcome == Outcome::forbidden;
}

}  // namespace

std::optional<Trace> parse_traceparent(std::string_view text) {
  if (!has_length_of_its_version(text)) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  if (!is_hex(version) || version == "ff" || !is_hex(flags)) return std::nullopt;
  if (!is_hex(trace) || is_zero(trace) || !is_hex(parent) || is_zero(parent)) return std::nullopt;
  const char last = flags[1];
  const int bits = last <= '9' ? last - '0' : last - 'a' + 10;
  return Trace{std::string(trace), std::string(parent), bits % 2 == 1};
}

std::string format_traceparent(const Trace& trace) {
  std::string text = "00-";
  text.append(trace.trace_id).append("-").append(trace.parent_id);
  return text.append(trace.sampled ? "-01" : "-00");
}

std::string new_span_id() { return api::hex_text(system_entropy().random() | 1U); }

Observer::Observer(metrics::AnswerMetrics& metrics, Journal& journal, std::string_view instance)
    : metrics_(metrics), journal_(journal), prefix_(std::string(instance.substr(0, 8)) + "-") {}

std::string Observer::new_id() {
  std::array<char, 20> text{};
  const std::uint64_t number = last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return prefix_ + std::string(text.data(), end);
}

RequestContext Observer::begin(const api::Request& request, metrics::Subject subject) {
  const std::string_view target = request.target;
  const auto given = request.headers.find(kRequestId);
  const auto trace = request.headers.find("traceparent");
  RequestContext context{.subject = subject,
                         .request_id = given && is_sane(*given) ? std::string(*given) : new_id(),
                         .method = request.method,
                         .path = std::string(target.substr(0, target.find('?')))};
  if (trace) context.trace = parse_traceparent(*trace);
  if (context.trace && context.trace->sampled && journal_.takes(Level::info)) {
    context.span_id = new_span_id();
  }
  context.start = steady_clock::now();
  return context;
}

void Observer::answered(const RequestContext& context, api::Response& response) {
  const nanoseconds length = steady_clock::now() - context.start;
  const Outcome outcome = metrics_.answered(context.subject, response, length);
  note(context, response, outcome);
  if (!context.span_id.empty()) note_span(context, response, outcome, length);
  if (context.is_ours) response.headers.add(std::string(kRequestId), context.request_id);
}

void Observer::cancelled(const RequestContext& context, api::Response& response) {
  journal_.line(Level::info, "left")
      .text("method", context.method)
      .text("path", context.path)
      .text("request_id", context.request_id);
  response.headers.add(std::string(kRequestId), context.request_id);
}

void Observer::refused(api::Response& response) {
  metrics_.refused(response.status);
  const std::string id = new_id();
  journal_.line(Level::info, "refused").integer("status", response.status).text("request_id", id);
  response.headers.add(std::string(kRequestId), id);
}

void Observer::note(const RequestContext& context, const api::Response& response, Outcome outcome) {
  if (response.telemetry.parts.empty()) {
    return note_part(context, response.telemetry, outcome, response.status);
  }
  for (const api::Telemetry& part : response.telemetry.parts) {
    note_part(context, part, metrics::outcome_of_part(part), response.status);
  }
}

void Observer::note_part(const RequestContext& context, const api::Telemetry& telemetry,
                         Outcome outcome, int status) {
  if (is_our_failure(outcome) || telemetry.ignored_error) {
    note_failure(context, telemetry, telemetry.ignored_error.value_or(outcome), status,
                 Level::error);
  }
  if (is_refusal(outcome)) {
    const bool ours = outcome == Outcome::overloaded || outcome == Outcome::handler_failed;
    note_failure(context, telemetry, outcome, status, ours ? Level::warning : Level::info);
  }
  const std::string_view reason = reason_of(telemetry, outcome);
  if (!reason.empty()) note_duplicate(context, telemetry, reason);
}

void Observer::note_failure(const RequestContext& context, const api::Telemetry& telemetry,
                            Outcome outcome, int status, Level level) {
  Journal::Line line = journal_.line(level, level == Level::error ? "failed" : "refused");
  line.text("method", context.method)
      .text("path", context.path)
      .integer("status", status)
      .text("code", name_of(outcome));
  if (!telemetry.event_type.empty()) line.text("event_type", telemetry.event_type);
  if (!telemetry.event_id.empty()) line.text("event_id", telemetry.event_id);
  line.text("request_id", context.request_id);
  if (context.trace) line.text("trace_id", context.trace->trace_id);
}

void Observer::note_duplicate(const RequestContext& context, const api::Telemetry& telemetry,
                              std::string_view reason) {
  Journal::Line line = journal_.line(Level::info, "duplicate");
  line.text("reason", reason).text("path", context.path);
  if (telemetry.original) line.time("original", *telemetry.original);
  if (telemetry.duplicates > 1) line.integer("duplicates", telemetry.duplicates);
  if (!telemetry.event_type.empty()) line.text("event_type", telemetry.event_type);
  if (!telemetry.event_id.empty()) line.text("event_id", telemetry.event_id);
  line.text("request_id", context.request_id);
  if (context.trace) line.text("trace_id", context.trace->trace_id);
}

void Observer::note_span(const RequestContext& context, const api::Response& response,
                         Outcome outcome, nanoseconds length) {
  note_check(context, response.telemetry);
  for (const api::Telemetry& part : response.telemetry.parts) note_check(context, part);
  journal_.line(Level::info, "span")
      .text("span", span_of(context, response))
      .text("trace_id", context.trace->trace_id)
      .text("parent_id", context.trace->parent_id)
      .text("span_id", context.span_id)
      .text("method", context.method)
      .text("path", context.path)
      .integer("status", response.status)
      .text("outcome", name_of(outcome))
      .milliseconds("duration_ms", length)
      .text("request_id", context.request_id);
}

// If the claim check was only a part of the work, it gets a span of its own inside the request's.
void Observer::note_check(const RequestContext& context, const api::Telemetry& telemetry) {
  if (!telemetry.check_duration) return;
  Journal::Line line = journal_.line(Level::info, "span");
  line.text("span", "idempotency_check")
      .text("trace_id", context.trace->trace_id)
      .text("parent_id", context.span_id)
      .text("span_id", new_span_id())
      .milliseconds("duration_ms", *telemetry.check_duration);
  if (!telemetry.event_id.empty()) line.text("event_id", telemetry.event_id);
  line.text("request_id", context.request_id);
}

}  // namespace once::server
