// Logs as requests and answers of the API, decoded by the server and encoded by a client, or the
// reverse.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "once/log.h"
#include "wire/data_form.h"
#include "wire/listing.h"
#include "wire/message.h"

namespace once::wire {

// The body of an append.
struct AppendBatch {
  std::vector<LogEvent> events;
  std::optional<std::string> batch;
  std::optional<std::int64_t> expect;
  std::optional<Duration> ttl;
  std::vector<std::string> ids;  // Of the events, if any has one: empty for one without.
  std::optional<Duration> id_ttl;
};

// `invalid` if a time cannot be written.
Result<std::string> encode(const AppendBatch& batch, DataForm form);

// `invalid` says which field is wrong. Whether its values make sense is left to check().
Result<AppendBatch> decode_append(std::string_view body, DataForm form);

// `invalid`: no events, or an `expect` or batch id that cannot be; `too_large`: more events than a
// batch may have.
Result<void> check(const AppendBatch& batch);

// The field "events" of a body: [{"data": any JSON, "time": optional}, ...].
// `ids` are those of the events, empty for one without; none at all if no event has one.
Result<std::string> events_json(const std::vector<LogEvent>& events, DataForm form,
                                std::span<const std::string> ids = {});
std::vector<LogEvent> take_events(Fields& fields, DataForm form);

// The same with the ids of the events; `ids` stays empty if none has one.
std::vector<LogEvent> take_events(Fields& fields, DataForm form, std::vector<std::string>* ids);

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

struct CloseRequest {
  std::optional<Duration> ttl;
};
std::string encode(const CloseRequest& request);
Result<CloseRequest> decode_close_request(std::string_view body);

// "/v1/logs?limit=1000&prefix=a"
std::string target_of_logs(const ListingRequest& request);

// {"index","time","data"} on one line: the same bytes whenever and wherever it is read.
std::string event_json(const LogEntry& entry, DataForm form = DataForm::json);

// {"first","last"}
std::string appended_json(const Appended& appended);
Appended read_appended(JsonReader& body);

Response encode(const AppendOutcome& outcome);
Response encode(const logs::EventsOutcome& outcome);
Result<logs::EventsOutcome> decode_events_outcome(const Response& response);
Response encode(const LogPage& page, DataForm form);
Response encode(const LogEnds& ends);
Response encode_closed(const std::optional<LogEnds>& ends, DataForm form);
Response encode(LogRemoval removal);
Response encode(const LogList& list);

// `unknown` if the answer is not understood.
Result<AppendOutcome> decode_append_outcome(const Response& response);
Result<LogPage> decode_log_page(const Response& response, DataForm form);
Result<LogEnds> decode_log_ends(const Response& response);
Result<std::optional<LogEnds>> decode_closed(const Response& response);
Result<LogRemoval> decode_log_removal(const Response& response);
Result<LogList> decode_log_list(const Response& response);

}  // namespace once::wire
