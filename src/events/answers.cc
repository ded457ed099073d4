#include "events/answers.h"

#include <algorithm>
#include <utility>

#include "wire/problem.h"
#include "wire/text.h"

namespace once::events {
namespace {

using api::Code;
using api::Json;
using api::json_array;
using api::json_response;
using api::JsonObject;
using api::other_kind;
using api::Outcome;
using api::parse_integer;
using api::parse_json;
using api::Problem;
using api::problem;
using api::replayed;

constexpr int kBadGateway = 502;
constexpr int kUnavailable = 503;
constexpr int kTooManyRequests = 429;
constexpr Duration kLongestWait = std::chrono::seconds(5);
constexpr std::int64_t kLongestRetryAfter = 3'600;  // Seconds that a handler may ask for.
constexpr std::string_view kHandlerFailed = "The handler did not take the event";

JsonObject processed_body(const EventWork& work) {
  JsonObject body;
  body.text("status", "processed").text("event_id", work.event.id);
  return body;
}

Outcome outcome_of_error(const Error& error) {
  return error.code == ErrorCode::unknown ? Outcome::unknown : Outcome::unavailable;
}

Duration retry_after_of(const Response& answer) {
  const auto given = answer.headers.find("Retry-After");
  const std::optional<std::int64_t> seconds = given ? parse_integer(*given) : std::nullopt;
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds.value_or(1), 1, kLongestRetryAfter));
}

// Grouped by what a client can do.
std::string_view status_word(int status) {
  if (status == 400 || status == 413 || status == 415 || status == 422) return "invalid";
  return status == 409 ? "busy" : "failed";
}

std::string batch_element(const Response& response) {
  if (response.status == 200) return response.body;
  const Result<Json> parsed = parse_json(response.body);
  JsonObject element;
  element.text("status", status_word(response.status));
  element.integer("status_code", response.status);
  if (const auto wait = response.headers.find("Retry-After")) {
    element.integer("retry_after", parse_integer(*wait).value_or(1));
  }
  if (!parsed) return element.finish();
  for (const std::string_view name : {"code", "detail", "event_id"}) {
    std::string_view text;
    if (parsed->at_key(name).get(text) == simdjson::SUCCESS) element.text(name, text);
  }
  return element.finish();
}

}  // namespace

Response noted(Response response, const EventWork& work) {
  response.telemetry.event_type = work.event.type;
  response.telemetry.event_id = work.event.id;
  response.telemetry.checked = 1;
  return response;
}

Response invalid_event(const BadEvent& bad) {
  Problem answer(Code::invalid, "not a CloudEvent: " + bad.error.message);
  if (!bad.id.empty()) answer.text("event_id", bad.id);
  Response response = answer.finish();
  response.telemetry.event_type = bad.type;
  response.telemetry.event_id = bad.id;
  return response;
}

Response handled(const EventWork& work, std::int64_t attempt) {
  Response response = noted(json_response(200, processed_body(work).finish()), work);
  response.telemetry.marked = 1;
  if (!work.route.log.empty()) response.telemetry.appended.push_back(work.route.log);
  if (attempt > 1) response.telemetry.outcome = Outcome::taken_over;
  return response;
}

Response duplicate(const EventWork& work, const Done& done) {
  Response response = noted(replayed(json_response(200, JsonObject()
                                                            .text("status", "skipped")
                                                            .text("message", "Duplicate event")
                                                            .text("event_id", work.event.id)
                                                            .time("processed_at", done.completed)
                                                            .finish())),
                            work);
  response.telemetry.original = done.completed;
  response.telemetry.duplicates = 1;
  return response;
}

// The lease is an upper bound; usually the event is done much sooner.
Response in_flight(const EventWork& work, const Busy& busy, Time now) {
  Response response = noted(Problem(Code::busy, "the event is being processed")
                                .text("event_id", work.event.id)
                                .time("lease_until", busy.lease_until)
                                .retry_after(std::min(busy.lease_until - now, kLongestWait))
                                .finish(),
                            work);
  response.telemetry.original = busy.claimed;
  return response;
}

Response overtaken(const EventWork& work) {
  return noted(Problem(Code::fenced, "another delivery of the event took over")
                   .status(409)
                   .text("event_id", work.event.id)
                   .retry_after(std::chrono::seconds(1))
                   .finish(),
               work);
}

Response other_tally(const EventWork& work) {
  return noted(other_kind("the tally of the event's route is not a count")
                   .text("event_id", work.event.id)
                   .retry_after(kLongestWait)
                   .finish(),
               work);
}

Response closed_log(const EventWork& work) {
  return noted(Problem(Code::closed, "the log of the event's route is closed")
                   .text("event_id", work.event.id)
                   .retry_after(kLongestWait)
                   .finish(),
               work);
}

Response too_many(const EventWork& work) {
  return noted(Problem(Code::overloaded, "too many events wait for their handlers")
                   .text("event_id", work.event.id)
                   .retry_after(std::chrono::seconds(1))
                   .finish(),
               work);
}

Response unguarded(const EventWork& work, const Error& error, AllDone done) {
  JsonObject body = processed_body(work);
  body.boolean("deduplicated", false);
  if (done == AllDone::no) body.boolean("recorded", false);
  Response response = noted(json_response(200, body.finish()), work);
  response.telemetry.outcome = Outcome::unguarded;
  response.telemetry.ignored_error = outcome_of_error(error);
  return response;
}

Response not_recorded(const EventWork& work, const Error& error, bool forwarded) {
  const bool down = is_transient(error);
  const bool may_pass = down && (forwarded || !work.records());
  if (may_pass && work.if_store_down == IfStoreDown::proceed) {
    return unguarded(work, error, work.records() ? AllDone::no : AllDone::yes);
  }
  Response response = problem(error);
  if (forwarded && down) {
    response = Problem(error.code == ErrorCode::unknown ? Code::unknown : Code::unavailable,
                       "the handler took the event, but that could not be recorded; it is "
                       "forwarded again when it is sent again")
                   .text("event_id", work.event.id)
                   .retry_after(kLongestWait)
                   .finish();
  }
  return noted(std::move(response), work);
}

Response handler_refused(const EventWork& work, const Response& answer) {
  const bool later = answer.status == kUnavailable || answer.status == kTooManyRequests;
  std::string detail = "the handler answered ";
  Response response =
      noted(Problem(Code::unavailable, detail.append(std::to_string(answer.status)))
                .title(kHandlerFailed)
                .status(later ? kUnavailable : kBadGateway)
                .text("event_id", work.event.id)
                .retry_after(later ? retry_after_of(answer) : std::chrono::seconds(1))
                .finish(),
            work);
  response.telemetry.outcome = Outcome::handler_failed;
  return response;
}

Response handler_lost(const EventWork& work, const Error& error) {
  Response response =
      noted(Problem(Code::unavailable, "no answer from the handler: " + error.message)
                .title(kHandlerFailed)
                .status(kBadGateway)
                .text("event_id", work.event.id)
                .retry_after(std::chrono::seconds(1))
                .finish(),
            work);
  response.telemetry.outcome = Outcome::handler_failed;
  return response;
}

Response batch_response(const std::vector<Response>& answers) {
  Response response = json_response(200, json_array(answers, batch_element));
  response.telemetry.parts.reserve(answers.size());
  for (const Response& answer : answers) response.telemetry.parts.push_back(answer.telemetry);
  return response;
}

}  // namespace once::events
