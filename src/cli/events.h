// The events of a log, for people, and as they come.
#pragma once

#include "cli/invocation.h"
#include "wire/json.h"

namespace once::cli {

// Index, time and data of an event on one line.
void print_event(api::Json event);

// once log follow: the events of a log, then new ones as they come.
int follow_log(const Invocation& invocation);

// The events of the log that is the first word, from --from or --since and at most --limit: those
// that are there or, with `follow`, new ones too.
struct Showing {
  void (*print)(api::Json event) = print_event;
  bool follow = true;
};
int show_log(const Invocation& invocation, Showing showing);

}  // namespace once::cli
