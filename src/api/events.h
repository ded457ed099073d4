// Events of a log, as they come in and as they go out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/data_form.h"
#include "api/json.h"
#include "once/log.h"

namespace once::api {

// The field "events" of a body: [{"data": any JSON, "time": optional}, ...].
std::vector<LogEvent> take_events(Fields& fields, DataForm form);

// An event a line; the line is a JSON string. The last line's end is optional, and may be CR LF.
Result<std::vector<LogEvent>> events_of_text(std::string_view text);

// An event a line; the line is JSON. Blank lines are none.
Result<std::vector<LogEvent>> events_of_ndjson(std::string_view text);

// `invalid` if there are none, `too_large` if there are more than a batch may have.
Result<void> check_count(const std::vector<LogEvent>& events);

// {"index","time","data"} on one line: the same bytes whenever and wherever it is read.
std::string event_json(const LogEntry& entry, DataForm form = DataForm::json);

}  // namespace once::api
