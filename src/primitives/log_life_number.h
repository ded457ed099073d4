// The number of a log's life: how many logs of that name were removed. It is part of every
// partition of the log, so that what was sent to a removed one meets nothing (docs/hazards.md#h1).
//
// An integer that is there only while it matters. A removal writes it, to end when nothing of the
// removed log is left; then the name begins at 0 again. An append first makes it last.
#pragma once

#include <cstdint>

#include "once/log.h"
#include "primitives/recorded.h"

namespace once::logs {

// After a removal, in this order: by then nobody believes in what ends, nor can write there.
inline constexpr Duration kLongestIdTtl = std::chrono::days(30);  // Of batches and events.
inline constexpr Duration kRecordsKept = std::chrono::hours(1);
inline constexpr Duration kEndKept = kLongestIdTtl + std::chrono::hours(1);
inline constexpr Duration kLifeKept = kLongestIdTtl + std::chrono::hours(3);

struct LifeNumber {
  std::int64_t number = 0;
  Version version;  // None: there is no such item, and the number is 0.
  Time expiry = kNever;
};

// What is left of a removed log does not go before its time, even if a store evicts items
// (docs/hazards.md#h17).
Write pinned(Write write);

Key life_key(const Stream& stream);
Plan<LifeNumber> read_life(Stream stream);

// Before an append to a log of this life: makes the number last, because it must not end before the
// log does. False: it is another by now.
Plan<bool> hold_life(Stream stream, LifeNumber life);

// Ends a log whose records all expire before kEndKept: the next one of that name has the number
// `next`. Nothing happens if another call has done so.
Plan<std::monostate> raise_life(Stream stream, std::int64_t next, Recording recording);

}  // namespace once::logs
