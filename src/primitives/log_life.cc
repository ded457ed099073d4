// The end of a log: closing, removing, and what is there to be listed.
//
// A closed log has a record at its end that takes no index: an appender loses to it like to a
// batch. A removed log is followed by another under its name, in partitions of their own, whose
// names have the number of the life (docs/hazards.md#h1). What is left of the old one expires after
// an hour: longer than an appender can believe in the end that it knew.
#include <algorithm>
#include <span>

#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/listing.h"
#include "primitives/log_stream.h"
#include "primitives/recorded.h"

namespace once::logs {
namespace {

constexpr Duration kKeptAfterRemoval = std::chrono::hours(1);
constexpr Duration kLongestClosed = std::chrono::years(10);
constexpr int kCloseTries = 1'000;

LogRecord closing_record(Time now, std::optional<Duration> ttl) {
  return {.state = LogRecord::State::closed,
          .count = 0,
          .parts = {{"", 0}},
          .appended = now,
          .expires = ttl ? later(now, *ttl) : kNever};
}

// A record without its events, which ends by itself.
Write passing_record(const Stream& stream, const StoredRecord& stored, Time until) {
  LogRecord record = stored.record;
  if (record.state == LogRecord::State::batch) record.state = LogRecord::State::trimmed;
  record.events.clear();
  return put({batch_partition(stream), stored.first}, encode(record), unchanged(stored.version),
             until);
}

// Lets the records of a page expire. Returns the last of them, or 0 if there were none.
Plan<std::int64_t> let_expire(Stream stream, std::int64_t below, Time until) {
  const Range range{.last = below, .direction = Direction::descending, .limit = kPage};
  const std::vector<StoredRecord> records = co_await read_records(stream, range);
  if (records.empty()) co_return 0;
  std::vector<Write> writes;
  for (const StoredRecord& stored : records) {
    writes.push_back(passing_record(stream, stored, until));
  }
  std::vector<std::span<Write>> each;
  for (Write& write : writes) each.emplace_back(&write, 1);
  const std::span<const std::span<Write>> transactions = each;
  const std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(transactions);
  for (const Result<CommitOutcome>& outcome : outcomes) {
    // A repeat of this call finds them so, and writes them once more.
    if (!outcome) co_return std::unexpected(outcome.error());
  }
  co_return records.back().first;
}

// The marks of a log that nobody reads any more.
Plan<std::monostate> erase_marks(Stream stream) {
  for (int i = 0; i < kMarks; ++i) {
    Write write = erase(mark_key(stream, static_cast<Mark>(i)), anything());
    co_await commit(write);
  }
  co_return std::monostate{};
}

// A log has an item of its own that stands for it: its first record, or, once that is gone, the
// mark of a trim.
enum class Stands : std::uint8_t { no, first_record, trim_mark };

Stands stands_for_log(const Key& key, std::int64_t& life) {
  std::string_view part = key.partition.part;
  if (!part.starts_with('c')) return Stands::no;
  part.remove_prefix(1);
  const bool is_mark = part.ends_with("/m");
  if (is_mark) part.remove_suffix(2);
  life = 0;
  for (const char digit : part) {
    if (digit < '0' || digit > '9' || life > (std::int64_t{1} << 40)) return Stands::no;
    life = life * 10 + (digit - '0');
  }
  if (is_mark) return key.sort == 0 ? Stands::trim_mark : Stands::no;
  return key.sort == 1 ? Stands::first_record : Stands::no;
}

struct Candidate {
  std::string name;
  Stream stream;
  Stands by = Stands::no;
};

// Empty if the log is another's, or is listed by its other item.
Plan<std::optional<ListedLog>> look_at(Candidate candidate) {
  const Stream current = co_await current_life(candidate.stream);
  if (current.life != candidate.stream.life) co_return std::nullopt;
  if (candidate.by == Stands::trim_mark) {
    const Key first{batch_partition(current), 1};
    const std::optional<Item> item = co_await get(first);
    if (item) co_return std::nullopt;
  }
  const LogEnds now = co_await ends(current);
  if (now.next == 1 && !now.closed) co_return std::nullopt;
  co_return ListedLog{std::move(candidate.name), now};
}

}  // namespace

Plan<std::optional<LogEnds>> close(Stream stream, std::optional<Duration> ttl) {
  if (stream.strategy == LogStrategy::reserve) {
    co_return failure(ErrorCode::unsupported, "a log that reserves cannot be closed");
  }
  if (ttl && (*ttl < Duration::zero() || *ttl > kLongestClosed)) {
    co_return failure(ErrorCode::invalid, "a ttl is 0 ms to 10 years");
  }
  const Limits* limits = co_await store_limits();
  for (int tries = 0; tries < kCloseTries; ++tries) {
    const Time now = co_await store_now();
    const StreamEnd last = co_await find_last(stream);
    if (last.closed && last.gone <= now) {
      (void)co_await remove(last.stream);
      co_return std::nullopt;
    }
    if (!last.exists) co_return std::nullopt;
    LogEnds ends{.next = last.next, .closed = true};
    ends.oldest = co_await trim_expired(last.stream);
    if (last.closed) {
      co_await raise_mark(last.stream, Mark::closed, last.next);
      co_return ends;
    }
    std::vector<Write> writes = {put({batch_partition(last.stream), last.next},
                                     encode(closing_record(now, ttl)), absent_lasting())};
    if (limits->writes_per_commit > 1) {
      writes.push_back(raise(mark_key(last.stream, Mark::closed), last.next));
    }
    const CommitOutcome outcome = co_await commit_resolved(writes, 0, later(now, kAttemptLife));
    if (!committed(outcome)) {
      co_await back_off(std::min(tries, 3));
      continue;
    }
    if (limits->writes_per_commit == 1) {
      co_await raise_mark(last.stream, Mark::closed, last.next);
    }
    co_return ends;
  }
  co_return failure(ErrorCode::unavailable, "others were always faster");
}

// Until the last step the log is closed and empty, and the call can be repeated.
Plan<LogRemoval> remove(Stream stream) { return remove(std::move(stream), Recording{}); }

// Recorded by the first step that takes events away, or else by the last.
Plan<LogRemoval> remove(Stream stream, Recording recording) {
  const StreamEnd last = co_await find_last(std::move(stream));
  if (!last.exists) co_return LogRemoval::absent;
  if (!last.closed) co_return LogRemoval::open;
  const std::int64_t oldest = co_await read_mark(last.stream, Mark::oldest);
  Write empty = raise(mark_key(last.stream, Mark::oldest), last.next);
  const Recording none;
  const bool at_first = oldest < last.next;
  const Recording& first = at_first ? recording : none;
  co_await commit_recorded(empty, first);
  const Time now = co_await store_now();
  const Time until = later(now, kKeptAfterRemoval);
  for (std::int64_t below = last.next - 1; below > 0; --below) {
    below = co_await let_expire(last.stream, below, until);
    if (below == 0) break;
  }
  const std::int64_t next_life = last.stream.life + 1;
  Write gone = raise(life_key(last.stream), next_life);
  const Recording& last_one = at_first ? none : recording;
  co_await commit_recorded(gone, last_one);
  // The rest only frees space.
  (void)co_await attempt(let_expire(last.stream, last.next, until));
  (void)co_await attempt(erase_marks(last.stream));
  // With the time over, the end says so itself.
  co_return last.gone <= now ? LogRemoval::absent : LogRemoval::removed;
}

Plan<LogList> list(std::string name_space, std::string prefix, std::string cursor,
                   std::size_t limit) {
  std::vector<Candidate> candidates;
  const auto is_found = [&](ListPage::Listed& listed, Time) -> Result<bool> {
    Candidate candidate{.stream = {listed.key.partition.home}};
    candidate.by = stands_for_log(listed.key, candidate.stream.life);
    if (candidate.by == Stands::no) return false;
    candidate.name = keys::name_in(listed.key.partition.home);
    candidates.push_back(std::move(candidate));
    return true;
  };
  LogList list;
  WalkRequest request{keys::log_home(name_space, prefix), std::move(cursor), limit};
  list.cursor = co_await walk(std::move(request), is_found);
  for (Candidate& candidate : candidates) {
    std::optional<ListedLog> listed = co_await look_at(std::move(candidate));
    if (listed) list.logs.push_back(std::move(*listed));
  }
  co_return std::move(list);
}

}  // namespace once::logs
