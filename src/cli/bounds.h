// Options that are numbers or durations within bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/invocation.h"
#include "once/time.h"

namespace once::cli {

// Each sets `value` if the option was given. `invalid`: what was given is none, or out of bounds.
Result<void> read_count(const Invocation& invocation, std::string_view name, std::int64_t most,
                        std::size_t& value);
Result<void> read_duration(const Invocation& invocation, std::string_view name, Duration most,
                           Duration& value);

}  // namespace once::cli
