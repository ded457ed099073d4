// What the store promises to keep to.
#pragma once

#include "once/store.h"

namespace once::s3 {

// How far the clocks of two processes may lie apart (docs/hazards.md#h15): the Date header's
// second, and what a reply takes to come.
inline constexpr Duration kClockError = std::chrono::seconds(2);

inline constexpr Limits kLimits = {
    .writes_per_commit = 1,
    .keys_per_get = 1'000,  // Each is a request of its own.
    .calls_in_flight = 64,  // And no more than connections.
    .value_bytes = 16U << 20,
    .partition_bytes = 4'096,
    .clock_error = kClockError,
    .scans_ascending = false,
};

}  // namespace once::s3
