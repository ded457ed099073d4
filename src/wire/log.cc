#include "wire/log.h"

#include <span>
#include <utility>

#include "base/encoding.h"
#include "primitives/keys.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::wire {
namespace {

// Takes the first line off `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Result<std::string> events_json(const std::vector<LogEvent>& events, DataForm form,
                                std::span<const std::string> ids) {
  std::string out = "[";
  for (std::size_t i = 0; i < events.size(); ++i) {
    const LogEvent& event = events[i];
    JsonObject one;
    if (i < ids.size() && !ids[i].empty()) {
      if (Result<void> ok = keys::check_name(ids[i]); !ok) return std::unexpected(ok.error());
      one.text("id", ids[i]);
    }
    one.raw("data", data_json(event.data, form));
    if (event.time) {
      const Result<std::string> time = request_time(*event.time);
      if (!time) return std::unexpected(time.error());
      one.text("time", *time);
    }
    if (out.size() > 1) out += ',';
    out += one.finish();
  }
  out += ']';
  return out;
}

std::vector<LogEvent> take_events(Fields& fields, DataForm form) {
  return take_events(fields, form, nullptr);
}

std::vector<LogEvent> take_events(Fields& fields, DataForm form, std::vector<std::string>* ids) {
  fields.require("events");
  const std::optional<std::vector<Json>> values = fields.array("events");
  std::vector<LogEvent> events;
  if (!values) return events;
  events.reserve(values->size());
  for (std::size_t i = 0; i < values->size(); ++i) {
    Fields inner = fields.element("events", i, (*values)[i]);
    inner.require("data");
    std::optional<Bytes> data = take_data(inner, "data", form);
    const std::optional<Time> time = inner.time("time");
    if (ids != nullptr) {
      std::optional<std::string> id = inner.text("id");
      if (id && id->empty()) inner.complain("id", "is empty");
      if (id && ids->empty()) ids->resize(values->size());
      if (id) (*ids)[i] = std::move(*id);
    }
    if (data) events.push_back({std::move(*data), time});
    fields.absorb(std::move(inner));
  }
  return events;
}

Result<std::vector<LogEvent>> events_of_text(std::string_view text) {
  if (!is_utf8(text)) return failure(ErrorCode::invalid, "the text is not UTF-8");
  std::vector<LogEvent> events;
  while (!text.empty()) events.push_back({json_text(take_line(text)), std::nullopt});
  return events;
}

Result<std::vector<LogEvent>> events_of_ndjson(std::string_view text) {
  std::vector<LogEvent> events;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (is_blank(line)) continue;
    const Result<Json> data = parse_json(line);
    if (!data) {
      return failure(data.error().code,
                     "line " + std::to_string(number) + ": " + data.error().message);
    }
    events.push_back({to_line(*data), std::nullopt});
  }
  return events;
}

Result<std::string> encode(const AppendBatch& batch, DataForm form) {
  const Result<std::string> events = events_json(batch.events, form, batch.ids);
  if (!events) return std::unexpected(events.error());
  JsonObject body;
  body.raw("events", *events);
  if (batch.batch) body.text("batch", *batch.batch);
  if (batch.expect) body.integer("expect", *batch.expect);
  if (batch.ttl) body.duration("ttl", *batch.ttl);
  if (batch.id_ttl) body.duration("id_ttl", *batch.id_ttl);
  return body.finish();
}

Result<AppendBatch> decode_append(std::string_view body, DataForm form) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  AppendBatch batch;
  batch.events = take_events(fields, form, &batch.ids);
  batch.batch = fields.text("batch");
  batch.expect = fields.integer("expect");
  batch.ttl = fields.duration("ttl");
  batch.id_ttl = fields.duration("id_ttl");
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return batch;
}

Result<void> check(const AppendBatch& batch) {
  if (batch.expect && *batch.expect < 1) {
    return failure(ErrorCode::invalid, "expect is an index, from 1");
  }
  if (batch.batch) {
    if (Result<void> ok = keys::check_name(*batch.batch); !ok) return ok;
  }
  if (batch.events.empty()) return failure(ErrorCode::invalid, "a batch without events");
  if (batch.events.size() <= kMaxBatchEvents) return {};
  return failure(ErrorCode::too_large, "a batch has at most 10000 events");
}

std::string target_of(std::string_view stream, const LogRead& request) {
  std::string target = path_to("logs", stream);
  if (request.since) {
    target.append("?since=").append(percent_encode(request_time(*request.since).value_or("")));
  } else {
    target.append("?from=").append(std::to_string(request.from));
  }
  target.append("&limit=").append(std::to_string(request.limit));
  target.append("&order=").append(request.order == Direction::ascending ? "asc" : "desc");
  return target;
}

std::string encode(const TrimRequest& request) {
  return JsonObject().integer("before", request.before).finish();
}

Result<TrimRequest> decode_trim_request(std::string_view body) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  fields.require("before");
  const TrimRequest request{fields.integer("before").value_or(0)};
  if (request.before < 0) fields.complain("before", "is not an index");
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return request;
}

std::string encode(const CloseRequest& request) {
  JsonObject body;
  if (request.ttl) body.duration("ttl", *request.ttl);
  return body.finish();
}

Result<CloseRequest> decode_close_request(std::string_view body) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  const CloseRequest request{fields.duration("ttl")};
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return request;
}

std::string target_of_logs(const ListingRequest& request) {
  return "/v1/logs?" + query_of(request);
}

std::string event_json(const LogEntry& entry, DataForm form) {
  return JsonObject()
      .integer("index", entry.index)
      .time("time", entry.time)
      .raw("data", data_json(entry.data, form))
      .finish();
}

std::string appended_json(const Appended& appended) {
  return JsonObject().integer("first", appended.first).integer("last", appended.last).finish();
}

Appended read_appended(JsonReader& body) {
  Appended appended;
  appended.first = body.integer("first");
  appended.last = body.integer("last");
  return appended;
}

Response encode(const AppendOutcome& outcome) {
  if (const auto* refused = std::get_if<NotNext>(&outcome)) {
    return Problem(Code::precondition_failed, "the next index is not the expected one")
        .integer("next", refused->next)
        .finish();
  }
  if (std::holds_alternative<OtherBatch>(outcome)) {
    return problem(Code::mismatch, "the batch id was used with other events");
  }
  if (std::holds_alternative<LogClosed>(outcome)) {
    return problem(Code::closed, "the log is closed");
  }
  const auto& appended = std::get<Appended>(outcome);
  std::string body = appended_json(appended);
  return appended.replayed ? replayed(json_response(200, std::move(body)))
                           : json_response(201, std::move(body));
}

Response encode(const logs::EventsOutcome& outcome) {
  const auto* made = std::get_if<logs::AppendedEvents>(&outcome);
  if (made == nullptr) return problem(Code::closed, "the log is closed");
  JsonObject body;
  if (made->appended) {
    body.integer("first", made->appended->first).integer("last", made->appended->last);
  } else {
    body.raw("first", "null").raw("last", "null");
  }
  body.raw("indexes",
           json_array(made->indexes, [](std::int64_t index) { return std::to_string(index); }));
  const bool is_new = made->appended && !made->appended->replayed;
  return is_new ? json_response(201, body.finish()) : replayed(json_response(200, body.finish()));
}

Result<logs::EventsOutcome> decode_events_outcome(const Response& response) {
  if (problem_code(response) == Code::closed) return LogClosed{};
  JsonReader body(response.body);
  logs::AppendedEvents made;
  if (body.any("first")) {
    made.appended = read_appended(body);
    made.appended->replayed = is_replay(response);
  }
  for (const Json index : body.array("indexes")) {
    std::int64_t number = 0;
    if (index.get(number) != simdjson::SUCCESS) body.fail();
    made.indexes.push_back(number);
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return made;
}

Result<AppendOutcome> decode_append_outcome(const Response& response) {
  const std::optional<Code> code = problem_code(response);
  if (code == Code::mismatch) return OtherBatch{};
  if (code == Code::closed) return LogClosed{};
  JsonReader body(response.body);
  AppendOutcome outcome;
  if (code == Code::precondition_failed) {
    outcome = NotNext{body.integer("next")};
  } else {
    Appended appended = read_appended(body);
    appended.replayed = is_replay(response);
    outcome = appended;
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

Response encode(const LogPage& page, DataForm form) {
  const auto shown = [form](const LogEntry& entry) { return event_json(entry, form); };
  JsonObject body;
  body.raw("events", json_array(page.events, shown)).integer("next", page.next);
  if (page.closed) body.boolean("closed", true);
  return json_response(200, body.finish());
}

Result<LogPage> decode_log_page(const Response& response, DataForm form) {
  JsonReader body(response.body);
  LogPage page;
  body.each("events", [&](JsonReader& event) {
    LogEntry entry;
    entry.index = event.integer("index");
    entry.time = event.time("time");
    entry.data = read_data(event, "data", form);
    page.events.push_back(std::move(entry));
  });
  page.next = body.integer("next");
  page.closed = body.any("closed") && body.boolean("closed");
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
}

namespace {

LogEnds read_ends(JsonReader& body) {
  LogEnds ends;
  ends.oldest = body.integer("oldest");
  ends.next = body.integer("next");
  ends.closed = body.any("closed") && body.boolean("closed");
  return ends;
}

}  // namespace

Response encode(const LogEnds& ends) {
  JsonObject body;
  body.integer("oldest", ends.oldest).integer("next", ends.next);
  if (ends.closed) body.boolean("closed", true);
  return json_response(200, body.finish());
}

Result<LogEnds> decode_log_ends(const Response& response) {
  JsonReader body(response.body);
  const LogEnds ends = read_ends(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return ends;
}

Response encode_closed(const std::optional<LogEnds>& ends, DataForm form) {
  if (!ends) return problem(Code::not_found, "there is no such log");
  JsonObject body;
  if (form == DataForm::exact) body.integer("oldest", ends->oldest);
  body.integer("next", ends->next).boolean("closed", true);
  return json_response(200, body.finish());
}

Result<std::optional<LogEnds>> decode_closed(const Response& response) {
  if (problem_code(response) == Code::not_found) return std::nullopt;
  return decode_log_ends(response);
}

Response encode(LogRemoval removal) {
  switch (removal) {
    case LogRemoval::removed: return {204, {}, ""};
    case LogRemoval::open: return problem(Code::busy, "the log is open; close it first");
    case LogRemoval::absent: break;
  }
  return problem(Code::not_found, "there is no such log");
}

Result<LogRemoval> decode_log_removal(const Response& response) {
  const std::optional<Code> code = problem_code(response);
  if (code == Code::busy) return LogRemoval::open;
  return code == Code::not_found ? LogRemoval::absent : LogRemoval::removed;
}

Response encode(const LogList& list) {
  const auto shown = [](const ListedLog& log) {
    return JsonObject()
        .text("stream", log.stream)
        .integer("oldest", log.ends.oldest)
        .integer("next", log.ends.next)
        .boolean("closed", log.ends.closed)
        .finish();
  };
  JsonObject body;
  body.raw("logs", json_array(list.logs, shown));
  add_cursor(body, list.cursor);
  return json_response(200, body.finish());
}

Result<LogList> decode_log_list(const Response& response) {
  JsonReader body(response.body);
  LogList list;
  body.each("logs", [&](JsonReader& one) {
    std::string name = one.text("stream");
    list.logs.push_back({std::move(name), read_ends(one)});
  });
  list.cursor = read_cursor(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return list;
}

}  // namespace once::wire
