// Finding one's way in a stream: its keys, its records, its ends.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "primitives/log_record.h"

namespace once::logs {

inline constexpr std::size_t kPage = 256;  // Records that one step looks at.

Partition batches(const Stream& stream);
Key head_key(const Stream& stream);
Key batch_id_key(const Stream& stream, std::string_view id);

// A record and the indexes it takes: [first, end).
struct Stored {
  std::int64_t first = 0;
  Version version;
  LogRecord record;

  std::int64_t end() const { return first + record.count; }
};
Result<Stored> stored(const Entry& entry);

// The records of a stream in [first, last], in this order.
struct Range {
  std::int64_t first = 1;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  Direction direction = Direction::ascending;
  std::size_t limit = 1;
};
Plan<std::vector<Stored>> records(Stream stream, Range range);

// The same upwards from `range.first`, where a record begins or the log ends, as far as each record
// begins where the one before it ends. By reads of keys where the store scans downwards only.
Plan<std::vector<Stored>> following(Stream stream, Range range);

// The record that takes `at`, or the last one below it, and up to `limit` in all that follow.
Plan<std::vector<Stored>> records_from(Stream stream, std::int64_t at, std::size_t limit);

// Integers that only rise, so raising them late or twice does no harm.
enum class Mark : std::uint8_t {
  oldest = 0,   // Nothing below can be read.
  tidied = 1,   // Every record below is trimmed, or void.
  settled = 2,  // With `reserve`: every index below is written or void.
  erased = 3,   // Where the store scans downwards only: every record below is gone.
};
Plan<std::int64_t> mark_of(Stream stream, Mark mark);  // At least 1.
Plan<std::monostate> raise_mark(Stream stream, Mark mark, std::int64_t value);

// The first index that cannot be read yet.
Plan<std::int64_t> end_of(Stream stream);

// Trims what its ttl has ended; answers the oldest index that can be read.
Plan<std::int64_t> expire(Stream stream);

// A random while, longer with each try.
Plan<std::monostate> back_off(int tries);

}  // namespace once::logs
