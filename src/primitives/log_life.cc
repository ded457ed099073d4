// The end of a log: closing, removing, and what is there to be listed.
//
// A closed log has a record at its end that takes no index: an appender loses to it like to a
// batch. A removed log is followed by another under its name, in partitions of their own, whose
// names have the number of the life (docs/hazards.md#h1). What is left of the old one expires after
// an hour: longer than an appender can believe in the end that it knew. The number itself ends
// later than everything that was written under a lower one, ids included; then the name begins with
// the first life again (docs/decisions/0041-life-of-a-log.md).
#include <algorithm>
#include <span>

#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/listing.h"
#include "primitives/log_stream.h"
#include "primitives/log_tidy.h"
#include "primitives/recorded.h"

namespace once::logs {
namespace {

constexpr Duration kLongestClosed = std::chrono::years(10);
constexpr int kCloseTries = 1'000;
constexpr int kMostSkipped = 10'000;

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
  return pinned(put({batch_partition(stream), stored.first}, encode(record),
                    unchanged(stored.version), until));
}

// An outcome that is not known fails the call: its repeat finds what was written.
Plan<std::monostate> commit_all(std::vector<Write> writes) {
  if (writes.empty()) co_return std::monostate{};
  std::vector<std::span<Write>> each;
  for (Write& write : writes) each.emplace_back(&write, 1);
  const std::span<const std::span<Write>> transactions = each;
  const std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(transactions);
  for (const Result<CommitOutcome>& outcome : outcomes) {
    if (!outcome) co_return std::unexpected(outcome.error());
  }
  co_return std::monostate{};
}

// Lets the records of a page expire. Returns the last of them, or 0 if there were none. One that
// expires earlier is left so: the end of the log always outlasts all other records, also where two
// calls remove it and one of them is late.
Plan<std::int64_t> let_expire(Stream stream, std::int64_t below, Time until) {
  const Range range{.last = below, .direction = Direction::descending, .limit = kPage};
  const std::vector<StoredRecord> records = co_await read_records(stream, range);
  if (records.empty()) co_return 0;
  std::vector<Write> writes;
  for (const StoredRecord& stored : records) {
    if (stored.expiry > until) writes.push_back(passing_record(stream, stored, until));
  }
  co_await commit_all(std::move(writes));
  co_return records.back().first;
}

// Marks are not erased: one that is raised late, by a call that began before, would be there for
// ever and hide events of a later log of this life. So they are as high as they can get, and
// expire.
Plan<std::monostate> let_marks_expire(Stream stream, std::int64_t end, Time until) {
  std::vector<Write> writes;
  for (int i = 0; i < kMarks; ++i) {
    const auto mark = static_cast<Mark>(i);
    if (mark == Mark::settled) continue;  // Of logs that cannot be removed.
    writes.push_back(pinned(put(mark_key(stream, mark), end, anything(), until)));
  }
  if (stream.strategy == LogStrategy::transaction) {
    writes.push_back(pinned(put(head_key(stream), end, anything(), until)));
  }
  co_await commit_all(std::move(writes));
  co_return std::monostate{};
}

Plan<std::optional<StoredRecord>> read_closing(Stream stream, std::int64_t end) {
  const Key key{batch_partition(stream), end};
  std::optional<Item> item = co_await get(key);
  if (!item) co_return std::nullopt;
  Result<StoredRecord> record = decode_entry({end, std::move(*item)});
  if (!record) co_return std::unexpected(std::move(record.error()));
  co_return std::move(*record);
}

// From now on the time of the log is over: if this call does not finish the removal, the next one
// that looks for the log's end does, or a walk through the store.
Plan<std::monostate> end_time(Stream stream, std::int64_t end) {
  const Time now = co_await store_now();
  std::optional<StoredRecord> closing = co_await read_closing(stream, end);
  if (!closing || closing->record.expires <= now) co_return std::monostate{};
  closing->record.expires = now;
  Write write = passing_record(stream, *closing, closing->expiry);
  co_await commit_resolved(write);
  co_return std::monostate{};
}

// All that is left of a closed log expires later than the ids of its batches, and before the number
// of its life: its end last, together with its marks. False: another call has removed the log.
Plan<bool> let_end_expire(Stream stream, std::int64_t end) {
  for (int tries = 0; tries < kCloseTries; ++tries) {
    const Time now = co_await store_now();
    const std::optional<StoredRecord> closing = co_await read_closing(stream, end);
    if (!closing || closing->expiry <= later(now, kRecordsKept)) break;
    const bool lasts = closing->expiry == kNever;
    const Time until = lasts ? later(now, kEndKept) : closing->expiry;
    co_await let_marks_expire(stream, end, until);
    if (!lasts) co_return true;
    Write write = passing_record(stream, *closing, until);
    const CommitOutcome outcome = co_await commit_resolved(write);
    if (committed(outcome)) co_return true;
  }
  const Stream current = co_await current_life(stream);
  if (current.life != stream.life) co_return false;
  // A removal was begun 30 days ago, and nobody has called this log since.
  co_return failure(ErrorCode::unavailable, "the log is about to end by itself");
}

// Whether something of that life would never expire: earlier versions left the head of a log, and
// after a crash its end or marks.
Plan<bool> is_left_over(Stream stream) {
  std::vector<Key> keys = {head_key(stream)};
  for (int i = 0; i < kMarks; ++i) keys.push_back(mark_key(stream, static_cast<Mark>(i)));
  const std::span<const Key> wanted = keys;
  const std::vector<std::optional<Item>> items = co_await get(wanted);
  const Range newest{.direction = Direction::descending, .limit = 1};
  const std::vector<StoredRecord> records = co_await read_records(stream, newest);
  const auto lasts = [](const std::optional<Item>& item) { return item && item->expiry == kNever; };
  co_return std::ranges::any_of(items, lasts) ||
      (!records.empty() && records.front().expiry == kNever);
}

// Once a higher number is there, the end and the marks are needed as long as the records.
Plan<std::monostate> let_rest_expire(Stream stream, std::int64_t end) {
  const Time now = co_await store_now();
  const Time until = later(now, kRecordsKept);
  co_await let_expire(stream, end, until);
  co_await let_marks_expire(stream, end, until);
  co_return std::monostate{};
}

// The number of the next life: usually one more. Skips those of which something is left over, and
// lets what is left over of the first one expire, because the name will begin there again.
Plan<std::int64_t> find_next_life(Stream stream) {
  if (stream.life > 0) {
    Stream first = stream;
    first.life = 0;
    const bool left_over = co_await is_left_over(first);
    if (left_over) {
      const std::int64_t end = co_await find_end(first);
      co_await let_rest_expire(first, end);
    }
  }
  for (int tries = 0; tries < kMostSkipped; ++tries) {
    ++stream.life;
    const bool left_over = co_await is_left_over(stream);
    if (!left_over) co_return stream.life;
  }
  co_return failure(ErrorCode::unavailable, "too much is left over of logs that were removed");
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

Plan<LogRemoval> remove(Stream stream) { return remove(std::move(stream), Recording{}); }

// Until the number of its life is raised the log is closed and empty, and the call can be repeated.
// What a crash leaves behind expires by itself, or is a closed log whose time is over. Recorded by
// the first step that takes events away, or else by the one that raises the number.
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
  co_await end_time(last.stream, last.next);
  for (std::int64_t below = last.next - 1; below > 0; --below) {
    below = co_await let_expire(last.stream, below, later(now, kRecordsKept));
    if (below == 0) break;
  }
  // With the time over, the end says so itself.
  const LogRemoval removed = last.gone <= now ? LogRemoval::absent : LogRemoval::removed;
  const bool is_ours = co_await let_end_expire(last.stream, last.next);
  if (!is_ours) co_return removed;
  const std::int64_t next = co_await find_next_life(last.stream);
  const Recording& last_one = at_first ? none : recording;
  co_await raise_life(last.stream, next, last_one);
  // Only frees space.
  (void)co_await attempt(let_rest_expire(last.stream, last.next));
  co_return removed;
}

// The number could be gone: no log of that life is there. Who is about to begin one loses to the
// end that is put there, and begins the next.
Plan<std::monostate> end_unused_life(Stream stream) {
  const StreamEnd last = co_await find_last(std::move(stream));
  const bool unused =
      !last.exists && last.life && last.life->number > 0 && last.life->expiry == kNever;
  if (!unused) co_return std::monostate{};
  const Time now = co_await store_now();
  Write closing = put({batch_partition(last.stream), last.next},
                      encode(closing_record(now, Duration::zero())), absent_lasting());
  const CommitOutcome outcome = co_await commit_resolved(closing);
  if (committed(outcome)) (void)co_await remove(last.stream);
  co_return std::monostate{};
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
