#include "primitives/landing.h"
#include "primitives/log_stream.h"

namespace once::logs {
namespace {

constexpr int kMaxVoids = 10'000;  // Of one call.

// The highest index that was reserved.
Plan<std::int64_t> reserved(Stream stream) {
  const Key key = head_key(stream);
  const std::optional<Item> counter = co_await get(key);
  if (!counter) co_return 0;
  const auto* last = std::get_if<std::int64_t>(&counter->value);
  if (last == nullptr) co_return failure(ErrorCode::corrupt, "a log's counter is not a number");
  co_return *last;
}

}  // namespace

// A void takes one index, if nothing stands there, in ascending order, and what is found there is
// jumped over whole (H3). So a void stands either where a range begins, which its appender then
// loses, or inside a range whose first index is void already: never beside a batch that covers it.
Plan<std::int64_t> heal(Stream stream, Duration grace) {
  if (stream.strategy != LogStrategy::reserve) {
    co_return failure(ErrorCode::invalid, "only a log that reserves has holes");
  }
  if (grace < Duration::zero()) co_return failure(ErrorCode::invalid, "grace is not negative");
  const std::int64_t last = co_await reserved(stream);
  std::int64_t at = co_await end_of(stream);
  if (at > last) co_return 0;
  co_await pause(grace);
  std::int64_t voids = 0;
  for (int tries = 0; at <= last && tries < kMaxVoids; ++tries) {
    const Time now = co_await store_now();
    const LogRecord record{.state = LogRecord::State::blank, .count = 1, .appended = now};
    Write write = put({batches(stream), at}, encode(record), absent_lasting());
    const CommitOutcome outcome = co_await land(write);
    if (committed(outcome)) {
      ++voids;
      ++at;
      continue;
    }
    const std::optional<Item>& standing = std::get<Lost>(outcome).standing;
    if (!standing) co_return failure(ErrorCode::corrupt, "a log's record is gone");
    const Result<LogRecord> found = decode_log(standing->value);
    if (!found) co_return std::unexpected(found.error());
    at += found->count;
  }
  co_return voids;
}

}  // namespace once::logs
