// Trimming a log, and making void what was reserved and never written.
//
// Trimming takes effect at once, by a mark that readers obey; space is freed later. A batch younger
// than an attempt may still be looked for by its own appender, so it stays whole for that long. Its
// key stays in use for as long as anyone could believe that the log ends there
// (docs/hazards.md#h1).
#include <algorithm>
#include <span>

#include "primitives/commit_resolved.h"
#include "primitives/log_stream.h"
#include "primitives/log_tidy.h"
#include "primitives/recorded.h"

namespace once::logs {
namespace {

constexpr int kMaxVoids = 10'000;  // Of one call of heal().

// How long after its append a trimmed record is needed: an id may have been written a whole attempt
// after the record that it points to.
Duration id_over(Duration clock_error) { return kBatchMemory + 2 * (kAttemptLife + clock_error); }

Write without_events(const Stream& stream, const StoredRecord& batch) {
  const LogRecord record{.state = LogRecord::State::trimmed,
                         .count = batch.record.count,
                         .parts = batch.record.parts,
                         .appended = batch.record.appended,
                         .expires = batch.record.expires};
  return put({batch_partition(stream), batch.first}, encode(record), unchanged(batch.version));
}

// How many of these, from the first on, were committed.
Plan<std::size_t> commit_in_order(std::vector<Write> writes) {
  if (writes.empty()) co_return 0;
  std::vector<std::span<Write>> each;
  for (Write& write : writes) each.emplace_back(&write, 1);
  const std::span<const std::span<Write>> transactions = each;
  const std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(transactions);
  const auto lost = std::ranges::find_if(outcomes, [](const Result<CommitOutcome>& outcome) {
    return !outcome || !committed(*outcome);
  });
  co_return static_cast<std::size_t>(lost - outcomes.begin());
}

// How far one call got, and whether there is more that it could have done.
struct Dropped {
  std::int64_t end = 1;
  bool more = false;
};

// Removes the events of records below `oldest`, lowest first. The end is the new `tidied`.
Plan<Dropped> drop_events(Stream stream, std::int64_t oldest, Time appended_before) {
  const std::int64_t tidied = co_await read_mark(stream, Mark::tidied);
  const Range range{.first = tidied, .last = oldest, .limit = kPage};
  std::vector<StoredRecord> found = co_await read_adjacent(stream, range);
  const auto needed = std::ranges::find_if(found, [&](const StoredRecord& next) {
    return next.end() > oldest || next.record.appended >= appended_before;
  });
  const bool more = found.size() == kPage && needed == found.end();
  found.erase(needed, found.end());
  std::vector<Write> writes;
  std::vector<std::int64_t> firsts;
  for (const StoredRecord& next : found) {
    if (next.record.state != LogRecord::State::batch) continue;
    writes.push_back(without_events(stream, next));
    firsts.push_back(next.first);
  }
  // One that was lost, or whose outcome is not known, is found again from there.
  const std::size_t made = co_await commit_in_order(std::move(writes));
  std::int64_t at = found.empty() ? tidied : found.back().end();
  if (made < firsts.size()) at = firsts[made];
  if (at > tidied) co_await raise_mark(stream, Mark::tidied, at);
  co_return Dropped{at, more && made == firsts.size()};
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

// Erases trimmed records that are no longer needed, lowest first, and never the newest. True if
// there are more.
Plan<bool> drop_records(Stream stream, std::int64_t tidied, Time appended_before) {
  const auto is_needed = [&](const StoredRecord& record) {
    return record.record.state == LogRecord::State::batch || record.end() > tidied ||
           record.record.appended >= appended_before;
  };
  // Usually there is nothing to erase.
  const Range two{.last = tidied, .limit = 2};
  std::vector<StoredRecord> found = co_await read_lowest(stream, two);
  if (found.size() < 2 || is_needed(found[0])) co_return false;
  const Range page{.last = tidied, .limit = kPage};
  found = co_await read_lowest(stream, page);
  std::vector<Write> writes;
  while (writes.size() + 1 < found.size() && !is_needed(found[writes.size()])) {
    const StoredRecord& lowest = found[writes.size()];
    writes.push_back(erase({batch_partition(stream), lowest.first}, unchanged(lowest.version)));
  }
  const std::size_t wanted = writes.size();
  const Limits* limits = co_await store_limits();
  std::size_t erased = 0;
  if (limits->scans_ascending) {
    erased = co_await commit_in_order(std::move(writes));
  } else {
    // The lowest is looked for by key from a mark on: there must be no hole before it.
    for (Write& write : writes) {
      const CommitOutcome outcome = co_await commit(write);
      if (!committed(outcome)) break;
      ++erased;
    }
    if (erased > 0) co_await raise_mark(stream, Mark::erased, found[erased].first);
  }
  const bool more = found.size() == kPage && erased == wanted && erased > 0;
  co_return more;
}

// True if there is more to free now.
Plan<bool> free_space(Stream stream, std::int64_t oldest) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  const Duration attempt_over = kAttemptLife + limits->clock_error;
  const Dropped tidied = co_await drop_events(stream, oldest, now - attempt_over);
  const bool more = co_await drop_records(stream, tidied.end, now - id_over(limits->clock_error));
  co_return more || tidied.more;
}

// Of a partition of records, or of the number of a log's life; empty for any other.
std::optional<Stream> stream_in(const Partition& partition) {
  std::string_view part = partition.part;
  if (part.ends_with("/l")) part.remove_suffix(2);
  if (part.empty()) return std::nullopt;
  Stream stream{.home = partition.home};
  switch (part.front()) {
    case 'c': stream.strategy = LogStrategy::conditional; break;
    case 't': stream.strategy = LogStrategy::transaction; break;
    case 'r': stream.strategy = LogStrategy::reserve; break;
    default: return std::nullopt;
  }
  part.remove_prefix(1);
  const bool is_number =
      std::ranges::all_of(part, [](char letter) { return letter >= '0' && letter <= '9'; });
  return is_number ? std::optional(std::move(stream)) : std::nullopt;
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
  return trim(std::move(stream), before, Recording{});
}

Plan<LogEnds> trim(Stream stream, std::int64_t before, Recording recording) {
  if (before < 0) co_return failure(ErrorCode::invalid, "an index is not negative");
  stream = co_await current_life(std::move(stream));
  LogEnds now = co_await ends(stream);
  // A repeat finds nothing to trim, and is not recorded again.
  if (now.oldest >= std::min(before, now.next)) recording = {};
  now.oldest = std::max(now.oldest, std::min(before, now.next));
  if (now.oldest == 1) co_return now;
  Write write = raise(mark_key(stream, Mark::oldest), now.oldest);
  co_await commit_recorded(write, recording);
  // The trim has succeeded, even if no space could be freed this time.
  (void)co_await attempt(free_space(stream, now.oldest));
  co_return now;
}

std::optional<Stream> untidy_log(const ListPage::Listed& listed, Time now, Duration clock_error) {
  if (!listed.key.partition.home.starts_with("log/")) return std::nullopt;
  // A record that ends by itself is one of a removed log.
  if (listed.item.expiry != kNever) return std::nullopt;
  std::optional<Stream> stream = stream_in(listed.key.partition);
  if (!stream) return std::nullopt;
  if (listed.key == life_key(*stream)) return stream;
  const Result<LogRecord> record = decode_log(listed.item.value);
  if (!record) return std::nullopt;
  using State = LogRecord::State;
  const bool events_remain = record->state == State::batch || record->state == State::closed;
  const bool is_over =
      events_remain ? record->expires <= now : record->appended < now - id_over(clock_error);
  return is_over ? std::move(stream) : std::nullopt;
}

Plan<bool> tidy(Stream stream) {
  co_await end_unused_life(stream);
  stream = co_await current_life(std::move(stream));
  const LogEnds now = co_await ends(stream);
  if (now.oldest == 1) co_return false;
  co_return co_await free_space(std::move(stream), now.oldest);
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
    const LogRecord record{
        .state = LogRecord::State::blank, .count = 1, .parts = {{"", 1}}, .appended = now};
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
