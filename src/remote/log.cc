#include "remote/log.h"

#include <limits>
#include <utility>

#include "api/data_form.h"
#include "primitives/keys.h"
#include "remote/events.h"

namespace once::remote {

using api::JsonObject;

Result<std::string> events_json(const std::vector<LogEvent>& events) {
  std::string out = "[";
  for (const LogEvent& event : events) {
    JsonObject one;
    one.raw("data", api::text_json(event.data, api::DataForm::exact));
    if (event.time) {
      const Result<std::string> time = time_text(*event.time);
      if (!time) return std::unexpected(time.error());
      one.text("time", *time);
    }
    if (out.size() > 1) out += ',';
    out += one.finish();
  }
  out += ']';
  return out;
}

Appended appended_in(Reading& body) { return {body.integer("first"), body.integer("last"), false}; }

// A batch without an id gets one of its own, so that it is appended once although an answer is
// lost.
Result<AppendOutcome> RemoteLog::append(std::string_view stream, std::vector<LogEvent> events,
                                        const AppendRequest& request) {
  if (!request.batch.empty()) {
    if (Result<void> ok = keys::check_name(request.batch); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  const Result<std::string> written = events_json(events);
  if (!written) return std::unexpected(written.error());
  Result<api::Request> question = peer_.request("POST", "logs", stream);
  if (!question) return std::unexpected(std::move(question.error()));
  JsonObject body;
  body.raw("events", *written);
  body.text("batch", request.batch.empty() ? peer_.new_id() : request.batch);
  if (request.expect) body.integer("expect", *request.expect);
  if (request.ttl) body.text("ttl", duration_text(*request.ttl));
  question->body = body.finish();
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  const std::string code = code_of(told->response);
  if (code == "mismatch") return OtherBatch{};
  Reading answer(told->response);
  AppendOutcome outcome;
  if (code == "precondition_failed") {
    outcome = NotNext{answer.integer("next")};
  } else {
    Appended appended = appended_in(answer);
    appended.replayed = !request.batch.empty() && is_replayed(told->response);
    outcome = appended;
  }
  if (Result<void> ok = answer.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

Result<LogPage> RemoteLog::read(std::string_view stream, const LogRead& request) {
  Result<api::Request> question = peer_.request("GET", "logs", stream);
  if (!question) return std::unexpected(std::move(question.error()));
  const bool ascending = request.order == Direction::ascending;
  question->target.append("?from=").append(std::to_string(request.from));
  question->target.append("&limit=").append(std::to_string(request.limit));
  question->target.append("&order=").append(ascending ? "asc" : "desc");
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  Reading body(told->response);
  LogPage page;
  page.next = body.integer("next");
  for (const api::Json& element : body.array("events")) {
    Reading event(element);
    page.events.push_back({event.integer("index"), event.time("time"), event.data("data")});
    if (!event.sound()) body.misunderstood();
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
}

// Reads the event at each end: who may only read may ask, too.
Result<LogEnds> RemoteLog::ends(std::string_view stream) {
  const Result<LogPage> oldest = read(stream, {.from = 1, .limit = 1});
  if (!oldest) return std::unexpected(oldest.error());
  if (oldest->events.empty()) return LogEnds{oldest->next, oldest->next};
  const Result<LogPage> newest = read(stream, {.from = std::numeric_limits<std::int64_t>::max(),
                                               .limit = 1,
                                               .order = Direction::descending});
  if (!newest) return std::unexpected(newest.error());
  const std::int64_t first = oldest->events.front().index;
  const bool trimmed_since = newest->events.empty() || newest->events.front().index < first;
  const std::int64_t next = trimmed_since ? oldest->next : newest->events.front().index + 1;
  return LogEnds{trimmed_since ? next : first, next};
}

Result<LogEnds> RemoteLog::trim(std::string_view stream, std::int64_t before) {
  Result<api::Request> question = peer_.request("POST", "logs", stream, "trim");
  if (!question) return std::unexpected(std::move(question.error()));
  question->body = JsonObject().integer("before", before).finish();
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  Reading body(told->response);
  const LogEnds ends{body.integer("oldest"), body.integer("next")};
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return ends;
}

Result<std::int64_t> RemoteLog::heal(std::string_view, Duration) {
  return failure(ErrorCode::unsupported,
                 "a server's logs are of strategy conditional, which has nothing to heal");
}

}  // namespace once::remote
