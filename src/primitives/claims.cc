#include "once/claims.h"

#include <algorithm>
#include <limits>
#include <set>

#include "primitives/claim_record.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
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
  return check_times(request.lease, request.ttl);
}

bool has_outcome(const ClaimRecord& record, Time now) {
  return (record.state == State::done || record.state == State::failed) && now < record.kept_until;
}

// Busy, or with an outcome that is still kept.
bool is_visible(const ClaimRecord& record, Time now) {
  return record.state == State::busy || has_outcome(record, now);
}

bool is_held(const ClaimRecord& record, Time now, Duration clock_error) {
  return record.state == State::busy && now < later(record.lease_until, clock_error);
}

// A fence at the end of its range is none that a claim was given.
constexpr std::int64_t kNoFence = std::numeric_limits<std::int64_t>::max();

std::int64_t fence_at(Time now) {
  return std::max<std::int64_t>(1, now.time_since_epoch().count());
}

// A caller that wants a key.
struct Claimant {
  ClaimRequest request;
  Bytes payload_hash;
  std::uint64_t random;
  Key key;
  const StoreSecret* secret;

  Claimed claimed_from(const ClaimRecord& record, Version version) const {
    return {seal({record, version}, key, *secret), record.fence, record.attempt,
            record.lease_until};
  }

  // The record of a claim that follows `last`, or of the first one.
  ClaimRecord record_after(const ClaimRecord* last, Time now) const {
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
            .lease_until = later(now, request.lease)};
  }

  bool differs_from(const ClaimRecord& record) const {
    return !payload_hash.empty() && !record.payload_hash.empty() &&
           payload_hash != record.payload_hash;
  }

  // The answer if `record` prevents the claim; empty if the key may be taken.
  std::optional<ClaimOutcome> answer(const ClaimRecord& record, Version version, Time now,
                                     Duration clock_error) const {
    const bool finished = has_outcome(record, now);
    const bool ours = record.state == State::busy && !request.request.empty() &&
                      record.request == request.request;
    if (!finished && !ours && !is_held(record, now, clock_error)) return std::nullopt;
    if (differs_from(record)) return Mismatch{};
    if (finished) return Done{record.result, record.completed, record.state == State::failed};
    if (ours) {
      Claimed again = claimed_from(record, version);
      again.repeated = true;
      return again;
    }
    return Busy{record.owner, record.lease_until, record.claimed};
  }
};

Plan<ClaimOutcome> take_as(Claimant claimant) {
  const Key& key = claimant.key;
  const Limits* limits = co_await store_limits();
  Time now = co_await store_now();
  ClaimRecord wanted = claimant.record_after(nullptr, now);
  Write write = put(key, encode(wanted), absent_lasting());
  for (;;) {
    const CommitOutcome outcome = co_await commit_resolved(write);
    if (committed(outcome)) co_return claimant.claimed_from(wanted, write.version);
    const std::optional<Item>& current = std::get<Lost>(outcome).current;
    now = co_await store_now();
    if (!current) {
      wanted = claimant.record_after(nullptr, now);
      write = put(key, encode(wanted), absent_lasting());
      continue;
    }
    const Result<ClaimRecord> record = decode_claim(*current);
    if (!record) co_return std::unexpected(record.error());
    auto answer = claimant.answer(*record, current->version, now, limits->clock_error);
    if (answer) co_return std::move(*answer);
    if (record->fence == kNoFence) {
      co_return failure(ErrorCode::corrupt, "the claim's fence cannot rise; forget the claim");
    }
    wanted = claimant.record_after(&*record, now);
    write = put(key, encode(wanted), unchanged(current->version));
  }
}

// How a ticket's holder changes its record.
using Settlement = std::function<ClaimRecord(ClaimRecord record, Time now)>;

// The answer if the claim was settled before; empty if it can still be settled.
std::optional<SettleOutcome> answer_if_settled(const ClaimRecord& current,
                                               const ClaimRecord& wanted) {
  if (current.state == State::busy) return std::nullopt;
  if (current.state == wanted.state && current.result == wanted.result) return Settled{true};
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
// but not its holder (docs/hazards.md#h14).
Plan<SettleOutcome> settle(Key key, Ticket ticket, Settlement settlement) {
  const StoreSecret* secret = (co_await store_secret())->get();
  if (secret == nullptr) secret = co_await read_store_secret();
  Result<OpenTicket> open = unseal(ticket, key, *secret);
  if (open && !open->vouched) {
    // A store that was emptied has another secret now.
    secret = co_await read_store_secret();
    open = unseal(ticket, key, *secret);
  }
  if (!open) co_return Fenced{};
  UsedTicket used{key, *open, *secret};
  if (!open->vouched) {
    const Time now = co_await store_now();
    const ClaimRecord wanted = settlement(open->record, now);
    const std::optional<Item> current = co_await get(key);
    const auto answer = used.look_at(current, wanted);
    if (!answer) co_return std::unexpected(answer.error());
    if (*answer) co_return **answer;
  }
  for (;;) {
    const Time now = co_await store_now();
    const ClaimRecord wanted = settlement(open->record, now);
    Write write = put(key, encode(wanted), unchanged(open->version), expiry_of(wanted, now));
    const CommitOutcome outcome = co_await commit_resolved(write);
    if (committed(outcome)) co_return Settled{false};
    const auto answer = used.look_at(std::get<Lost>(outcome).current, wanted);
    if (!answer) co_return std::unexpected(answer.error());
    if (*answer) co_return **answer;
  }
}

// Keeps only what later claims need. The nonce identifies a holder that releases twice.
ClaimRecord free_record(const ClaimRecord& record, std::uint64_t nonce) {
  return {.state = State::free, .fence = record.fence, .attempt = record.attempt, .nonce = nonce};
}

// What a forgotten claim leaves. A damaged one tells no fence: then the time is higher than any
// that was given before. One of a newer version of Once is not touched.
Result<ClaimRecord> blank_after(const Result<ClaimRecord>& last, Time now) {
  if (!last && last.error().code != ErrorCode::corrupt) return last;
  const bool has_fence = last && last->fence != kNoFence;
  const ClaimRecord known = last ? *last : ClaimRecord{};
  ClaimRecord blank = free_record(known, 0);
  if (!has_fence) blank.fence = fence_at(now);
  return blank;
}

ClaimState state_of(const ClaimRecord& record) {
  const auto kind = record.state == State::busy   ? ClaimState::Kind::busy
                    : record.state == State::done ? ClaimState::Kind::done
                                                  : ClaimState::Kind::failed;
  return {kind,           record.owner,       record.fence,     record.attempt,
          record.claimed, record.lease_until, record.completed, record.kept_until,
          record.result};
}

}  // namespace

Key claim_key(std::string_view name_space, std::string_view name) {
  return keys::claim(name_space, name);
}

Plan<ClaimOutcome> take(Key key, ClaimRequest request) {
  if (const Result<void> ok = check_request(request); !ok) co_return std::unexpected(ok.error());
  const std::uint64_t random = co_await random_number();
  const StoreSecret* secret = (co_await store_secret())->get();
  if (secret == nullptr) secret = co_await read_store_secret();
  Bytes hash = request.payload ? hash_of(*request.payload) : Bytes();
  Claimant claimant{std::move(request), std::move(hash), random, std::move(key), secret};
  co_return co_await take_as(std::move(claimant));
}

Plan<ClaimOutcome> take_within(Key key, ClaimRequest request, Duration wait) {
  const Time start = co_await store_now();
  const Time until = later(start, wait);
  for (Duration longest = kFirstPoll;; longest = std::min(longest * 2, kLongestPoll)) {
    ClaimOutcome outcome = co_await take(key, request);
    const Time now = co_await store_now();
    if (!std::holds_alternative<Busy>(outcome) || now >= until) co_return std::move(outcome);
    const std::uint64_t drawn = co_await random_number();
    const Duration jittered(
        1 + static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(longest.count())));
    co_await pause(std::min(jittered, until - now));
  }
}

Plan<RenewOutcome> renew(Key key, Ticket ticket, Duration lease) {
  co_await go_first();
  if (const Result<void> ok = check_times(lease, {}); !ok) co_return std::unexpected(ok.error());
  Time until;
  Settlement prolong = [lease, &until](ClaimRecord record, Time now) {
    record.lease_until = until = later(now, lease);
    return record;
  };
  const SettleOutcome outcome = co_await settle(std::move(key), std::move(ticket), prolong);
  if (std::holds_alternative<Settled>(outcome)) co_return Renewed{until};
  co_return Fenced{};
}

Plan<SettleOutcome> complete(Key key, Ticket ticket, Bytes result) {
  Settlement finish = [&result](ClaimRecord record, Time now) {
    return with_outcome(std::move(record), State::done, result, now);
  };
  co_return co_await settle(std::move(key), std::move(ticket), finish);
}

Plan<SettleOutcome> release(Key key, Ticket ticket, Bytes failure, Release how) {
  Settlement give_up = [&failure, how](ClaimRecord record, Time now) {
    if (how == Release::retryable) return free_record(record, record.nonce);
    return with_outcome(std::move(record), State::failed, failure, now);
  };
  co_return co_await settle(std::move(key), std::move(ticket), give_up);
}

Plan<bool> forget(Key key) {
  for (;;) {
    const std::optional<Item> current = co_await get(key);
    if (!current) co_return false;
    const Result<ClaimRecord> record = decode_claim(*current);
    const Time now = co_await store_now();
    const Result<ClaimRecord> blank = blank_after(record, now);
    if (!blank) co_return std::unexpected(blank.error());
    if (record && !is_visible(*record, now)) co_return false;
    Write write = put(key, encode(*blank), unchanged(current->version), expiry_of(*blank, now));
    const CommitOutcome outcome = co_await commit_resolved(write);
    if (committed(outcome)) co_return true;
  }
}

Plan<std::optional<ClaimState>> show(Key key) {
  const std::optional<Item> current = co_await get(key);
  if (!current) co_return std::optional<ClaimState>();
  const Result<ClaimRecord> record = decode_claim(*current);
  if (!record) co_return std::unexpected(record.error());
  const Time now = co_await store_now();
  co_return is_visible(*record, now) ? std::optional(state_of(*record)) : std::nullopt;
}

Plan<ClaimPage> list(std::string name_space, std::optional<ClaimState::Kind> kind,
                     std::string cursor, std::size_t limit) {
  const ListRequest request{keys::claim_prefix(name_space), std::move(cursor), limit};
  ListPage found = co_await once::list(request);
  const Time now = co_await store_now();
  ClaimPage page{{}, std::move(found.cursor)};
  for (const ListPage::Listed& listed : found.items) {
    const Result<ClaimRecord> record = decode_claim(listed.item);
    const bool corrupt = !record && record.error().code == ErrorCode::corrupt;
    if (!record && !corrupt) co_return std::unexpected(record.error());
    if (record && !is_visible(*record, now)) continue;
    ClaimState state = record ? state_of(*record) : ClaimState{.kind = ClaimState::Kind::corrupt};
    if (kind && state.kind != *kind) continue;
    page.claims.push_back(
        {std::string(keys::name_in(listed.key.partition.home)), std::move(state)});
  }
  co_return std::move(page);
}

Result<ClaimOutcome> or_proceed(Result<ClaimOutcome> answer, IfStoreDown policy) {
  if (policy == IfStoreDown::proceed && is_transient(answer)) return Unguarded{};
  return answer;
}

Result<Seen> or_proceed(Result<Seen> answer, std::size_t ids, IfStoreDown policy) {
  if (policy == IfStoreDown::proceed && is_transient(answer)) {
    return Seen{std::vector<bool>(ids, true), false};
  }
  return answer;
}

}  // namespace once::claims
