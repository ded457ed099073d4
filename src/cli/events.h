// The events of a log, for people, and as they come.
#pragma once

#include "cli/invocation.h"
#include "wire/json.h"

namespace once::cli {

// Index, time and data of an event on one line.
void print_event(api::Json event);

// once log follow: the events of a log, then new ones as they come.
int follow_log(const Invocation& invocation);

}  // namespace once::cli
