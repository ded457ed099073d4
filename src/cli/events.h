// The events of a log, for people, and as they come.
#pragma once

#include "api/json.h"
#include "cli/invocation.h"

namespace once::cli {

// Index, time and data of an event on one line.
void print_event(api::Json event);

// once log follow: what is there, and then what comes.
int follow_log(const Invocation& invocation);

}  // namespace once::cli
