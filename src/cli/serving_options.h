// The commands that serve: their options, which are numbers and durations within bounds and --log,
// and how they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/answer.h"
#include "cli/invocation.h"
#include "once/time.h"
#include "server/journal.h"

namespace once::cli {

// Each sets `value` if the option was given. `invalid`: what was given is not one, or out of
// bounds.
Result<void> read_count(const Invocation& invocation, std::string_view name, std::int64_t most,
                        std::size_t& value);
Result<void> read_duration(const Invocation& invocation, std::string_view name, Duration most,
                           Duration& value);

// A line on standard output, at once.
void announce(const std::string& line);

// What --log asks for, to standard error. Without the option, what is at least a warning, as text.
Result<server::JournalOptions> journal_of(const Invocation& invocation);

// Serves until it is told to stop. What it says when it is ready goes to standard output.
template <class Options, class Serve>
int run_server(const Invocation& invocation, const Result<Options>& options, Serve serve) {
  if (!options) return print_error(invocation, options.error());
  const Result<void> served = serve(*options, announce);
  return served ? kDone : print_error(invocation, served.error());
}

}  // namespace once::cli
