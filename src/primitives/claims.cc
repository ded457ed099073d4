#include "once/claims.h"

#include <algorithm>

#include "primitives/claim_record.h"
#include "primitives/claim_state.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/recorded.h"
#include "primitives/store_secret.h"

namespace once::claims {
namespace {

using State = ClaimRecord::State;

constexpr Duration kMaxLease = std::chrono::days(30);
constexpr Duration kMaxTtl = std::chrono::years(10);
constexpr Duration kFirstPoll{10};
constexpr Duration kLongestPoll{500};

Result<void> check_times(Duration lease, Duration ttl) {
  if (lease < Duration(1) || lease > kMaxLease) {
    return failure(ErrorCode::invalid, "a lease is 1 ms to 30 days");
  }
  if (ttl < Duration::zero() || ttl > kMaxTtl) {
    return failure(ErrorCode::invalid, "a ttl is 0 to 10 years");
  }
  return {};
}

Result<void> check_request(const ClaimRequest& request) {
  if (request.owner.size() > kMaxLabel || request.request.size() > kMaxLabel) {
    return failure(ErrorCode::invalid, "owner and request have at most 512 bytes");
  }
  if (request.keep_abandoned < Duration::zero() || request.keep_abandoned > kMaxTtl) {
    return failure(ErrorCode::invalid, "what is abandoned is kept for 0s to 10 years");
  }
  return check_times(request.lease, request.ttl);
}

// A caller that wants a key.
struct Claimant {
  ClaimRequest request;
  Bytes payload_hash;
  std::uint64_t random;
  const StoreSecret* secret;

  Claimed claimed_from(const Key& key, ClaimRecord record, Version version) const {
    const bool whole = !record.previous;
    const OpenTicket ticket{.record = std::move(record), .version = version, .whole = whole};
    const ClaimRecord& claimed = ticket.record;
    return {seal(ticket, key, *secret), claimed.fence, claimed.attempt,
            claimed.lease_until,        false,         claimed.previous};
  }

  // Makes `write`, which has its key, one that takes it.
  void prepare(Write& write, Value value, const ClaimRecord& busy, Guard guard) const {
    write.guard = guard;
    write.value = std::move(value);
    write.expiry = expiry_of_busy(busy, request.keep_abandoned);
    write.version = {};
    // It expires, and yet is nothing that a full store may evict (docs/hazards.md#h17).
    write.pinned = true;
  }

  // The record of a claim that follows `last`, or of the first one.
  ClaimRecord record_after(const ClaimRecord* last, const Key& key, Time now) const {
    const bool same_try =
        last != nullptr && (last->state == State::busy || last->state == State::free);
    const std::int64_t past_fence = last != nullptr ? last->fence + 1 : 1;
    const std::int64_t fence = std::max<std::int64_t>(past_fence, now.time_since_epoch().count());
    return {.state = State::busy,
            .fence = fence,
            .attempt = same_try ? last->attempt + 1 : 1,
            .nonce = nonce_for(random, fence, key, *secret),
            .owner = request.owner,
            .request = request.request,
            .payload_hash = payload_hash,
            .ttl = request.ttl,
            .claimed = now,
            .lease_until = later(now, request.lease),
            .previous = last != nullptr ? failure_before(*last, now) : std::nullopt};
  }

  static std::optional<EarlierFailure> failure_before(const ClaimRecord& last, Time now) {
    if (last.state == State::busy) return last.previous;
    if (!has_failure(last, now)) return std::nullopt;
    return EarlierFailure{last.result, last.completed, last.attempt};
  }

  bool differs_from(const ClaimRecord& record) const {
    return !payload_hash.empty() && !record.payload_hash.empty() &&
           payload_hash != record.payload_hash;
  }

  // The answer if `record` prevents the claim; empty if the key may be taken.
  std::optional<ClaimOutcome> answer(const Key& key, const ClaimRecord& record, Version version,
                                     Time now, Duration clock_error) const {
    const bool finished = has_outcome(record, now) && !is_old_mark(record);
    const bool ours = record.state == State::busy && !request.request.empty() &&
                      record.request == request.request;
    if (!finished && !ours && !is_held(record, now, clock_error)) return std::nullopt;
    if (differs_from(record)) return Mismatch{};
    if (finished) return Done{record.result, record.completed, record.state == State::failed};
    if (ours) {
      Claimed again = claimed_from(key, record, version);
      again.repeated = true;
      return again;
    }
    return Busy{record.owner, record.lease_until, record.claimed};
  }
};

// Moves the mark of a seen id to where such marks are, before a claim takes its place.
Plan<std::monostate> move_mark(Key claim, ClaimRecord mark) {
  Write moved = put(keys::seen_of_claim(claim), encode_mark(mark), absent(), expiry_of_mark(mark));
  co_await commit_resolved(moved);  // If it is there already, that is as good.
  co_return std::monostate();
}

// Free again after an attempt that failed: its failure is kept for the ttl of the claim.
ClaimRecord free_with_failure(ClaimRecord record, Bytes failure, Time now) {
  record = with_outcome(std::move(record), State::free, std::move(failure), now);
  record.request.clear();
  record.payload_hash.clear();
  return record;
}

// How a ticket's holder changes its record.
using Settlement = std::function<ClaimRecord(ClaimRecord record, Time now)>;

// The answer if the claim was settled before; empty if it can still be settled.
std::optional<SettleOutcome> answer_if_settled(const ClaimRecord& current,
                                               const ClaimRecord& wanted) {
  if (current.state == State::busy) return std::nullopt;
  const bool same = current.state == State::free || current.result == wanted.result;
  if (current.state == wanted.state && same) return Settled{true};
  return current.state == State::free ? SettleOutcome(Fenced{}) : SettleOutcome(Mismatch{});
}

// A ticket that its holder uses.
struct UsedTicket {
  const Key& key;
  OpenTicket& open;
  const StoreSecret& secret;

  // The answer if `current` decides; empty if the claim, which is then as `current` says, can still
  // be settled.
  Result<std::optional<SettleOutcome>> look_at(const std::optional<Item>& current,
                                               const ClaimRecord& wanted) {
    if (!current) return Fenced{};
    Result<ClaimRecord> record = decode_claim(*current);
    if (!record) return std::unexpected(std::move(record.error()));
    if (!is_ticket_of(open, *record, key, secret)) return Fenced{};
    if (auto before = answer_if_settled(*record, wanted)) return before;
    open.record = std::move(*record);
    open.version = current->version;
    return std::nullopt;
  }
};

// Applies `settlement` to the claim that `ticket` proves. Renewals since then changed its version,
// but not its holder (docs/hazards.md#h14). One that stays busy is kept for `keep_abandoned`.
Plan<SettleOutcome> settle(Key key, Ticket ticket, Settlement settlement,
                           std::optional<Duration> keep_abandoned = std::nullopt) {
  const StoreSecret* secret = (co_await store_secret())->get();
  if (secret == nullptr) secret = co_await read_store_secret();
  Write write;
  write.key = std::move(key);
  Result<OpenTicket> open = unseal(ticket, write.key, *secret);
  if (open && !open->vouched) {
    // A store that was emptied has another secret now.
    secret = co_await read_store_secret();
    open = unseal(ticket, write.key, *secret);
  }
  if (!open) co_return Fenced{};
  UsedTicket used{write.key, *open, *secret};
  const bool stays_busy = keep_abandoned.has_value();
  if (!open->vouched || (stays_busy && !open->whole)) {
    const Time now = co_await store_now();
    const ClaimRecord wanted = settlement(open->record, now);
    const std::optional<Item> current = co_await get(write.key);
    const auto answer = used.look_at(current, wanted);
    if (!answer) co_return std::unexpected(answer.error());
    if (*answer) co_return **answer;
  }
  for (;;) {
    const Time now = co_await store_now();
    const ClaimRecord wanted = settlement(open->record, now);
    write.guard = unchanged(open->version);
    write.value = encode(wanted);
    write.expiry = stays_busy ? expiry_of_busy(wanted, *keep_abandoned) : expiry_of(wanted, now);
    write.version = {};
    write.pinned = stays_busy;  // What is held is nothing to evict (docs/hazards.md#h17).
    Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (is_unknown(outcome)) outcome = co_await resolve_commit(write);
    if (!outcome) co_return std::unexpected(std::move(outcome.error()));
    if (committed(*outcome)) co_return Settled{false};
    const auto answer = used.look_at(std::get<Lost>(*outcome).current, wanted);
    if (!answer) co_return std::unexpected(answer.error());
    if (*answer) co_return **answer;
  }
}

}  // namespace

Key claim_key(std::string_view name_space, std::string_view name) {
  return keys::claim(name_space, name);
}

Key seen_key(std::string_view name_space, std::string_view id) {
  return keys::seen(name_space, id);
}

// One plan, and one copy of the key: most claims are taken at the first try.
Plan<ClaimOutcome> take(Key key, ClaimRequest request) {
  if (const Result<void> ok = check_request(request); !ok) co_return std::unexpected(ok.error());
  const std::uint64_t random = co_await random_number();
  const StoreSecret* secret = (co_await store_secret())->get();
  if (secret == nullptr) secret = co_await read_store_secret();
  Bytes hash = request.payload ? hash_of(*request.payload) : Bytes();
  const Claimant claimant{std::move(request), std::move(hash), random, secret};
  const Limits* limits = co_await store_limits();
  Time now = co_await store_now();
  Write write;
  write.key = std::move(key);
  ClaimRecord wanted = claimant.record_after(nullptr, write.key, now);
  claimant.prepare(write, encode(wanted), wanted, absent_lasting());
  for (;;) {
    Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (is_unknown(outcome)) outcome = co_await resolve_commit(write);
    if (!outcome) co_return std::unexpected(std::move(outcome.error()));
    if (committed(*outcome)) {
      co_return claimant.claimed_from(write.key, std::move(wanted), write.version);
    }
    const std::optional<Item>& current = std::get<Lost>(*outcome).current;
    now = co_await store_now();
    if (!current) {
      wanted = claimant.record_after(nullptr, write.key, now);
      claimant.prepare(write, encode(wanted), wanted, absent_lasting());
      continue;
    }
    const Result<ClaimRecord> record = decode_claim(*current);
    if (!record) co_return std::unexpected(record.error());
    auto answer = claimant.answer(write.key, *record, current->version, now, limits->clock_error);
    if (answer) co_return std::move(*answer);
    if (record->fence == kNoFence) {
      co_return failure(ErrorCode::corrupt, "the claim's fence cannot rise; forget the claim");
    }
    if (is_old_mark(*record) && now < record->kept_until) co_await move_mark(write.key, *record);
    wanted = claimant.record_after(&*record, write.key, now);
    Value value = encode(wanted);
    if (std::get<Bytes>(value).size() > limits->value_bytes) {
      // The failure before it is told all the same; the next one will not know it.
      ClaimRecord shorter = wanted;
      shorter.previous.reset();
      value = encode(shorter);
    }
    claimant.prepare(write, std::move(value), wanted, unchanged(current->version));
  }
}

Plan<ClaimOutcome> take_within(Key key, ClaimRequest request, Duration wait) {
  if (wait <= Duration::zero()) co_return co_await take(std::move(key), std::move(request));
  const Time start = co_await store_now();
  const Time until = later(start, wait);
  for (Duration longest = kFirstPoll;; longest = std::min(longest * 2, kLongestPoll)) {
    ClaimOutcome outcome = co_await take(key, request);
    const Time now = co_await store_now();
    if (!std::holds_alternative<Busy>(outcome) || now >= until) co_return std::move(outcome);
    const std::uint64_t drawn = co_await random_number();
    const Duration jittered(
        1 + static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(longest.count())));
    const Result<std::monostate> waited = co_await attempt(wait_for(key, jittered, until - now));
    if (!waited) co_return std::move(outcome);  // Too many wait: the caller may come back later.
  }
}

Plan<RenewOutcome> renew(Key key, Ticket ticket, Duration lease, Duration keep_abandoned) {
  co_await go_first();
  if (const Result<void> ok = check_times(lease, {}); !ok) co_return std::unexpected(ok.error());
  Time until;
  Settlement prolong = [lease, &until](ClaimRecord record, Time now) {
    record.lease_until = until = later(now, lease);
    return record;
  };
  const SettleOutcome outcome =
      co_await settle(std::move(key), std::move(ticket), prolong, keep_abandoned);
  if (std::holds_alternative<Settled>(outcome)) co_return Renewed{until};
  co_return Fenced{};
}

Plan<SettleOutcome> complete(Key key, Ticket ticket, Bytes result) {
  Settlement finish = [result = std::move(result)](ClaimRecord record, Time now) {
    return with_outcome(std::move(record), State::done, result, now);
  };
  return settle(std::move(key), std::move(ticket), std::move(finish));
}

Plan<SettleOutcome> release(Key key, Ticket ticket, Bytes failure, Release how) {
  // Whether the key is free again does not depend on whether the store has room for the reason.
  const Limits* limits = co_await store_limits();
  constexpr std::size_t kRest = 1'024;  // At most what a record has besides.
  const bool kept = !failure.empty() && failure.size() + kMaxLabel + kRest <= limits->value_bytes;
  Settlement give_up = [&failure, how, kept](ClaimRecord record, Time now) {
    if (how == Release::final) {
      return with_outcome(std::move(record), State::failed, failure, now);
    }
    if (!kept) return free_record(record, record.nonce);
    return free_with_failure(std::move(record), failure, now);
  };
  co_return co_await settle(std::move(key), std::move(ticket), give_up);
}

Plan<bool> forget(Key key) { return forget(std::move(key), Recording{}); }

Plan<bool> forget(Key key, Recording recording) {
  for (;;) {
    const std::optional<Item> current = co_await get(key);
    if (!current) co_return false;
    const Result<ClaimRecord> record = decode_claim(*current);
    const Time now = co_await store_now();
    const Result<ClaimRecord> blank = blank_after(record, now);
    if (!blank) co_return std::unexpected(blank.error());
    if (record && !is_visible(*record, *current, now)) co_return false;
    Write write = put(key, encode(*blank), unchanged(current->version), expiry_of(*blank, now));
    const CommitOutcome outcome = co_await commit_recorded(write, recording);
    if (committed(outcome)) co_return true;
  }
}

Plan<std::optional<ClaimState>> show(Key key) {
  const std::optional<Item> current = co_await get(key);
  if (!current) co_return std::optional<ClaimState>();
  const Result<ClaimRecord> record = decode_claim(*current);
  if (!record) co_return std::unexpected(record.error());
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  co_return is_visible(*record, *current, now)
      ? std::optional(state_of(*record, now, limits->clock_error))
      : std::nullopt;
}

Result<ClaimOutcome> or_proceed(Result<ClaimOutcome> answer, IfStoreDown policy) {
  if (policy == IfStoreDown::proceed && is_transient(answer)) return Unguarded{};
  return answer;
}

Result<Seen> or_proceed(Result<Seen> answer, std::size_t ids, IfStoreDown policy) {
  if (policy == IfStoreDown::proceed && is_transient(answer)) {
    return Seen{std::vector<bool>(ids, true), false, {}};
  }
  return answer;
}

}  // namespace once::claims

namespace once {

Result<std::vector<bool>> Claims::seen(std::span<const std::string> ids, Duration ttl,
                                       std::string request, Duration within) {
  Result<claims::Seen> seen = mark(ids, ttl, std::move(request), within);
  if (!seen) return std::unexpected(std::move(seen.error()));
  return std::move(seen->first);
}

}  // namespace once
