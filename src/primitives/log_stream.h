// The keys, records and ends of a stream.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "primitives/log_life_number.h"
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
  Time expiry = kNever;  // Of the item: other than never only once the log is being removed.

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

// The record that covers `at`, or else the last one below it, and those that follow and begin at
// `last` or before: at most `limit` in all.
Plan<std::vector<StoredRecord>> read_records_from(
    Stream stream, std::int64_t at, std::size_t limit,
    std::int64_t last = std::numeric_limits<std::int64_t>::max());

// Integers that only rise: raising one late or twice does no harm.
enum class Mark : std::uint8_t {
  oldest = 0,   // Nothing below can be read.
  tidied = 1,   // Every record below is trimmed, or void.
  settled = 2,  // With `reserve`: every index below is written or void.
  erased = 3,   // Where the store only scans downwards: every record below is gone.
  closed = 4,   // The log is closed and ends there. The record there is what counts.
};
inline constexpr int kMarks = 5;
Key mark_key(const Stream& stream, Mark mark);
Plan<std::int64_t> read_mark(Stream stream, Mark mark);  // At least 1.
Plan<std::monostate> raise_mark(Stream stream, Mark mark, std::int64_t value);

// The log of that name that is there now, and what its marks say: by one get, unless a log of that
// name was removed.
struct StreamStart {
  Stream stream;
  std::int64_t oldest = 1;
  bool closed = false;
};
Plan<StreamStart> find_start(Stream stream);
Plan<Stream> current_life(Stream stream);

// The first index that cannot be read yet.
Plan<std::int64_t> find_end(Stream stream);

// The same of the log that is there now. With `conditional` it costs one scan, unless the log is
// empty or closed.
struct StreamEnd {
  Stream stream;
  std::int64_t next = 1;
  bool exists = false;
  bool closed = false;
  Time gone = kNever;  // If closed: when the whole log is to be removed.

  // Of the stream, if it had to be read: always where no record is there.
  std::optional<LifeNumber> life;
};
Plan<StreamEnd> find_last(Stream stream);

// Trims expired events; returns the oldest index that can be read.
Plan<std::int64_t> trim_expired(Stream stream);

}  // namespace once::logs
