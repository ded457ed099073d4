// seen(): marks ids. A mark is a record that is done, and was never claimed.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "once/claims.h"
#include "primitives/claim_record.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/recorded.h"
#include "primitives/store_secret.h"

namespace once::claims {
namespace {

using State = ClaimRecord::State;

// Who marked an id: this call, an equal request before, or another caller. And when.
enum class MarkedBy : std::uint8_t { us, equal_request, other };
struct Marking {
  MarkedBy by;
  Time at;
};

struct Mark {
  Duration ttl;
  std::string request;

  Write write_on(Key key, const std::optional<Item>& current, Time now) const {
    const Guard guard = current ? unchanged(current->version) : absent_lasting();
    if (request.empty()) {
      if (const auto plain = plain_mark(now, ttl)) {
        return put(std::move(key), plain->value, guard, plain->expiry);
      }
    }
    ClaimRecord record = mark_at(now, ttl);
    record.request = request;
    return put(std::move(key), encode_mark(record), guard, expiry_of_mark(record));
  }
};

bool was_made(const Result<CommitOutcome>& outcome) { return outcome && committed(*outcome); }

bool is_kept(const ClaimRecord& record, Time now) {
  return record.state == State::done && now < record.kept_until;
}

// Who marked the key; empty if that mark expired or was forgotten.
std::optional<Marking> marked_in(const ClaimRecord& record, const Mark& mark, Time now) {
  if (!is_kept(record, now)) return std::nullopt;
  const bool ours = !mark.request.empty() && record.request == mark.request;
  return Marking{ours ? MarkedBy::equal_request : MarkedBy::other, record.completed};
}

// The result of the first try, at `tried`; empty if another one is needed.
std::optional<Marking> result_of_first(const Result<CommitOutcome>& outcome, const Mark& mark,
                                       Time tried, Time now) {
  if (!outcome) return std::nullopt;
  if (committed(*outcome)) return Marking{MarkedBy::us, tried};
  const std::optional<Item>& current = std::get<Lost>(*outcome).current;
  if (!current) return std::nullopt;
  const Result<ClaimRecord> record = decode_mark(*current);
  return record ? marked_in(*record, mark, now) : std::nullopt;
}

// Marks one key after its first try, at `tried`, had this outcome.
Plan<Marking> mark_one(Write write, Result<CommitOutcome> outcome, Mark mark, Time tried) {
  const bool unknown = !outcome && outcome.error().code == ErrorCode::unknown;
  if (unknown) outcome = co_await attempt(resolve_commit(write));
  for (;;) {
    if (!outcome) co_return std::unexpected(std::move(outcome.error()));
    if (committed(*outcome)) co_return Marking{MarkedBy::us, tried};
    const std::optional<Item> current = std::get<Lost>(*outcome).current;
    const Time now = co_await store_now();
    if (current) {
      const Result<ClaimRecord> record = decode_mark(*current);
      if (!record) co_return std::unexpected(record.error());
      const std::optional<Marking> found = marked_in(*record, mark, now);
      if (found) co_return *found;
    }
    tried = now;
    write = mark.write_on(write.key, current, now);
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

// The first try at each key that is not known to be marked.
struct FirstTries {
  std::vector<Write> writes;
  std::vector<std::size_t> indexes;  // Of the keys, each as often as it is tried.
  std::vector<std::span<Write>> transactions;
};

FirstTries first_tries(std::span<const Key> keys, std::span<const std::optional<Marking>> known,
                       const Mark& mark, Time now) {
  FirstTries tries;
  tries.writes.reserve(keys.size());
  tries.indexes.reserve(keys.size());
  tries.transactions.reserve(keys.size());
  const Write sample = mark.write_on({}, std::nullopt, now);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!known.empty() && known[i]) continue;
    tries.indexes.push_back(i);
    Write& write = tries.writes.emplace_back(sample);
    write.key = keys[i];
    tries.transactions.emplace_back(&write, 1);
  }
  return tries;
}

// The keys, each once, and where each of those asked for is among them.
struct Distinct {
  std::vector<Key> keys;
  std::vector<std::size_t> index;
};

Distinct distinct_of(std::vector<Key> keys) {
  Distinct distinct;
  absl::flat_hash_map<const Key*, std::size_t, KeyHash, SameKey> known;
  known.reserve(keys.size());
  distinct.index.reserve(keys.size());
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [at, fresh] = known.try_emplace(&keys[i], first.size());
    if (fresh) first.push_back(i);
    distinct.index.push_back(at->second);
  }
  distinct.keys.reserve(first.size());
  for (const std::size_t i : first) distinct.keys.push_back(std::move(keys[i]));
  return distinct;
}

Plan<bool> may_have_old_marks() {
  const StoreSecret* secret = (co_await store_secret())->get();
  if (secret == nullptr) secret = co_await read_store_secret();
  co_return secret->old_marks;
}

Result<ClaimRecord> decode_old_mark(const Item& item) {
  Result<ClaimRecord> record = decode_claim(item);
  if (record && !is_old_mark(*record)) return ClaimRecord{};  // A claim, which nobody meant.
  return record;
}

// Leaves a blank in place of a mark, so that a writer of the mark that does not know its outcome
// yet finds that it is no longer there.
Plan<bool> forget_mark(Key key, Result<ClaimRecord> (*decode)(const Item& item),
                       Recording recording) {
  for (;;) {
    const std::optional<Item> current = co_await get(key);
    if (!current) co_return false;
    const Result<ClaimRecord> record = decode(*current);
    const bool corrupt = !record && record.error().code == ErrorCode::corrupt;
    if (!record && !corrupt) co_return std::unexpected(record.error());
    const Time now = co_await store_now();
    if (record && !is_kept(*record, now)) co_return false;
    const std::int64_t fence = now.time_since_epoch().count();
    const ClaimRecord blank{.fence = record ? record->fence : fence};
    Write write = put(key, encode(blank), unchanged(current->version), later(now, kReplyMemory));
    const CommitOutcome outcome = co_await commit_recorded(write, recording);
    if (committed(outcome)) co_return true;
  }
}

// The mark of this id that an earlier version put where claims are; nothing if there is none.
std::optional<ClaimRecord> old_mark_in(const std::optional<Item>& item) {
  if (!item) return std::nullopt;
  Result<ClaimRecord> record = decode_claim(*item);
  if (!record || !is_old_mark(*record)) return std::nullopt;
  return std::move(*record);
}

// Who marked these keys under an earlier version. Empty if the store is younger than that.
Plan<std::vector<std::optional<Marking>>> marked_before(std::span<const Key> keys, Mark mark) {
  std::vector<std::optional<Marking>> marked;
  if (!co_await may_have_old_marks()) co_return std::move(marked);
  const Limits* const limits = co_await store_limits();
  for (std::size_t done = 0; done < keys.size();) {
    std::vector<Key> claims;
    for (const Key& key : keys.subspan(done, std::min(keys.size() - done, limits->keys_per_get))) {
      claims.push_back(keys::claim_of_seen(key));
    }
    done += claims.size();
    const std::vector<std::optional<Item>> items = co_await get(claims);
    const Time now = co_await store_now();
    for (const std::optional<Item>& item : items) {
      const std::optional<ClaimRecord> record = old_mark_in(item);
      marked.push_back(record ? marked_in(*record, mark, now) : std::nullopt);
    }
  }
  co_return std::move(marked);
}

}  // namespace

namespace {

Seen told(const Marking& one) {
  return {{one.by != MarkedBy::other}, one.by == MarkedBy::equal_request, {one.at}};
}

// The usual call: without the lists that several ids need.
Plan<Seen> seen_one(Key key, Mark mark) {
  const Result<void> ok = check_marks(1, mark);
  if (!ok) co_return std::unexpected(ok.error());
  const StoreSecret* secret = (co_await store_secret())->get();
  if (secret == nullptr) secret = co_await read_store_secret();
  if (secret->old_marks) {
    const std::vector<std::optional<Marking>> before = co_await marked_before({&key, 1}, mark);
    if (!before.empty() && before[0]) co_return told(*before[0]);
  }
  const Time now = co_await store_now();
  Write write = mark.write_on(std::move(key), std::nullopt, now);
  Result<CommitOutcome> outcome = co_await attempt(commit(write));
  Time then = now;
  if (!was_made(outcome)) then = co_await store_now();
  const std::optional<Marking> first = result_of_first(outcome, mark, now, then);
  if (first) co_return told(*first);
  const Marking one = co_await mark_one(std::move(write), std::move(outcome), mark, now);
  co_return told(one);
}

Plan<Seen> seen_each(std::vector<Key> keys, Mark mark) {
  const Result<void> ok = check_marks(keys.size(), mark);
  if (!ok) co_return std::unexpected(ok.error());
  const Distinct distinct = distinct_of(std::move(keys));
  const std::span<const Key> wanted(distinct.keys);
  std::vector<std::optional<Marking>> found = co_await marked_before(wanted, mark);
  const Time now = co_await store_now();
  FirstTries tries = first_tries(wanted, found, mark, now);
  found.resize(wanted.size());
  std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(tries.transactions);
  const auto made = std::ranges::count_if(outcomes, was_made);
  bool marked = made > 0;
  Time then = now;
  if (made < std::ssize(outcomes)) then = co_await store_now();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    std::optional<Marking>& one = found[tries.indexes[i]];
    one = result_of_first(outcomes[i], mark, now, then);
    if (one) continue;
    const Result<Marking> tried =
        co_await attempt(mark_one(tries.writes[i], std::move(outcomes[i]), mark, now));
    if (!tried) co_return std::unexpected(error_after(tried.error(), marked));
    one = *tried;
    marked = marked || tried->by == MarkedBy::us;
  }
  Seen seen;
  std::vector<bool> told(wanted.size(), false);
  for (const std::size_t index : distinct.index) {
    const Marking& one = *found[index];
    seen.first.push_back(one.by != MarkedBy::other && !told[index]);
    seen.at.push_back(one.at);
    seen.repeated = seen.repeated || one.by == MarkedBy::equal_request;
    told[index] = true;
  }
  co_return std::move(seen);
}

}  // namespace

Plan<Seen> seen(std::vector<Key> keys, Duration ttl, std::string request) {
  Mark mark{ttl, std::move(request)};
  if (keys.size() == 1) return seen_one(std::move(keys[0]), std::move(mark));
  return seen_each(std::move(keys), std::move(mark));
}

Plan<std::optional<SeenMark>> show_seen(Key key) {
  std::optional<Item> item = co_await get(key);
  const Time now = co_await store_now();
  std::optional<ClaimRecord> record;
  if (item) {
    Result<ClaimRecord> decoded = decode_mark(*item);
    if (!decoded) co_return std::unexpected(std::move(decoded.error()));
    record = std::move(*decoded);
  }
  const bool here = record && is_kept(*record, now);
  if (!here && co_await may_have_old_marks()) {
    const Key before = keys::claim_of_seen(key);
    item = co_await get(before);
    record = old_mark_in(item);
  }
  if (!record || !is_kept(*record, now)) co_return std::optional<SeenMark>();
  co_return std::optional(SeenMark{record->completed, record->kept_until});
}

Plan<bool> forget_seen(Key key) { return forget_seen(std::move(key), Recording{}); }

Plan<bool> forget_seen(Key key, Recording recording) {
  bool found = co_await forget_mark(key, decode_mark, recording);
  if (co_await may_have_old_marks()) {
    const Key before = keys::claim_of_seen(key);
    found = co_await forget_mark(before, decode_old_mark, recording) || found;
  }
  co_return found;
}

}  // namespace once::claims
