#include "primitives/log_job.h"

#include "primitives/keys.h"

namespace once::logs {
namespace {

constexpr Duration kMaxTtl = std::chrono::years(10);
constexpr int kReserveTries = 3;  // Each unknown one leaves a range for heal().

Result<void> check(const Stream& stream, const std::vector<LogEvent>& events,
                   const AppendRequest& request) {
  if (events.empty() || events.size() > kMaxBatchEvents) {
    return failure(ErrorCode::invalid, "a batch has 1 to 10000 events");
  }
  if (request.expect && stream.strategy == LogStrategy::reserve) {
    return failure(ErrorCode::invalid, "a log that reserves cannot expect an index");
  }
  if (request.ttl && (*request.ttl < Duration(1) || *request.ttl > kMaxTtl)) {
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

Plan<Place> take_range(const Job& job) {
  for (int tries = 1;; ++tries) {
    Write write = add(head_key(job.stream), job.count);
    const Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (outcome) {
      const auto& numbers = std::get<Committed>(*outcome).numbers;
      if (numbers.empty() || !numbers[0]) {
        co_return failure(ErrorCode::unsupported, "this store does not tell what an add made");
      }
      co_return Place{*numbers[0] - job.count + 1, {}};
    }
    if (outcome.error().code != ErrorCode::unknown) co_return std::unexpected(outcome.error());
    // At worst a range was reserved that nobody writes.
    if (tries == kReserveTries) {
      co_return failure(ErrorCode::unavailable, "no indexes could be reserved");
    }
    co_await back_off(tries);
  }
}

}  // namespace

Appended Job::appended_at(std::int64_t first, bool replayed) const {
  return {first, first + count - 1, replayed};
}

Write Job::batch_at(std::int64_t first) const {
  return put({batches(stream), first}, value, absent_lasting());
}

Write Job::id_at(std::int64_t first, Guard guard) const {
  const BatchId id{first, count, hash};
  return put(batch_id_key(stream, batch), encode(id), guard, forgotten);
}

std::vector<Write> Job::writes_at(const Place& place) const {
  std::vector<Write> writes = {batch_at(place.first)};
  if (!batch.empty()) writes.push_back(id_at(place.first, absent_lasting()));
  if (stream.strategy == LogStrategy::transaction) {
    const Guard guard = place.head ? unchanged(place.head) : absent_lasting();
    writes.push_back(put(head_key(stream), place.first + count, guard));
  }
  return writes;
}

std::size_t Job::write_count() const {
  const std::size_t head = stream.strategy == LogStrategy::transaction ? 1 : 0;
  return head + (batch.empty() ? 1 : 2);
}

Result<Job> job_of(Stream stream, std::vector<LogEvent> events, const AppendRequest& request,
                   const Limits& limits, Time now) {
  if (Result<void> ok = check(stream, events, request); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  const LogRecord record = record_of(std::move(events), request, now);
  Job job{.stream = std::move(stream),
          .batch = request.batch,
          .expect = request.expect,
          .count = record.count,
          .value = encode(record),
          .hash = request.batch.empty() ? Bytes() : hash_of(record.events),
          .until = later(now, kAttemptLife),
          .forgotten = later(now, kBatchMemory)};
  if (job.value.size() > limits.value_bytes) {
    return failure(ErrorCode::too_large,
                   "the batch is longer than " + std::to_string(limits.value_bytes) + " bytes");
  }
  const bool must_be_whole = job.stream.strategy == LogStrategy::transaction;
  if (must_be_whole && limits.writes_per_commit < job.write_count()) {
    return failure(ErrorCode::unsupported, "this store cannot commit head and batch together");
  }
  return job;
}

Plan<Place> next_place(const Job& job) {
  if (job.stream.strategy == LogStrategy::reserve) co_return co_await take_range(job);
  if (job.stream.strategy == LogStrategy::conditional) {
    const std::int64_t end = co_await end_of(job.stream);
    co_return Place{end, {}};
  }
  const Key key = head_key(job.stream);
  const std::optional<Item> head = co_await get(key);
  if (!head) co_return Place{};
  const auto* next = std::get_if<std::int64_t>(&head->value);
  if (next == nullptr) co_return failure(ErrorCode::corrupt, "a log's head is not a number");
  co_return Place{*next, head->version};
}

}  // namespace once::logs
