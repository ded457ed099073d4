// seen(): marks ids. The mark of an id is a done claim without a result.
#include <absl/container/flat_hash_set.h>

#include <algorithm>

#include "once/claims.h"
#include "primitives/claim_record.h"
#include "primitives/commit_resolved.h"

namespace once::claims {
namespace {

using State = ClaimRecord::State;

// Who marked an id: this call, an equal request before, or another caller.
enum class MarkedBy : std::uint8_t { us, equal_request, other };

struct Mark {
  Duration ttl;
  std::string request;

  ClaimRecord record_after(const ClaimRecord* last, Time now) const {
    ClaimRecord record = mark_at(now, ttl);
    record.request = request;
    if (last != nullptr) record.fence = std::max(record.fence, last->fence + 1);
    return record;
  }

  Write write_on(Key key, const std::optional<Item>& current, const ClaimRecord* last,
                 Time now) const {
    const ClaimRecord record = record_after(last, now);
    const Guard guard = current ? unchanged(current->version) : absent_lasting();
    return put(std::move(key), encode(record), guard, expiry_of(record, now));
  }
};

bool is_mark(const Result<CommitOutcome>& outcome) { return outcome && committed(*outcome); }

// Who marked the key; empty if that mark expired.
std::optional<MarkedBy> marked_in(const ClaimRecord& record, const Mark& mark, Time now) {
  if (record.state == State::busy) return MarkedBy::other;
  if (record.state == State::free || now >= record.kept_until) return std::nullopt;
  const bool ours = !mark.request.empty() && record.request == mark.request;
  return ours ? MarkedBy::equal_request : MarkedBy::other;
}

// The result of the first try; empty if another one is needed.
std::optional<MarkedBy> result_of_first(const Result<CommitOutcome>& outcome, const Mark& mark,
                                        Time now) {
  if (!outcome) return std::nullopt;
  if (committed(*outcome)) return MarkedBy::us;
  const std::optional<Item>& current = std::get<Lost>(*outcome).current;
  if (!current) return std::nullopt;
  const Result<ClaimRecord> record = decode_claim(*current);
  return record ? marked_in(*record, mark, now) : std::nullopt;
}

// Marks one key after its first try had this outcome.
Plan<MarkedBy> mark_one(Write write, Result<CommitOutcome> outcome, Mark mark) {
  const bool unknown = !outcome && outcome.error().code == ErrorCode::unknown;
  if (unknown) outcome = co_await attempt(resolve_commit(write));
  for (;;) {
    if (!outcome) co_return std::unexpected(std::move(outcome.error()));
    if (committed(*outcome)) co_return MarkedBy::us;
    const std::optional<Item> current = std::get<Lost>(*outcome).current;
    const Time now = co_await store_now();
    std::optional<ClaimRecord> last;
    if (current) {
      Result<ClaimRecord> record = decode_claim(*current);
      if (!record) co_return std::unexpected(std::move(record.error()));
      const std::optional<MarkedBy> found = marked_in(*record, mark, now);
      if (found) co_return *found;
      last = std::move(*record);
    }
    write = mark.write_on(write.key, current, last ? &*last : nullptr, now);
    outcome = co_await attempt(commit_resolved(write));
  }
}

constexpr std::size_t kMaxIds = 10'000;
constexpr Duration kMaxMarkTtl = std::chrono::years(10);

Result<void> check_marks(std::size_t ids, const Mark& mark) {
  if (ids > kMaxIds) return failure(ErrorCode::invalid, "at most 10000 ids at once");
  if (mark.request.size() > kMaxLabel) {
    return failure(ErrorCode::invalid, "a request has at most 512 bytes");
  }
  if (mark.ttl < Duration::zero() || mark.ttl > kMaxMarkTtl) {
    return failure(ErrorCode::invalid, "a ttl is 0 to 10 years");
  }
  return {};
}

// `unavailable` would mean that nothing was written, which is wrong once an id is marked.
Error error_after(Error error, bool marked) {
  if (marked && error.code == ErrorCode::unavailable) error.code = ErrorCode::unknown;
  return error;
}

// Keys by value, without copies.
struct KeyHash {
  std::size_t operator()(const Key* key) const {
    return absl::HashOf(key->partition.home, key->partition.part, key->sort);
  }
};
struct SameKey {
  bool operator()(const Key* a, const Key* b) const { return *a == *b; }
};
using KeySet = absl::flat_hash_set<const Key*, KeyHash, SameKey>;

// The first try at each key.
struct FirstTries {
  std::vector<Write> writes;
  std::vector<std::size_t> indexes;  // Of the key's first occurrence in the request.
  std::vector<std::span<Write>> transactions;
};

FirstTries first_tries(std::vector<Key> keys, const Mark& mark, Time now) {
  FirstTries tries;
  tries.writes.reserve(keys.size());
  tries.indexes.reserve(keys.size());
  tries.transactions.reserve(keys.size());
  const Write sample = mark.write_on({}, std::nullopt, nullptr, now);
  // Without a request id the second of two equal keys loses to the first, as it should. With one it
  // would look like a repeat of the first.
  const bool distinct = !mark.request.empty() && keys.size() > 1;
  KeySet known;
  known.reserve(distinct ? keys.size() : 0);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!distinct || known.insert(&keys[i]).second) tries.indexes.push_back(i);
  }
  for (const std::size_t index : tries.indexes) {
    Write& write = tries.writes.emplace_back(sample);
    write.key = std::move(keys[index]);
    tries.transactions.emplace_back(&write, 1);
  }
  return tries;
}

}  // namespace

Plan<Seen> seen(std::vector<Key> keys, Duration ttl, std::string request) {
  Mark mark{ttl, std::move(request)};
  const Result<void> ok = check_marks(keys.size(), mark);
  if (!ok) co_return std::unexpected(ok.error());
  const Time now = co_await store_now();
  Seen seen{std::vector<bool>(keys.size(), false), false};
  FirstTries tries = first_tries(std::move(keys), mark, now);
  std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(tries.transactions);
  const auto marks = std::ranges::count_if(outcomes, is_mark);
  bool marked = marks > 0;
  Time then = now;
  if (marks < std::ssize(outcomes)) then = co_await store_now();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    std::optional<MarkedBy> found = result_of_first(outcomes[i], mark, then);
    if (!found) {
      Result<MarkedBy> tried =
          co_await attempt(mark_one(tries.writes[i], std::move(outcomes[i]), mark));
      if (!tried) co_return std::unexpected(error_after(tried.error(), marked));
      found = *tried;
    }
    marked = marked || *found == MarkedBy::us;
    seen.first[tries.indexes[i]] = *found != MarkedBy::other;
    seen.repeated = seen.repeated || *found == MarkedBy::equal_request;
  }
  co_return std::move(seen);
}

}  // namespace once::claims
