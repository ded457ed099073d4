// Logs as requests and answers of the API, decoded by the server and encoded by a client, or the
// reverse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/log.h"
#include "wire/data_form.h"
#include "wire/message.h"

namespace once::wire {

// The body of an append.
struct AppendBatch {
  std::vector<LogEvent> events;
  std::optional<std::string> batch;
  std::optional<std::int64_t> expect;
  std::optional<Duration> ttl;
};

// `invalid` if a time cannot be written.
Result<std::string> encode(const AppendBatch& batch, DataForm form);

// `invalid` says which field is wrong. Whether its values make sense is left to check().
Result<AppendBatch> decode_append(std::string_view body, DataForm form);

// `invalid`: no events, or an `expect` or batch id that cannot be; `too_large`: more events than a
// batch may have.
Result<void> check(const AppendBatch& batch);

// The field "events" of a body: [{"data": any JSON, "time": optional}, ...].
Result<std::string> events_json(const std::vector<LogEvent>& events, DataForm form);
std::vector<LogEvent> take_events(Fields& fields, DataForm form);

// An event a line; the line is a JSON string. The end of the last line is optional, and may be
// CR LF.
Result<std::vector<LogEvent>> events_of_text(std::string_view text);

// An event a line; the line is JSON. Blank lines are skipped.
Result<std::vector<LogEvent>> events_of_ndjson(std::string_view text);

// A page has no body but a target, "/v1/logs/s?from=1&limit=100&order=asc".
std::string target_of(std::string_view stream, const LogRead& request);

struct TrimRequest {
  std::int64_t before = 0;
};
std::string encode(const TrimRequest& request);
Result<TrimRequest> decode_trim_request(std::string_view body);

// {"index","time","data"} on one line: the same bytes whenever and wherever it is read.
std::string event_json(const LogEntry& entry, DataForm form = DataForm::json);

// {"first","last"}
std::string appended_json(const Appended& appended);
Appended read_appended(JsonReader& body);

Response encode(const AppendOutcome& outcome);
Response encode(const LogPage& page, DataForm form);
Response encode(const LogEnds& ends);

// `unknown` if the answer is not understood.
Result<AppendOutcome> decode_append_outcome(const Response& response);
Result<LogPage> decode_log_page(const Response& response, DataForm form);
Result<LogEnds> decode_log_ends(const Response& response);

}  // namespace once::wire
