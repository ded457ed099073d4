// Options of the commands that serve: numbers and durations within bounds, and --log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

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

// What --log asks for, to standard error. Without the option, what is at least a warning, as text.
Result<server::JournalOptions> journal_of(const Invocation& invocation);

}  // namespace once::cli
