// Freeing the space of logs that nobody calls any more. An append, a read or a trim frees what it
// meets; a log without any of them keeps what has expired until somebody looks at all items.
#pragma once

#include <optional>

#include "once/log.h"
#include "once/store.h"

namespace once::logs {

// The log that this item is a record of, if something of it may be freed now: events that have
// expired, trimmed records that are no longer needed, or a closed log whose time is over. Or the
// log whose life it numbers: there may be none.
std::optional<Stream> untidy_log(const ListPage::Listed& listed, Time now, Duration clock_error);

// Trims the events that have expired, frees some space of what is trimmed, and removes the log if
// its time is over, or the number of its life if there is no such log. One call does a bounded part
// of it. True if another call would free more now.
Plan<bool> tidy(Stream stream);

// Lets the number of a log's life end if it lasts and there is no log: an append crashed before it
// began one, or an earlier version left the number.
Plan<std::monostate> end_unused_life(Stream stream);

}  // namespace once::logs
