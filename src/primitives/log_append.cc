#include "primitives/log_append.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/log_group.h"

namespace once::logs {
namespace {

constexpr Duration kMaxEventTtl = std::chrono::years(10);
constexpr int kReserveTries = 3;  // Each unknown one leaves a range for heal().
constexpr int kBeginTries = 20;   // Each but the first after others removed or began the log.

// Far below the day for which the record at an old end is kept, even if its events are trimmed, and
// below the hour for which the closed end of a removed log is kept. A number of a life that is
// known here belongs to a log that had a record, so it lasts, or that log was removed: then the
// next log under an equal number begins more than 30 days later.
constexpr Duration kKnownEndLife = std::chrono::minutes(5);
constexpr std::size_t kMaxKnownEnds = 10'000;

Result<void> check_append(const Stream& stream, const std::vector<LogEvent>& events,
                          const AppendRequest& request) {
  if (events.empty() || events.size() > kMaxBatchEvents) {
    return failure(ErrorCode::invalid, "a batch has 1 to 10000 events");
  }
  if (request.expect && stream.strategy == LogStrategy::reserve) {
    return failure(ErrorCode::invalid, "a log that reserves cannot expect an index");
  }
  if (request.ttl && (*request.ttl < Duration(1) || *request.ttl > kMaxEventTtl)) {
    return failure(ErrorCode::invalid, "a ttl is 1 ms to 10 years");
  }
  if (request.batch.empty()) return {};
  return keys::check_name(request.batch);
}

constexpr std::size_t kRecordRoom = 64;            // For a record's fields besides id and events.
constexpr std::size_t kSplitBytes = 3'500U << 10;  // Of one commit, on every store that splits.

std::vector<PendingAppend::Chunk> one_chunk(const std::vector<LogEvent>& events) {
  return {{static_cast<std::int64_t>(events.size()), encode_events(events)}};
}

// A batch that is too long for one record, as several. Empty if an event alone is too long.
std::vector<PendingAppend::Chunk> split(std::vector<LogEvent> events, std::size_t most) {
  std::vector<PendingAppend::Chunk> chunks;
  std::vector<LogEvent> one(1);
  for (LogEvent& event : events) {
    one[0] = std::move(event);
    const Bytes encoded = encode_events(one);
    if (encoded.size() > most) return {};
    if (chunks.empty() || chunks.back().events.size() + encoded.size() > most) {
      chunks.emplace_back();
    }
    chunks.back().events += encoded;
    ++chunks.back().count;
  }
  return chunks;
}

Plan<AppendPosition> reserve_range(const PendingAppend& append) {
  for (int tries = 1;; ++tries) {
    Write write = add(head_key(append.stream), append.count);
    const Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (outcome) {
      const auto& numbers = std::get<Committed>(*outcome).numbers;
      if (numbers.empty() || !numbers[0]) {
        co_return failure(ErrorCode::unsupported, "this store does not tell what an add made");
      }
      co_return AppendPosition{*numbers[0] - append.count + 1, {}};
    }
    if (outcome.error().code != ErrorCode::unknown) co_return std::unexpected(outcome.error());
    // At worst a range was reserved that is never written.
    if (tries == kReserveTries) {
      co_return failure(ErrorCode::unavailable, "no indexes could be reserved");
    }
    co_await back_off(tries);
  }
}

// The plans below take the append by reference: it lives in the frame of the plan that awaits them.

// The content of the batch id's item; empty if it names other events.
Result<std::optional<BatchId>> same_batch(const PendingAppend& append, const Item& item) {
  Result<BatchId> id = decode_batch_id(item.value);
  if (!id) return std::unexpected(std::move(id.error()));
  if (id->hash != append.hash || id->count != append.count) return std::nullopt;
  return std::move(*id);
}

// The answer of an earlier append under this batch id; empty if the id has expired.
Plan<std::optional<AppendOutcome>> answer_by_id(const PendingAppend& append,
                                                std::optional<Item> item) {
  if (!item) co_return std::nullopt;
  const Result<std::optional<BatchId>> id = same_batch(append, *item);
  if (!id) co_return std::unexpected(id.error());
  if (!*id) co_return AppendOutcome(OtherBatch{});
  std::optional<std::int64_t> offset = (*id)->offset;
  if (!offset) {
    // Written where one write is all there is, and brought here since.
    const Key key{batch_partition(append.stream), (*id)->at};
    const std::optional<Item> found = co_await get(key);
    if (!found) co_return failure(ErrorCode::corrupt, "a log's record is gone");
    const Result<LogRecord> record = decode_log(found->value);
    if (!record) co_return std::unexpected(record.error());
    offset = record->offset_of(append.batch);
    if (!offset) co_return failure(ErrorCode::corrupt, "a batch id has no batch");
  }
  co_return AppendOutcome(append.appended_at((*id)->at + *offset, true));
}

// Nothing can be appended, perhaps because of an earlier append of this same batch.
Plan<AppendOutcome> answer_refused(const PendingAppend& append, AppendOutcome refusal) {
  if (append.batch.empty()) co_return refusal;
  const Key key = batch_id_key(append.stream, append.batch);
  std::optional<Item> item = co_await get(key);
  auto answer = co_await answer_by_id(append, std::move(item));
  if (answer) co_return *answer;
  co_return refusal;
}

// With `reserve`, in one commit: a range of its own for each try.
Plan<AppendOutcome> append_reserved(PendingAppend append) {
  for (int tries = 1;; ++tries) {
    const AppendPosition position = co_await next_position(append);
    std::vector<Write> writes = append.writes_at(position);
    const CommitOutcome outcome = co_await commit_resolved(writes, 0, append.until);
    if (committed(outcome)) co_return append.appended_at(position.first, false);
    co_await back_off(tries);
  }
}

// The batch id's item after trying to write it.
Plan<std::optional<Item>> write_id(Write write, Time until) {
  const std::span<Write> writes(&write, 1);
  CommitOutcome outcome = co_await commit_resolved(writes, 0, until);
  if (!committed(outcome)) co_return std::get<Lost>(std::move(outcome)).current;
  co_return Item{write.value, write.version, write.expiry};
}

// Writes the batch where its id says, unless it is there already. Empty if another batch took that
// index.
Plan<std::optional<AppendOutcome>> append_at(const PendingAppend& append, std::int64_t first) {
  std::optional<Item> current;
  if (append.is_unexpected(first)) {
    const Key key{batch_partition(append.stream), first};
    current = co_await get(key);
    if (!current) co_return AppendOutcome(NotNext{first});
  } else {
    Write write = append.batch_at(first);
    const std::span<Write> writes(&write, 1);
    CommitOutcome outcome = co_await commit_resolved(writes, 0, append.until);
    if (committed(outcome)) co_return AppendOutcome(append.appended_at(first, false));
    current = std::get<Lost>(std::move(outcome)).current;
  }
  if (!current) co_return failure(ErrorCode::corrupt, "a log's record is gone");
  const Result<LogRecord> record = decode_log(current->value);
  if (!record) co_return std::unexpected(record.error());
  if (record->state == LogRecord::State::closed) co_return AppendOutcome(LogClosed{});
  const std::optional<std::int64_t> offset = record->offset_of(append.batch);
  if (!offset) co_return std::nullopt;
  co_return AppendOutcome(append.appended_at(first + *offset, true));
}

// Id and batch by one write each (docs/hazards.md#h5). The id says where the batch will be before
// the batch is written, so that every repeat writes it to the same index. The id moves only after
// another batch took that index, because then this one can never be there.
Plan<AppendOutcome> append_in_steps(PendingAppend append) {
  Key key = batch_id_key(append.stream, append.batch);
  std::optional<Item> current = co_await get(key);
  for (int tries = 1;; ++tries) {
    Guard guard = absent_lasting();
    if (current) {
      const Result<std::optional<BatchId>> id = same_batch(append, *current);
      if (!id) co_return std::unexpected(id.error());
      if (!*id) co_return OtherBatch{};
      auto answer = co_await append_at(append, (*id)->at);
      if (answer) co_return *answer;
      guard = unchanged(current->version);
    }
    if (tries > 1) co_await back_off(tries / 2);
    const AppendPosition position = co_await next_position(append);
    if (position.life != append.stream.life) {
      // The log was removed meanwhile, its ids with it.
      append.stream.life = position.life;
      key = batch_id_key(append.stream, append.batch);
      current = co_await get(key);
      continue;
    }
    if (position.closed) co_return LogClosed{};
    if (append.is_unexpected(position.first)) co_return NotNext{position.first};
    current = co_await write_id(append.id_at(position.first, 0, guard), append.until);
  }
}

// Together with others that wait on the stream, if there are any.
Plan<AppendOutcome> append_joined(PendingAppend append, KnownEnds* known) {
  bool sent = false;  // An earlier try may have been written.
  for (int tries = 0;; ++tries) {
    GroupedAppend member(append, known);
    Result<std::monostate> joined = co_await attempt(join(member));
    if (!joined) {
      sent = sent || joined.error().code == ErrorCode::unknown;
      const Time now = co_await store_now();
      const bool resolves = sent && !append.batch.empty() && is_transient(joined.error());
      if (!resolves || now >= append.until) {
        if (sent) joined.error().code = ErrorCode::unknown;
        co_return std::unexpected(std::move(joined.error()));
      }
      co_await back_off(tries);
      continue;
    }
    if (const auto* placed = std::get_if<GroupedAppend::Placed>(&member.outcome)) {
      co_return append.appended_at(placed->first, placed->replayed);
    }
    const auto* refused = std::get_if<GroupedAppend::Unexpected>(&member.outcome);
    auto* taken = std::get_if<GroupedAppend::KnownId>(&member.outcome);
    const bool closed = std::holds_alternative<GroupedAppend::Closed>(member.outcome);
    const bool decided = refused != nullptr || taken != nullptr || closed;
    if (append.by_one_write && !append.batch.empty() && decided) {
      co_return co_await append_in_steps(std::move(append));
    }
    if (refused != nullptr || closed) {
      const AppendOutcome refusal = closed ? AppendOutcome(LogClosed{}) : NotNext{refused->next};
      co_return co_await answer_refused(append, refusal);
    }
    if (taken != nullptr) {
      auto answer = co_await answer_by_id(append, std::move(taken->id));
      if (answer) co_return *answer;
    }
  }
}

// The end of the log that is there now. If it is of another life than the first, the number of that
// life lasts by now: every append but those at an end that is known from here goes through this.
Plan<StreamEnd> find_end_to_append(Stream stream) {
  for (int tries = 0; tries < kBeginTries; ++tries) {
    if (tries > 0) co_await back_off(tries - 1);
    const Time now = co_await store_now();
    StreamEnd end = co_await find_last(stream);
    stream = end.stream;
    if (end.closed && end.gone <= now) {
      // Its time is over: the name begins again.
      (void)co_await remove(end.stream);
      continue;
    }
    if (end.closed || !end.life) co_return std::move(end);
    const bool lasts = co_await hold_life(end.stream, *end.life);
    if (lasts) co_return std::move(end);
  }
  co_return failure(ErrorCode::unavailable, "others were always faster");
}

// Readers and trims remove expired events. On a stream without them, some appends do.
constexpr std::uint64_t kAppendsPerTrim = 64;

}  // namespace

Plan<std::monostate> trim_sometimes(Stream stream) {
  const std::uint64_t drawn = co_await random_number();
  if (drawn % kAppendsPerTrim == 0) (void)co_await attempt(trim(stream, 0));
  co_return std::monostate{};
}

Appended PendingAppend::appended_at(std::int64_t first, bool replayed) const {
  return {first, first + count - 1, replayed};
}

std::size_t PendingAppend::bytes() const {
  constexpr std::size_t kLengths = 8;
  std::size_t total = batch.size() + kLengths;
  for (const Chunk& chunk : chunks) total += chunk.events.size();
  return total;
}

Write PendingAppend::batch_at(std::int64_t first) const { return records_at(first).front(); }

std::vector<Write> PendingAppend::records_at(std::int64_t first) const {
  std::vector<Write> writes;
  std::string id = batch;
  for (const Chunk& chunk : chunks) {
    const LogRecord record{.count = chunk.count,
                           .parts = {{std::exchange(id, {}), chunk.count}},
                           .appended = started,
                           .expires = expires};
    writes.push_back(
        put({batch_partition(stream), first}, encode(record, {chunk.events}), absent_lasting()));
    first += chunk.count;
  }
  return writes;
}

Write PendingAppend::id_at(std::int64_t at, std::optional<std::int64_t> offset, Guard guard) const {
  const BatchId id{at, count, hash, offset};
  return put(batch_id_key(stream, batch), encode(id), guard, id_expires);
}

std::vector<Write> PendingAppend::writes_at(const AppendPosition& position) const {
  std::vector<Write> writes = records_at(position.first);
  if (!batch.empty()) writes.push_back(id_at(position.first, 0, absent_lasting()));
  if (stream.strategy == LogStrategy::transaction) {
    const Guard guard = position.head ? unchanged(position.head) : absent_lasting();
    writes.push_back(put(head_key(stream), position.first + count, guard));
  }
  return writes;
}

std::size_t PendingAppend::write_count() const {
  const std::size_t head = stream.strategy == LogStrategy::transaction ? 1 : 0;
  return head + chunks.size() + (batch.empty() ? 0 : 1);
}

Result<PendingAppend> prepare_append(Stream stream, std::vector<LogEvent> events,
                                     const AppendRequest& request, const Limits& limits, Time now) {
  if (Result<void> ok = check_append(stream, events, request); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  PendingAppend append{.stream = std::move(stream),
                       .batch = request.batch,
                       .expect = request.expect,
                       .count = static_cast<std::int64_t>(events.size()),
                       .chunks = one_chunk(events),
                       .hash = request.batch.empty() ? Bytes() : hash_of(events),
                       .started = now,
                       .expires = request.ttl ? later(now, *request.ttl) : kNever,
                       .until = later(now, kAttemptLife),
                       .id_expires = later(now, kBatchMemory),
                       .by_one_write = limits.writes_per_commit == 1};
  const std::size_t most =
      limits.value_bytes - std::min(limits.value_bytes, kRecordRoom + request.batch.size());
  if (append.chunks[0].events.size() > most) {
    const bool may_split = append.stream.strategy != LogStrategy::reserve &&
                           append.chunks[0].events.size() <= std::max(most, kSplitBytes);
    append.chunks =
        may_split ? split(std::move(events), most) : std::vector<PendingAppend::Chunk>();
    if (append.chunks.empty() || append.write_count() > limits.writes_per_commit) {
      return failure(ErrorCode::too_large,
                     "the batch is longer than " + std::to_string(limits.value_bytes) + " bytes");
    }
  }
  const bool must_be_whole = append.stream.strategy == LogStrategy::transaction;
  if (must_be_whole && limits.writes_per_commit < append.write_count()) {
    return failure(ErrorCode::unsupported, "this store cannot commit head and batch together");
  }
  return append;
}

Plan<AppendPosition> next_position(const PendingAppend& append) {
  if (append.stream.strategy == LogStrategy::reserve) co_return co_await reserve_range(append);
  const StreamEnd end = co_await find_end_to_append(append.stream);
  AppendPosition position{end.next, {}, end.stream.life, end.closed};
  if (append.stream.strategy == LogStrategy::conditional) co_return position;
  const Key key = head_key(end.stream);
  const std::optional<Item> head = co_await get(key);
  if (!head) co_return position;
  const auto* next = std::get_if<std::int64_t>(&head->value);
  if (next == nullptr) co_return failure(ErrorCode::corrupt, "a log's head is not a number");
  position.first = *next;
  position.head = head->version;
  co_return position;
}

Plan<AppendOutcome> append(Stream stream, std::vector<LogEvent> events, AppendRequest request,
                           KnownEnds* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<PendingAppend> pending =
      prepare_append(std::move(stream), std::move(events), request, *limits, now);
  if (!pending) co_return std::unexpected(std::move(pending.error()));
  if (request.ttl) co_await trim_sometimes(pending->stream);
  if (pending->stream.strategy != LogStrategy::reserve) {
    co_return co_await append_joined(std::move(*pending), known);
  }
  if (!pending->batch.empty()) co_return co_await append_in_steps(std::move(*pending));
  co_return co_await append_reserved(std::move(*pending));
}

Plan<AppendOutcome> append_by_id(PendingAppend append) {
  return append_in_steps(std::move(append));
}

// A cached end may be stale.
Plan<FirstPosition> first_position(const PendingAppend& append, const KnownEnds* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  if (known != nullptr && !limits->may_forget) {
    const std::optional<KnownEnds::End> end = known->next(append.stream, now);
    if (end) co_return FirstPosition{{end->next, {}, end->life}, false};
  }
  const AppendPosition found = co_await next_position(append);
  co_return FirstPosition{found, true};
}

class KnownEnds::Streams {
 public:
  std::optional<KnownEnds::End> next(const Stream& stream, Time now) const {
    const Lock lock(mutex_);
    const auto found = ends_.find(stream.home);
    if (found == ends_.end()) return std::nullopt;
    if (later(found->second.since, kKnownEndLife) <= now) return std::nullopt;
    return found->second.end;
  }

  void learn(const Stream& stream, std::int64_t next, Time now) {
    const Lock lock(mutex_);
    // Forgetting an end costs one scan, so it does not matter which ones go.
    if (ends_.size() >= kMaxKnownEnds) ends_.clear();
    Known& known = ends_[stream.home];
    // Lives begin at 0 again when the number of the last one has ended.
    const bool is_old = later(known.since, kKnownEndLife) <= now;
    const bool is_later =
        stream.life > known.end.life || (stream.life == known.end.life && next > known.end.next);
    if (is_old || is_later) known = {{next, stream.life}, now};
  }

 private:
  struct Known {
    KnownEnds::End end;
    Time since;
  };

  mutable Mutex mutex_;
  std::unordered_map<std::string, Known> ends_ ONCE_GUARDED_BY(mutex_);
};

KnownEnds::KnownEnds() : streams_(std::make_unique<Streams>()) {}
KnownEnds::~KnownEnds() = default;

std::optional<KnownEnds::End> KnownEnds::next(const Stream& stream, Time now) const {
  if (stream.strategy != LogStrategy::conditional) return std::nullopt;
  return streams_->next(stream, now);
}

void KnownEnds::learn(const Stream& stream, std::int64_t next, Time now) {
  if (stream.strategy == LogStrategy::conditional) streams_->learn(stream, next, now);
}

}  // namespace once::logs
