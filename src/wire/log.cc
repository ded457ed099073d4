#include "wire/log.h"

#include <utility>

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

Result<std::string> events_json(const std::vector<LogEvent>& events, DataForm form) {
  std::string out = "[";
  for (const LogEvent& event : events) {
    JsonObject one;
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
  const Result<std::string> events = events_json(batch.events, form);
  if (!events) return std::unexpected(events.error());
  JsonObject body;
  body.raw("events", *events);
  if (batch.batch) body.text("batch", *batch.batch);
  if (batch.expect) body.integer("expect", *batch.expect);
  if (batch.ttl) body.duration("ttl", *batch.ttl);
  return body.finish();
}

Result<AppendBatch> decode_append(std::string_view body, DataForm form) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  AppendBatch batch{take_events(fields, form), fields.text("batch"), fields.integer("expect"),
                    fields.duration("ttl")};
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
  target.append("?from=").append(std::to_string(request.from));
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
  const auto& appended = std::get<Appended>(outcome);
  std::string body = appended_json(appended);
  return appended.replayed ? replayed(json_response(200, std::move(body)))
                           : json_response(201, std::move(body));
}

Result<AppendOutcome> decode_append_outcome(const Response& response) {
  const std::optional<Code> code = problem_code(response);
  if (code == Code::mismatch) return OtherBatch{};
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
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
}

Response encode(const LogEnds& ends) {
  return json_response(
      200, JsonObject().integer("oldest", ends.oldest).integer("next", ends.next).finish());
}

Result<LogEnds> decode_log_ends(const Response& response) {
  JsonReader body(response.body);
  LogEnds ends;
  ends.oldest = body.integer("oldest");
  ends.next = body.integer("next");
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return ends;
}

}  // namespace once::wire
