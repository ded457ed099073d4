// A command that handles a message: its body is the command's standard input, and what the command
// writes to descriptor 3 is its effects, as JSON.
#pragma once

#include <string>
#include <vector>

#include "once/work.h"
#include "process/guardian.h"

namespace once::work {

inline constexpr int kEffectsDescriptor = 3;
inline constexpr std::size_t kMaxEffectsText = 1U << 20;

// Each call is a process group of its own, which outlives neither this process nor its lease, of
// length `lease`: TERM comes shortly before the lease's end and KILL at the end, even if this
// process is stopped (docs/hazards.md#h38). When the lease is lost earlier, it is stopped: TERM,
// ten seconds, KILL. Exit code 0 completes; any other is a failure, whose reason has the last line
// that it wrote to standard error. `guardian` must outlive the handler; each of its calls waits on
// its own thread.
Handler command_handler(std::vector<std::string> words, Duration lease,
                        const process::Guardian& guardian);

}  // namespace once::work
