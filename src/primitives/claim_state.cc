#include "primitives/claim_state.h"

#include <algorithm>

namespace once::claims {
namespace {

using State = ClaimRecord::State;

ClaimState::Kind kind_of(const ClaimRecord& record, Time now, Duration clock_error) {
  using Kind = ClaimState::Kind;
  switch (record.state) {
    case State::free: return Kind::free;
    case State::busy: return is_held(record, now, clock_error) ? Kind::busy : Kind::abandoned;
    case State::done: return Kind::done;
    case State::failed: return Kind::failed;
  }
  return Kind::corrupt;
}

}  // namespace

bool has_outcome(const ClaimRecord& record, Time now) {
  return (record.state == State::done || record.state == State::failed) && now < record.kept_until;
}

bool has_failure(const ClaimRecord& record, Time now) {
  return record.state == State::free && !record.result.empty() && now < record.kept_until;
}

bool is_visible(const ClaimRecord& record, const Item& item, Time now) {
  if (is_old_mark(record)) return false;
  if (record.state == State::busy) return now < ended_at(item);
  return has_outcome(record, now) || has_failure(record, now);
}

bool is_held(const ClaimRecord& record, Time now, Duration clock_error) {
  return record.state == State::busy && now < later(record.lease_until, clock_error);
}

ClaimState state_of(const ClaimRecord& record, Time now, Duration clock_error) {
  return {kind_of(record, now, clock_error),
          record.owner,
          record.fence,
          record.attempt,
          record.claimed,
          record.lease_until,
          record.completed,
          record.kept_until,
          record.result};
}

Result<std::optional<ClaimState>> state_in(const Item& item, Time now, Duration clock_error) {
  const Result<ClaimRecord> record = decode_claim(item);
  if (!record && record.error().code == ErrorCode::corrupt) {
    return ClaimState{.kind = ClaimState::Kind::corrupt};
  }
  if (!record) return std::unexpected(record.error());
  if (!is_visible(*record, item, now)) return std::nullopt;
  return state_of(*record, now, clock_error);
}

ClaimRecord free_record(const ClaimRecord& record, std::uint64_t nonce) {
  return {.state = State::free, .fence = record.fence, .attempt = record.attempt, .nonce = nonce};
}

Result<ClaimRecord> blank_after(const Result<ClaimRecord>& last, Time now) {
  if (!last && last.error().code != ErrorCode::corrupt) return last;
  const bool has_fence = last && last->fence != kNoFence;
  const ClaimRecord known = last ? *last : ClaimRecord{};
  ClaimRecord blank = free_record(known, 0);
  if (!has_fence) blank.fence = std::max<std::int64_t>(1, now.time_since_epoch().count());
  return blank;
}

}  // namespace once::claims
