// A commit as one command, and what its reply says.
#pragma once

#include <optional>

#include "once/write.h"
#include "stores/redis/protocol.h"

namespace once::redis {

// A lone put of sort 0 under absent() needs no script: SET with NX and GET does as much.
enum class Form : std::uint8_t { script, plain };

Form form_of(Transaction writes, Time now);

// `now` decides what has expired, where the server's own time is behind it.
Command command_of(Transaction writes, Form form, Time now);

struct Verdict {
  std::optional<Result<CommitOutcome>> answer;  // Nothing: the script must decide.
  std::optional<Time> server;                   // The server's time, where it said so.
};

Verdict verdict_of(Transaction writes, Form form, ReplyView reply, Time now);

}  // namespace once::redis
