#include "primitives/log_life_number.h"

#include <algorithm>

#include "primitives/commit_resolved.h"

namespace once::logs {
namespace {

constexpr int kRaiseLifeTries = 1'000;

// Longer than a write can be on its way, by any clock. In this last part of its time the number is
// not made to last: that might arrive when others have seen it end, and begun at 0.
constexpr Duration kLastPart = std::chrono::hours(1);
static_assert(kLifeKept - kLastPart > kEndKept);

}  // namespace

Write pinned(Write write) {
  write.pinned = true;
  return write;
}

// A number that is about to end is ended at once: if that arrives late, nothing is there any more.
// Each of these writes may be sent again, because its own arrival makes its guard fail.
Plan<bool> hold_life(Stream stream, LifeNumber life) {
  if (life.expiry == kNever) co_return true;
  const Time now = co_await store_now();
  const bool is_over = life.expiry <= later(now, kLastPart);
  const Guard guard = unchanged(life.version);
  Write write =
      is_over ? erase(life_key(stream), guard) : put(life_key(stream), life.number, guard);
  const Result<CommitOutcome> outcome = co_await attempt(commit(write));
  if (!outcome && !is_unknown(outcome)) co_return std::unexpected(outcome.error());
  co_return outcome&& committed(*outcome) && !is_over;
}

Plan<std::monostate> raise_life(Stream stream, std::int64_t next, Recording recording) {
  for (int tries = 0; tries < kRaiseLifeTries; ++tries) {
    const LifeNumber life = co_await read_life(stream);
    if (life.number != stream.life) co_return std::monostate{};
    const Time now = co_await store_now();
    const Guard guard = life.version ? unchanged(life.version) : absent();
    Write raised = pinned(put(life_key(stream), next, guard, later(now, kLifeKept)));
    const CommitOutcome outcome = co_await commit_recorded(raised, recording);
    if (committed(outcome)) co_return std::monostate{};
    co_await back_off(std::min(tries, 3));
  }
  co_return failure(ErrorCode::unavailable, "others were always faster");
}

}  // namespace once::logs
