// Events of logs, as they are sent to a server and as it answers them.
#pragma once

#include <string>
#include <vector>

#include "once/log.h"
#include "remote/reading.h"

namespace once::remote {

// [{"data","time"}, ...]. `invalid` if a time cannot be written.
Result<std::string> events_json(const std::vector<LogEvent>& events);

Appended appended_in(Reading& body);

}  // namespace once::remote
