#include "api/events.h"

#include "api/text.h"

namespace once::api {
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

Result<void> check_count(const std::vector<LogEvent>& events) {
  if (events.empty()) return failure(ErrorCode::invalid, "a batch without events");
  if (events.size() <= kMaxBatchEvents) return {};
  return failure(ErrorCode::too_large, "a batch has at most 10000 events");
}

std::string event_json(const LogEntry& entry, DataForm form) {
  return JsonObject()
      .integer("index", entry.index)
      .time("time", entry.time)
      .raw("data", data_json(entry.data, form))
      .finish();
}

}  // namespace once::api
