#include "server/observer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/text.h"

namespace once::server {
namespace {

using api::Outcome;
using api::Primitive;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::string_view kRequestId = "X-Request-Id";
constexpr std::size_t kMaxRequestId = 128;

// What may be sent back and written to a log as it came.
bool is_sane(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestId && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.:/+=@~").find(c) != std::string_view::npos;
  });
}

// Why a duplicate did not act; empty if the answer is about none.
std::string_view reason_of(const api::Notes& notes, Outcome outcome) {
  if (outcome == Outcome::replayed || notes.duplicates > 0) return "already_done";
  if (outcome == Outcome::busy) return "already_processing";
  if (outcome == Outcome::fenced) return "race_condition_prevented";
  return "";
}

std::string_view span_of(const Asked& asked, const api::Response& response) {
  if (asked.subject.primitive == Primitive::events) return "process_cloud_event";
  if (asked.subject.primitive == Primitive::proxy) return "proxy";
  if (response.notes.checked > 0) return "idempotency_check";
  return name_of(asked.subject.primitive);
}

// Eight bytes, not all of them 0.
bool is_our_failure(Outcome outcome) {
  return outcome == Outcome::unavailable || outcome == Outcome::unknown ||
         outcome == Outcome::corrupt;
}

bool is_refusal(Outcome outcome) {
  return outcome == Outcome::overloaded || outcome == Outcome::handler_failed ||
         outcome == Outcome::unauthorized || outcome == Outcome::forbidden;
}

}  // namespace

Observer::Observer(api::Metrics& metrics, Journal& journal, std::string_view instance)
    : metrics_(metrics), journal_(journal), prefix_(std::string(instance.substr(0, 8)) + "-") {}

std::string Observer::new_id() {
  std::array<char, 20> text{};
  const std::uint64_t number = last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return prefix_ + std::string(text.data(), end);
}

Asked Observer::asked(const api::Request& request) {
  return asked(request, api::subject_of(request.method, request.target));
}

Asked Observer::asked(const api::Request& request, api::Subject subject) {
  const std::string_view target = request.target;
  const auto given = request.headers.find(kRequestId);
  const auto trace = request.headers.find("traceparent");
  Asked asked{.subject = subject,
              .request_id = given && is_sane(*given) ? std::string(*given) : new_id(),
              .method = request.method,
              .path = std::string(target.substr(0, target.find('?')))};
  if (trace) asked.trace = parse_traceparent(*trace);
  if (asked.trace && asked.trace->sampled && journal_.takes(Level::info)) {
    asked.span_id = new_span_id();
  }
  asked.since = steady_clock::now();
  return asked;
}

void Observer::answered(const Asked& asked, api::Response& response) {
  const nanoseconds length = steady_clock::now() - asked.since;
  const Outcome outcome = metrics_.answered(asked.subject, response, length);
  note(asked, response, outcome);
  if (!asked.span_id.empty()) note_span(asked, response, outcome, length);
  if (asked.is_answered) response.headers.add(std::string(kRequestId), asked.request_id);
}

void Observer::left(const Asked& asked, api::Response& response) {
  journal_.line(Level::info, "left")
      .text("method", asked.method)
      .text("path", asked.path)
      .text("request_id", asked.request_id);
  response.headers.add(std::string(kRequestId), asked.request_id);
}

void Observer::refused(api::Response& response) {
  metrics_.refused(response.status);
  const std::string id = new_id();
  journal_.line(Level::info, "refused").integer("status", response.status).text("request_id", id);
  response.headers.add(std::string(kRequestId), id);
}

void Observer::note(const Asked& asked, const api::Response& response, Outcome outcome) {
  if (response.notes.parts.empty()) {
    return note_part(asked, response.notes, outcome, response.status);
  }
  for (const api::Notes& part : response.notes.parts) {
    note_part(asked, part, api::outcome_of_part(part), response.status);
  }
}

void Observer::note_part(const Asked& asked, const api::Notes& notes, Outcome outcome, int status) {
  if (is_our_failure(outcome) || notes.passed_over) {
    note_failure(asked, notes, notes.passed_over.value_or(outcome), status, Level::error);
  }
  if (is_refusal(outcome)) {
    const bool ours = outcome == Outcome::overloaded || outcome == Outcome::handler_failed;
    note_failure(asked, notes, outcome, status, ours ? Level::warning : Level::info);
  }
  const std::string_view reason = reason_of(notes, outcome);
  if (!reason.empty()) note_duplicate(asked, notes, reason);
}

void Observer::note_failure(const Asked& asked, const api::Notes& notes, Outcome outcome,
                            int status, Level level) {
  Journal::Line line = journal_.line(level, level == Level::error ? "failed" : "refused");
  line.text("method", asked.method)
      .text("path", asked.path)
      .integer("status", status)
      .text("code", name_of(outcome));
  if (!notes.event_type.empty()) line.text("event_type", notes.event_type);
  if (!notes.event_id.empty()) line.text("event_id", notes.event_id);
  line.text("request_id", asked.request_id);
  if (asked.trace) line.text("trace_id", asked.trace->trace_id);
}

void Observer::note_duplicate(const Asked& asked, const api::Notes& notes,
                              std::string_view reason) {
  Journal::Line line = journal_.line(Level::info, "duplicate");
  line.text("reason", reason).text("path", asked.path);
  if (notes.original) line.time("original", *notes.original);
  if (notes.duplicates > 1) line.integer("duplicates", notes.duplicates);
  if (!notes.event_type.empty()) line.text("event_type", notes.event_type);
  if (!notes.event_id.empty()) line.text("event_id", notes.event_id);
  line.text("request_id", asked.request_id);
  if (asked.trace) line.text("trace_id", asked.trace->trace_id);
}

void Observer::note_span(const Asked& asked, const api::Response& response, Outcome outcome,
                         nanoseconds length) {
  note_check(asked, response.notes);
  for (const api::Notes& part : response.notes.parts) note_check(asked, part);
  journal_.line(Level::info, "span")
      .text("span", span_of(asked, response))
      .text("trace_id", asked.trace->trace_id)
      .text("parent_id", asked.trace->parent_id)
      .text("span_id", asked.span_id)
      .text("method", asked.method)
      .text("path", asked.path)
      .integer("status", response.status)
      .text("outcome", name_of(outcome))
      .milliseconds("duration_ms", length)
      .text("request_id", asked.request_id);
}

// Where checking is but a part of the work, it has a span of its own within the other.
void Observer::note_check(const Asked& asked, const api::Notes& notes) {
  if (!notes.check_length) return;
  Journal::Line line = journal_.line(Level::info, "span");
  line.text("span", "idempotency_check")
      .text("trace_id", asked.trace->trace_id)
      .text("parent_id", asked.span_id)
      .text("span_id", new_span_id())
      .milliseconds("duration_ms", *notes.check_length);
  if (!notes.event_id.empty()) line.text("event_id", notes.event_id);
  line.text("request_id", asked.request_id);
}

}  // namespace once::server
