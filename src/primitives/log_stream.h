// The keys, records and ends of a stream.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "primitives/log_record.h"

namespace once::logs {

inline constexpr std::size_t kPage = 256;  // Records read by one step.

Partition batch_partition(const Stream& stream);
Key head_key(const Stream& stream);
Key batch_id_key(const Stream& stream, std::string_view id);

// A record and the indexes it takes: [first, end).
struct StoredRecord {
  std::int64_t first = 0;
  Version version;
  LogRecord record;

  std::int64_t end() const { return first + record.count; }
};
Result<StoredRecord> decode_entry(const Entry& entry);

// Records of a stream in [first, last].
struct Range {
  std::int64_t first = 1;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  Direction direction = Direction::ascending;
  std::size_t limit = 1;
};
Plan<std::vector<StoredRecord>> read_records(Stream stream, Range range);

// Adjacent records, ascending from `range.first`, which must be the start of a record or the end of
// the log. Stops at the first gap. Reads by key where the store only scans downwards.
Plan<std::vector<StoredRecord>> read_adjacent(Stream stream, Range range);

// The record that covers `at`, or else the last one below it, and those that follow: at most
// `limit` in all.
Plan<std::vector<StoredRecord>> read_records_from(Stream stream, std::int64_t at,
                                                  std::size_t limit);

// Integers that only rise: raising one late or twice does no harm.
enum class Mark : std::uint8_t {
  oldest = 0,   // Nothing below can be read.
  tidied = 1,   // Every record below is trimmed, or void.
  settled = 2,  // With `reserve`: every index below is written or void.
  erased = 3,   // Where the store only scans downwards: every record below is gone.
};
Plan<std::int64_t> read_mark(Stream stream, Mark mark);  // At least 1.
Plan<std::monostate> raise_mark(Stream stream, Mark mark, std::int64_t value);

// The first index that cannot be read yet.
Plan<std::int64_t> find_end(Stream stream);

// Trims expired events; returns the oldest index that can be read.
Plan<std::int64_t> trim_expired(Stream stream);

}  // namespace once::logs
