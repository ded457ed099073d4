#include "primitives/log_append.h"

#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"

namespace once::logs {
namespace {

constexpr Duration kMaxEventTtl = std::chrono::years(10);
constexpr int kReserveTries = 3;     // Each unknown one leaves a range for heal().
constexpr int kBatchesToFollow = 4;  // One by one, before looking for the end again.

// Far below the day for which the record at an old end is kept, even if its events are trimmed.
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

LogRecord record_of(std::vector<LogEvent> events, const AppendRequest& request, Time now) {
  return {.count = static_cast<std::int64_t>(events.size()),
          .batch = request.batch,
          .appended = now,
          .expires = request.ttl ? later(now, *request.ttl) : kNever,
          .events = std::move(events)};
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

// Where to try after losing `position`. Every stale end of a log is the first index of a batch that
// exists, and that batch tells the next one: no need to look for the end again.
Plan<AppendPosition> position_after(const PendingAppend& append, AppendPosition position, Lost lost,
                                    int tries) {
  const bool follows = append.stream.strategy == LogStrategy::conditional && lost.write == 0;
  if (follows && lost.current && tries % kBatchesToFollow != 0) {
    const Result<LogRecord> winner = decode_log(lost.current->value);
    if (!winner) co_return std::unexpected(winner.error());
    co_return AppendPosition{position.first + winner->count, {}};
  }
  if (tries >= kBatchesToFollow) co_await back_off(tries / kBatchesToFollow);
  co_return co_await next_position(append);
}

// The answer of an earlier append under this batch id; empty if the id has expired.
Plan<std::optional<AppendOutcome>> answer_by_id(const PendingAppend& append,
                                                std::optional<Item> item) {
  if (!item) co_return std::nullopt;
  const Result<std::optional<BatchId>> id = same_batch(append, *item);
  if (!id) co_return std::unexpected(id.error());
  if (!*id) co_return AppendOutcome(OtherBatch{});
  co_return AppendOutcome(append.appended_at((*id)->at, true));
}

// `expect` does not hold, perhaps because of an earlier append of this same batch.
Plan<AppendOutcome> answer_unexpected(const PendingAppend& append, std::int64_t next) {
  if (append.batch.empty()) co_return NotNext{next};
  const Key key = batch_id_key(append.stream, append.batch);
  std::optional<Item> item = co_await get(key);
  auto answer = co_await answer_by_id(append, std::move(item));
  if (answer) co_return *answer;
  co_return NotNext{next};
}

// Where to try first. A cached end may be stale, so it never refuses `expect`.
Plan<AppendPosition> first_position(const PendingAppend& append, const KnownEnds* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  if (known != nullptr && !limits->may_forget) {
    const std::optional<std::int64_t> next = known->next(append.stream, now);
    if (next && !append.is_unexpected(*next)) co_return AppendPosition{*next, {}};
  }
  co_return co_await next_position(append);
}

// Everything in one commit.
Plan<AppendOutcome> append_whole(PendingAppend append, KnownEnds* known) {
  const Time now = co_await store_now();
  AppendPosition position = co_await first_position(append, known);
  for (int tries = 1;; ++tries) {
    if (append.is_unexpected(position.first)) {
      co_return co_await answer_unexpected(append, position.first);
    }
    std::vector<Write> writes = append.writes_at(position);
    CommitOutcome outcome = co_await commit_resolved(writes, 0, append.until);
    if (committed(outcome)) {
      const Appended appended = append.appended_at(position.first, false);
      if (known != nullptr) known->learn(append.stream, appended.last + 1, now);
      co_return appended;
    }
    Lost lost = std::get<Lost>(std::move(outcome));
    if (lost.write == 1 && !append.batch.empty()) {
      auto answer = co_await answer_by_id(append, lost.current);
      if (answer) co_return *answer;
    }
    position = co_await position_after(append, position, std::move(lost), tries);
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
  if (record->batch != append.batch) co_return std::nullopt;
  co_return AppendOutcome(append.appended_at(first, true));
}

// Id and batch by one write each (docs/hazards.md#h5). The id says where the batch will be before
// the batch is written, so that every repeat writes it to the same index. The id moves only after
// another batch took that index, because then this one can never be there.
Plan<AppendOutcome> append_in_steps(PendingAppend append) {
  const Key key = batch_id_key(append.stream, append.batch);
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
    if (append.is_unexpected(position.first)) co_return NotNext{position.first};
    current = co_await write_id(append.id_at(position.first, guard), append.until);
  }
}

// Readers and trims remove expired events. On a stream without them, some appends do.
constexpr std::uint64_t kAppendsPerTrim = 64;

Plan<std::monostate> trim_sometimes(Stream stream) {
  const std::uint64_t drawn = co_await random_number();
  if (drawn % kAppendsPerTrim == 0) (void)co_await attempt(trim(stream, 0));
  co_return std::monostate{};
}

}  // namespace

Appended PendingAppend::appended_at(std::int64_t first, bool replayed) const {
  return {first, first + count - 1, replayed};
}

Write PendingAppend::batch_at(std::int64_t first) const {
  return put({batch_partition(stream), first}, value, absent_lasting());
}

Write PendingAppend::id_at(std::int64_t first, Guard guard) const {
  const BatchId id{first, count, hash};
  return put(batch_id_key(stream, batch), encode(id), guard, id_expires);
}

std::vector<Write> PendingAppend::writes_at(const AppendPosition& position) const {
  std::vector<Write> writes = {batch_at(position.first)};
  if (!batch.empty()) writes.push_back(id_at(position.first, absent_lasting()));
  if (stream.strategy == LogStrategy::transaction) {
    const Guard guard = position.head ? unchanged(position.head) : absent_lasting();
    writes.push_back(put(head_key(stream), position.first + count, guard));
  }
  return writes;
}

std::size_t PendingAppend::write_count() const {
  const std::size_t head = stream.strategy == LogStrategy::transaction ? 1 : 0;
  return head + (batch.empty() ? 1 : 2);
}

Result<PendingAppend> prepare_append(Stream stream, std::vector<LogEvent> events,
                                     const AppendRequest& request, const Limits& limits, Time now) {
  if (Result<void> ok = check_append(stream, events, request); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  const LogRecord record = record_of(std::move(events), request, now);
  PendingAppend append{.stream = std::move(stream),
                       .batch = request.batch,
                       .expect = request.expect,
                       .count = record.count,
                       .value = encode(record),
                       .hash = request.batch.empty() ? Bytes() : hash_of(record.events),
                       .until = later(now, kAttemptLife),
                       .id_expires = later(now, kBatchMemory)};
  if (append.value.size() > limits.value_bytes) {
    return failure(ErrorCode::too_large,
                   "the batch is longer than " + std::to_string(limits.value_bytes) + " bytes");
  }
  const bool must_be_whole = append.stream.strategy == LogStrategy::transaction;
  if (must_be_whole && limits.writes_per_commit < append.write_count()) {
    return failure(ErrorCode::unsupported, "this store cannot commit head and batch together");
  }
  return append;
}

Plan<AppendPosition> next_position(const PendingAppend& append) {
  if (append.stream.strategy == LogStrategy::reserve) co_return co_await reserve_range(append);
  if (append.stream.strategy == LogStrategy::conditional) {
    const std::int64_t end = co_await find_end(append.stream);
    co_return AppendPosition{end, {}};
  }
  const Key key = head_key(append.stream);
  const std::optional<Item> head = co_await get(key);
  if (!head) co_return AppendPosition{};
  const auto* next = std::get_if<std::int64_t>(&head->value);
  if (next == nullptr) co_return failure(ErrorCode::corrupt, "a log's head is not a number");
  co_return AppendPosition{*next, head->version};
}

Plan<AppendOutcome> append(Stream stream, std::vector<LogEvent> events, AppendRequest request,
                           KnownEnds* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<PendingAppend> pending =
      prepare_append(std::move(stream), std::move(events), request, *limits, now);
  if (!pending) co_return std::unexpected(std::move(pending.error()));
  if (request.ttl) co_await trim_sometimes(pending->stream);
  const bool fits = limits->writes_per_commit >= pending->write_count();
  const bool in_steps =
      !pending->batch.empty() && (pending->stream.strategy == LogStrategy::reserve || !fits);
  if (in_steps) co_return co_await append_in_steps(std::move(*pending));
  co_return co_await append_whole(std::move(*pending), known);
}

class KnownEnds::Streams {
 public:
  std::optional<std::int64_t> next(const Stream& stream, Time now) const {
    const Lock lock(mutex_);
    const auto found = ends_.find(stream.home);
    if (found == ends_.end()) return std::nullopt;
    if (later(found->second.since, kKnownEndLife) <= now) return std::nullopt;
    return found->second.next;
  }

  void learn(const Stream& stream, std::int64_t next, Time now) {
    const Lock lock(mutex_);
    // Forgetting an end costs one scan, so it does not matter which ones go.
    if (ends_.size() >= kMaxKnownEnds) ends_.clear();
    End& end = ends_[stream.home];
    if (next > end.next) end = {next, now};
  }

 private:
  struct End {
    std::int64_t next = 0;
    Time since;
  };

  mutable Mutex mutex_;
  std::unordered_map<std::string, End> ends_ ONCE_GUARDED_BY(mutex_);
};

KnownEnds::KnownEnds() : streams_(std::make_unique<Streams>()) {}
KnownEnds::~KnownEnds() = default;

std::optional<std::int64_t> KnownEnds::next(const Stream& stream, Time now) const {
  if (stream.strategy != LogStrategy::conditional) return std::nullopt;
  return streams_->next(stream, now);
}

void KnownEnds::learn(const Stream& stream, std::int64_t next, Time now) {
  if (stream.strategy == LogStrategy::conditional) streams_->learn(stream, next, now);
}

}  // namespace once::logs
