#include "primitives/log_job.h"
#include "primitives/log_landing.h"

namespace once::logs {
namespace {

constexpr int kChase = 4;  // Batches to follow one by one before looking for the end again.

// The plans take the job by reference: it lives in the frame of the one that awaits them.

// What stands under the job's batch id; empty if it names other events.
Result<std::optional<BatchId>> same_batch(const Job& job, const Item& standing) {
  Result<BatchId> id = decode_batch_id(standing.value);
  if (!id) return std::unexpected(std::move(id.error()));
  if (id->hash != job.hash || id->count != job.count) return std::nullopt;
  return std::move(*id);
}

// Where to try after losing `place`. Every stale end of a log is the first index of a batch that
// exists, and that batch tells the next one: there is no need to look for the end again.
Plan<Place> place_after(const Job& job, Place place, Lost lost, int tries) {
  const bool chases = job.stream.strategy == LogStrategy::conditional && lost.write == 0;
  if (chases && lost.standing && tries % kChase != 0) {
    const Result<LogRecord> winner = decode_log(lost.standing->value);
    if (!winner) co_return std::unexpected(winner.error());
    co_return Place{place.first + winner->count, {}};
  }
  if (tries >= kChase) co_await back_off(tries / kChase);
  co_return co_await next_place(job);
}

// What the batch id in the way says; nothing if it is gone again.
Plan<std::optional<AppendOutcome>> known_answer(const Job& job, std::optional<Item> standing) {
  if (!standing) co_return std::nullopt;
  const Result<std::optional<BatchId>> id = same_batch(job, *standing);
  if (!id) co_return std::unexpected(id.error());
  if (!*id) co_return AppendOutcome(OtherBatch{});
  co_return AppendOutcome(job.appended_at((*id)->at, true));
}

// `expect` does not hold. That may be this batch's own doing, by an attempt before this one.
Plan<AppendOutcome> refuse(const Job& job, std::int64_t next) {
  if (job.batch.empty()) co_return NotNext{next};
  const Key key = batch_id_key(job.stream, job.batch);
  std::optional<Item> standing = co_await get(key);
  auto known = co_await known_answer(job, std::move(standing));
  if (known) co_return *known;
  co_return NotNext{next};
}

// Where to try first. An end that is only believed in refuses nobody: it may be old.
Plan<Place> first_place(const Job& job, const KnownEnds* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  if (known != nullptr && !limits->may_forget) {
    const std::optional<std::int64_t> next = known->next(job.stream, now);
    if (next && !job.unexpected_at(*next)) co_return Place{*next, {}};
  }
  co_return co_await next_place(job);
}

// Everything in one commit.
Plan<AppendOutcome> append_whole(Job job, KnownEnds* known) {
  const Time now = co_await store_now();
  Place place = co_await first_place(job, known);
  for (int tries = 1;; ++tries) {
    if (job.unexpected_at(place.first)) co_return co_await refuse(job, place.first);
    std::vector<Write> writes = job.writes_at(place);
    CommitOutcome outcome = co_await land_all(writes, 0, job.until);
    if (committed(outcome)) {
      const Appended appended = job.appended_at(place.first, false);
      if (known != nullptr) known->learn(job.stream, appended.last + 1, now);
      co_return appended;
    }
    Lost lost = std::get<Lost>(std::move(outcome));
    if (lost.write == 1 && !job.batch.empty()) {
      auto known = co_await known_answer(job, lost.standing);
      if (known) co_return *known;
    }
    place = co_await place_after(job, place, std::move(lost), tries);
  }
}

// What stands under the batch id after trying to write it there.
Plan<std::optional<Item>> write_id(Write write, Time until) {
  std::vector<Write> writes = {std::move(write)};
  CommitOutcome outcome = co_await land_all(writes, 0, until);
  if (!committed(outcome)) co_return std::get<Lost>(std::move(outcome)).standing;
  co_return Item{writes[0].value, writes[0].version, writes[0].expiry};
}

// The batch where its id says, whoever wrote either. Empty if it is another's that stands there.
Plan<std::optional<AppendOutcome>> append_at(const Job& job, std::int64_t first) {
  std::optional<Item> standing;
  if (job.unexpected_at(first)) {
    const Key key{batches(job.stream), first};
    standing = co_await get(key);
    if (!standing) co_return AppendOutcome(NotNext{first});
  } else {
    std::vector<Write> writes = {job.batch_at(first)};
    CommitOutcome outcome = co_await land_all(writes, 0, job.until);
    if (committed(outcome)) co_return AppendOutcome(job.appended_at(first, false));
    standing = std::get<Lost>(std::move(outcome)).standing;
  }
  if (!standing) co_return failure(ErrorCode::corrupt, "a log's record is gone");
  const Result<LogRecord> record = decode_log(standing->value);
  if (!record) co_return std::unexpected(record.error());
  if (record->batch != job.batch) co_return std::nullopt;
  co_return AppendOutcome(job.appended_at(first, true));
}

// Id and batch by one write each (H5): the id says where the batch is to stand before it does, so
// that whoever repeats it writes it there and nowhere else. The id moves only when another's record
// stands there, for then the batch never will.
Plan<AppendOutcome> append_in_steps(Job job) {
  const Key key = batch_id_key(job.stream, job.batch);
  std::optional<Item> standing = co_await get(key);
  for (int tries = 1;; ++tries) {
    Guard guard = absent_lasting();
    if (standing) {
      const Result<std::optional<BatchId>> id = same_batch(job, *standing);
      if (!id) co_return std::unexpected(id.error());
      if (!*id) co_return OtherBatch{};
      auto answer = co_await append_at(job, (*id)->at);
      if (answer) co_return *answer;
      guard = unchanged(standing->version);
    }
    if (tries > 1) co_await back_off(tries / 2);
    const Place place = co_await next_place(job);
    if (job.unexpected_at(place.first)) co_return NotNext{place.first};
    standing = co_await write_id(job.id_at(place.first, guard), job.until);
  }
}

// Expired events go when somebody reads or trims; where nobody does, appenders do it now and then.
constexpr std::uint64_t kAppendsPerTidying = 64;

Plan<std::monostate> tidy_now_and_then(Stream stream) {
  const std::uint64_t drawn = co_await random_number();
  if (drawn % kAppendsPerTidying == 0) (void)co_await attempt(trim(stream, 0));
  co_return std::monostate{};
}

}  // namespace

Plan<AppendOutcome> append(Stream stream, std::vector<LogEvent> events, AppendRequest request,
                           KnownEnds* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<Job> job = job_of(std::move(stream), std::move(events), request, *limits, now);
  if (!job) co_return std::unexpected(std::move(job.error()));
  if (request.ttl) co_await tidy_now_and_then(job->stream);
  const bool in_steps = !job->batch.empty() && (job->stream.strategy == LogStrategy::reserve ||
                                                limits->writes_per_commit < job->write_count());
  if (in_steps) co_return co_await append_in_steps(std::move(*job));
  co_return co_await append_whole(std::move(*job), known);
}

}  // namespace once::logs
