// Trimming is logical at once, by a mark that readers obey, and physical later: a batch younger
// than an attempt may still be looked for by its own appender, so it stays whole for that long, and
// its key is taken for as long as anyone could believe that the log ends there (H1).
#include <algorithm>

#include "primitives/landing.h"
#include "primitives/log_stream.h"

namespace once::logs {
namespace {

Write trimmed(const Stream& stream, const Stored& batch) {
  const LogRecord record{.state = LogRecord::State::trimmed,
                         .count = batch.record.count,
                         .batch = batch.record.batch,
                         .appended = batch.record.appended,
                         .expires = batch.record.expires};
  return put({batches(stream), batch.first}, encode(record), unchanged(batch.version));
}

// Replaces the events of what lies below `oldest`, lowest first.
Plan<std::int64_t> drop_events(Stream stream, std::int64_t oldest, Time appended_before) {
  const std::int64_t tidied = co_await mark_of(stream, Mark::tidied);
  const Range range{.first = tidied, .last = oldest, .limit = kPage};
  const std::vector<Stored> found = co_await following(stream, range);
  std::int64_t at = tidied;
  for (const Stored& next : found) {
    if (next.end() > oldest || next.record.appended >= appended_before) break;
    if (next.record.state == LogRecord::State::batch) {
      Write write = trimmed(stream, next);
      const CommitOutcome outcome = co_await land(write);
      if (!committed(outcome)) break;
    }
    at = next.end();
  }
  if (at > tidied) co_await raise_mark(stream, Mark::tidied, at);
  co_return at;
}

// The lowest there are. Where the store scans downwards only, a walk to them reads all others: a
// mark says where they begin, unless who erased some died before he said so.
Plan<std::vector<Stored>> lowest_records(Stream stream, Range range) {
  const Limits* limits = co_await store_limits();
  if (limits->scans_ascending) co_return co_await records(stream, range);
  Range marked = range;
  marked.first = co_await mark_of(stream, Mark::erased);
  std::vector<Stored> found = co_await following(stream, marked);
  if (!found.empty()) co_return std::move(found);
  co_return co_await records(stream, range);
}

// Erases trimmed records that nobody can need any more, lowest first, and never the newest.
Plan<std::monostate> drop_records(Stream stream, std::int64_t tidied, Time appended_before) {
  const auto needed = [&](const Stored& record) {
    return record.record.state == LogRecord::State::batch || record.end() > tidied ||
           record.record.appended >= appended_before;
  };
  // Mostly there is nothing to erase.
  const Range two{.last = tidied, .limit = 2};
  std::vector<Stored> found = co_await lowest_records(stream, two);
  if (found.size() < 2 || needed(found[0])) co_return std::monostate{};
  const Range page{.last = tidied, .limit = kPage};
  found = co_await lowest_records(stream, page);
  std::size_t gone = 0;
  while (gone + 1 < found.size() && !needed(found[gone])) {
    const Stored& lowest = found[gone];
    Write write = erase({batches(stream), lowest.first}, unchanged(lowest.version));
    const CommitOutcome outcome = co_await commit(write);
    if (!committed(outcome)) break;
    ++gone;
  }
  const Limits* limits = co_await store_limits();
  if (gone == 0 || limits->scans_ascending) co_return std::monostate{};
  co_return co_await raise_mark(stream, Mark::erased, found[gone].first);
}

Plan<std::monostate> tidy(Stream stream, std::int64_t oldest) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  const Duration attempt_over = kAttemptLife + limits->clock_error;
  const std::int64_t tidied = co_await drop_events(stream, oldest, now - attempt_over);
  // An id may have been written a whole attempt after the record that stands in its way.
  const Duration forgotten = kBatchMemory + 2 * attempt_over;
  co_return co_await drop_records(stream, tidied, now - forgotten);
}

}  // namespace

Plan<LogEnds> trim(Stream stream, std::int64_t before) {
  if (before < 0) co_return failure(ErrorCode::invalid, "an index is not negative");
  LogEnds now = co_await ends(stream);
  now.oldest = std::max(now.oldest, std::min(before, now.next));
  if (now.oldest == 1) co_return now;
  co_await raise_mark(stream, Mark::oldest, now.oldest);
  // Trimmed is trimmed, whether or not its room could be freed this time.
  (void)co_await attempt(tidy(stream, now.oldest));
  co_return now;
}

}  // namespace once::logs
