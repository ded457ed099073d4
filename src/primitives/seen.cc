// seen(): the one-shot form of a claim. A seen id is a done claim without a result.
#include <absl/container/flat_hash_set.h>

#include <algorithm>

#include "once/claims.h"
#include "primitives/claim_record.h"
#include "primitives/landing.h"

namespace once::claims {
namespace {

using State = ClaimRecord::State;

// How one id was found: marked by us, by an equal request before, or by another.
enum class Found : std::uint8_t { first, again, taken };

struct Mark {
  Duration ttl;
  std::string request;

  ClaimRecord record_after(const ClaimRecord* last, Time now) const {
    ClaimRecord record = mark_at(now, ttl);
    record.request = request;
    if (last != nullptr) record.fence = std::max(record.fence, last->fence + 1);
    return record;
  }

  Write write_on(Key key, const std::optional<Item>& standing, const ClaimRecord* last,
                 Time now) const {
    const ClaimRecord record = record_after(last, now);
    const Guard guard = standing ? unchanged(standing->version) : absent_lasting();
    return put(std::move(key), encode(record), guard, expiry_of(record, now));
  }
};

bool is_mark(const Result<CommitOutcome>& outcome) { return outcome && committed(*outcome); }

// What a lost mark lost to; nothing if the key may be marked all the same, because what it held is
// not remembered any more.
std::optional<Found> found_as(const ClaimRecord& record, const Mark& mark, Time now) {
  if (record.state == State::busy) return Found::taken;
  if (record.state == State::free || now >= record.kept_until) return std::nullopt;
  const bool ours = !mark.request.empty() && record.request == mark.request;
  return ours ? Found::again : Found::taken;
}

// What the first try came to, if it needs no other.
std::optional<Found> found_at_once(const Result<CommitOutcome>& outcome, const Mark& mark,
                                   Time now) {
  if (!outcome) return std::nullopt;
  if (committed(*outcome)) return Found::first;
  const std::optional<Item>& standing = std::get<Lost>(*outcome).standing;
  if (!standing) return std::nullopt;
  const Result<ClaimRecord> record = decode_claim(*standing);
  return record ? found_as(*record, mark, now) : std::nullopt;
}

// Marks one key whose first try came to this outcome.
Plan<Found> mark_one(Write write, Result<CommitOutcome> outcome, Mark mark) {
  const bool unknown = !outcome && outcome.error().code == ErrorCode::unknown;
  if (unknown) outcome = co_await attempt(land_again(write));
  for (;;) {
    if (!outcome) co_return std::unexpected(std::move(outcome.error()));
    if (committed(*outcome)) co_return Found::first;
    const std::optional<Item> standing = std::get<Lost>(*outcome).standing;
    const Time now = co_await store_now();
    std::optional<ClaimRecord> last;
    if (standing) {
      Result<ClaimRecord> record = decode_claim(*standing);
      if (!record) co_return std::unexpected(std::move(record.error()));
      const std::optional<Found> found = found_as(*record, mark, now);
      if (found) co_return *found;
      last = std::move(*record);
    }
    write = mark.write_on(write.key, standing, last ? &*last : nullptr, now);
    outcome = co_await attempt(land(write));
  }
}

constexpr std::size_t kMaxIds = 10'000;
constexpr Duration kMaxTtl = std::chrono::years(10);

Result<void> check_marks(std::size_t ids, const Mark& mark) {
  if (ids > kMaxIds) return failure(ErrorCode::invalid, "at most 10000 ids at once");
  if (mark.request.size() > kMaxLabel) {
    return failure(ErrorCode::invalid, "a request has at most 512 bytes");
  }
  if (mark.ttl < Duration::zero() || mark.ttl > kMaxTtl) {
    return failure(ErrorCode::invalid, "a ttl is 0 to 10 years");
  }
  return {};
}

// `unavailable` says that nothing was written, which is not so once an id is marked.
Error stopped_at(Error error, bool marked) {
  if (marked && error.code == ErrorCode::unavailable) error.code = ErrorCode::unknown;
  return error;
}

// Keys by what they are, in place.
struct KeyHash {
  std::size_t operator()(const Key* key) const {
    return absl::HashOf(key->partition.home, key->partition.part, key->sort);
  }
};
struct SameKey {
  bool operator()(const Key* a, const Key* b) const { return *a == *b; }
};
using KeySet = absl::flat_hash_set<const Key*, KeyHash, SameKey>;

// The first attempt at each key that was asked for.
struct Attempts {
  std::vector<Write> writes;
  std::vector<std::size_t> places;  // Where each was asked for first.
  std::vector<std::span<Write>> transactions;
};

Attempts attempts_at(std::vector<Key> keys, const Mark& mark, Time now) {
  Attempts attempts;
  attempts.writes.reserve(keys.size());
  attempts.places.reserve(keys.size());
  attempts.transactions.reserve(keys.size());
  const Write sample = mark.write_on({}, std::nullopt, nullptr, now);
  // Without a request the second of two equal keys loses to the first, as it should; with one it
  // would be taken for a repeat of the first.
  const bool distinct = !mark.request.empty() && keys.size() > 1;
  KeySet known;
  known.reserve(distinct ? keys.size() : 0);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!distinct || known.insert(&keys[i]).second) attempts.places.push_back(i);
  }
  for (const std::size_t place : attempts.places) {
    Write& write = attempts.writes.emplace_back(sample);
    write.key = std::move(keys[place]);
    attempts.transactions.emplace_back(&write, 1);
  }
  return attempts;
}

}  // namespace

Plan<Seen> seen(std::vector<Key> keys, Duration ttl, std::string request) {
  Mark mark{ttl, std::move(request)};
  const Result<void> ok = check_marks(keys.size(), mark);
  if (!ok) co_return std::unexpected(ok.error());
  const Time now = co_await store_now();
  Seen seen{std::vector<bool>(keys.size(), false), false};
  Attempts attempts = attempts_at(std::move(keys), mark, now);
  std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(attempts.transactions);
  const auto marks = std::ranges::count_if(outcomes, is_mark);
  bool marked = marks > 0;
  Time then = now;
  if (marks < std::ssize(outcomes)) then = co_await store_now();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    std::optional<Found> found = found_at_once(outcomes[i], mark, then);
    if (!found) {
      Result<Found> tried =
          co_await attempt(mark_one(attempts.writes[i], std::move(outcomes[i]), mark));
      if (!tried) co_return std::unexpected(stopped_at(tried.error(), marked));
      found = *tried;
    }
    marked = marked || *found == Found::first;
    seen.first[attempts.places[i]] = *found != Found::taken;
    seen.repeated = seen.repeated || *found == Found::again;
  }
  co_return std::move(seen);
}

}  // namespace once::claims
