// Trimming a log, and making void what was reserved and never written.
//
// Trimming takes effect at once, by a mark that readers obey; space is freed later. A batch younger
// than an attempt may still be looked for by its own appender, so it stays whole for that long. Its
// key stays in use for as long as anyone could believe that the log ends there
// (docs/hazards.md#h1).
#include <algorithm>

#include "primitives/commit_resolved.h"
#include "primitives/log_stream.h"

namespace once::logs {
namespace {

constexpr int kMaxVoids = 10'000;  // Of one call of heal().

Write without_events(const Stream& stream, const StoredRecord& batch) {
  const LogRecord record{.state = LogRecord::State::trimmed,
                         .count = batch.record.count,
                         .batch = batch.record.batch,
                         .appended = batch.record.appended,
                         .expires = batch.record.expires};
  return put({batch_partition(stream), batch.first}, encode(record), unchanged(batch.version));
}

// Removes the events of records below `oldest`, lowest first. Returns the new `tidied`.
Plan<std::int64_t> drop_events(Stream stream, std::int64_t oldest, Time appended_before) {
  const std::int64_t tidied = co_await read_mark(stream, Mark::tidied);
  const Range range{.first = tidied, .last = oldest, .limit = kPage};
  const std::vector<StoredRecord> found = co_await read_adjacent(stream, range);
  std::int64_t at = tidied;
  for (const StoredRecord& next : found) {
    if (next.end() > oldest || next.record.appended >= appended_before) break;
    if (next.record.state == LogRecord::State::batch) {
      Write write = without_events(stream, next);
      const CommitOutcome outcome = co_await commit_resolved(write);
      if (!committed(outcome)) break;
    }
    at = next.end();
  }
  if (at > tidied) co_await raise_mark(stream, Mark::tidied, at);
  co_return at;
}

// The lowest records. Where the store only scans downwards, finding them would read all others: a
// mark says where they begin, unless a crash came before the mark was raised.
Plan<std::vector<StoredRecord>> read_lowest(Stream stream, Range range) {
  const Limits* limits = co_await store_limits();
  if (limits->scans_ascending) co_return co_await read_records(stream, range);
  Range marked = range;
  marked.first = co_await read_mark(stream, Mark::erased);
  std::vector<StoredRecord> found = co_await read_adjacent(stream, marked);
  if (!found.empty()) co_return std::move(found);
  co_return co_await read_records(stream, range);
}

// Erases trimmed records that are no longer needed, lowest first, and never the newest.
Plan<std::monostate> drop_records(Stream stream, std::int64_t tidied, Time appended_before) {
  const auto is_needed = [&](const StoredRecord& record) {
    return record.record.state == LogRecord::State::batch || record.end() > tidied ||
           record.record.appended >= appended_before;
  };
  // Usually there is nothing to erase.
  const Range two{.last = tidied, .limit = 2};
  std::vector<StoredRecord> found = co_await read_lowest(stream, two);
  if (found.size() < 2 || is_needed(found[0])) co_return std::monostate{};
  const Range page{.last = tidied, .limit = kPage};
  found = co_await read_lowest(stream, page);
  std::size_t erased = 0;
  while (erased + 1 < found.size() && !is_needed(found[erased])) {
    const StoredRecord& lowest = found[erased];
    Write write = erase({batch_partition(stream), lowest.first}, unchanged(lowest.version));
    const CommitOutcome outcome = co_await commit(write);
    if (!committed(outcome)) break;
    ++erased;
  }
  const Limits* limits = co_await store_limits();
  if (erased == 0 || limits->scans_ascending) co_return std::monostate{};
  co_return co_await raise_mark(stream, Mark::erased, found[erased].first);
}

Plan<std::monostate> free_space(Stream stream, std::int64_t oldest) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  const Duration attempt_over = kAttemptLife + limits->clock_error;
  const std::int64_t tidied = co_await drop_events(stream, oldest, now - attempt_over);
  // An id may have been written a whole attempt after the record that it points to.
  const Duration id_over = kBatchMemory + 2 * attempt_over;
  co_return co_await drop_records(stream, tidied, now - id_over);
}

// The highest reserved index.
Plan<std::int64_t> read_reserved(Stream stream) {
  const Key key = head_key(stream);
  const std::optional<Item> counter = co_await get(key);
  if (!counter) co_return 0;
  const auto* last = std::get_if<std::int64_t>(&counter->value);
  if (last == nullptr) co_return failure(ErrorCode::corrupt, "a log's counter is not a number");
  co_return *last;
}

}  // namespace

Plan<LogEnds> trim(Stream stream, std::int64_t before) {
  if (before < 0) co_return failure(ErrorCode::invalid, "an index is not negative");
  LogEnds now = co_await ends(stream);
  now.oldest = std::max(now.oldest, std::min(before, now.next));
  if (now.oldest == 1) co_return now;
  co_await raise_mark(stream, Mark::oldest, now.oldest);
  // The trim has succeeded, even if no space could be freed this time.
  (void)co_await attempt(free_space(stream, now.oldest));
  co_return now;
}

// A void takes one index, if it is free, in ascending order; a record found there is skipped whole
// (docs/hazards.md#h3). So a void is either at the start of a range, which its appender then loses,
// or inside a range whose first index is void already: never beside a batch that covers it.
Plan<std::int64_t> heal(Stream stream, Duration grace) {
  if (stream.strategy != LogStrategy::reserve) {
    co_return failure(ErrorCode::invalid, "only a log that reserves has holes");
  }
  if (grace < Duration::zero()) co_return failure(ErrorCode::invalid, "grace is not negative");
  const std::int64_t last = co_await read_reserved(stream);
  std::int64_t at = co_await find_end(stream);
  if (at > last) co_return 0;
  co_await pause(grace);
  std::int64_t voids = 0;
  for (int tries = 0; at <= last && tries < kMaxVoids; ++tries) {
    const Time now = co_await store_now();
    const LogRecord record{.state = LogRecord::State::blank, .count = 1, .appended = now};
    Write write = put({batch_partition(stream), at}, encode(record), absent_lasting());
    const CommitOutcome outcome = co_await commit_resolved(write);
    if (committed(outcome)) {
      ++voids;
      ++at;
      continue;
    }
    const std::optional<Item>& current = std::get<Lost>(outcome).current;
    if (!current) co_return failure(ErrorCode::corrupt, "a log's record is gone");
    const Result<LogRecord> found = decode_log(current->value);
    if (!found) co_return std::unexpected(found.error());
    at += found->count;
  }
  co_return voids;
}

}  // namespace once::logs
