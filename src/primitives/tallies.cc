#include "once/tallies.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/prepared_merge.h"

namespace once::tallies {
namespace {

constexpr std::size_t kMaxKnownTallies = 10'000;

// The tally's meta, which becomes `wanted` if there was none (docs/hazards.md#h21).
Plan<TallyMeta> fix_meta(Key key, TallyMeta wanted) {
  std::optional<Item> current = co_await get(key);
  while (!current) {
    Write first = put(key, encode(wanted), absent_lasting());
    CommitOutcome outcome = co_await commit_resolved(first);
    if (committed(outcome)) co_return std::move(wanted);
    current = std::move(std::get<Lost>(outcome).current);
  }
  co_return decode_meta(current->value);
}

// The bucket's current value. Empty if it cannot be read: the merge has succeeded all the same.
Plan<std::optional<TallyValue>> current_value(const PreparedMerge* merge) {
  const Key key = merge->bucket_key();
  const Result<std::optional<Item>> current = co_await attempt(get(key));
  co_return current ? merge->value_in(*current) : std::nullopt;
}

std::unexpected<Error> outcome_unknown() {
  return failure(ErrorCode::unknown, "an earlier try may still take effect");
}

// The result of one try at a merge.
struct MergeTry {
  bool merged = false;
  std::optional<TallyValue> value;
  std::optional<Item> marker;  // The existing marker of the id, if that prevented the merge.
};

MergeTry native_result(const PreparedMerge& merge, CommitOutcome outcome) {
  if (auto* lost = std::get_if<Lost>(&outcome)) return {false, {}, std::move(lost->current)};
  const auto& numbers = std::get<Committed>(outcome).numbers;
  if (numbers.empty() || !numbers.back()) return {true, {}, {}};
  return {true, value_of(merge.kind(), state_of_native(merge.kind(), *numbers.back())), {}};
}

// By the store's own arithmetic, together with the id's marker if there is one.
Plan<MergeTry> try_native(const PreparedMerge* merge, std::vector<Write> marker) {
  std::vector<Write> writes = std::move(marker);
  writes.push_back(merge->native_write());
  CommitOutcome outcome = co_await commit(writes);
  co_return native_result(*merge, std::move(outcome));
}

// By read, merge and write. Neither merged nor prevented by a marker: the bucket was changed
// meanwhile.
Plan<MergeTry> try_change(PreparedMerge* merge, std::vector<Write> marker) {
  MergeResult result = MergeResult::merged;
  Change wanted = merge->change(result);
  wanted.also = std::move(marker);
  ChangeOutcome outcome = co_await change(wanted);
  if (auto* changed = std::get_if<Changed>(&outcome)) {
    co_return MergeTry{true, merge->value_in(changed->current), {}};
  }
  auto* lost = std::get_if<Lost>(&outcome);
  co_return MergeTry{false, {}, lost != nullptr ? std::move(lost->current) : std::nullopt};
}

Plan<TallyOutcome> answer_merged(const PreparedMerge* merge, std::optional<TallyValue> value,
                                 bool replayed) {
  if (!value) value = co_await current_value(merge);
  co_return Tallied{replayed, std::move(value)};
}

// A merge that may have been written is sent again only if a repeat changes nothing.
Plan<TallyOutcome> merge_without_id(PreparedMerge* merge) {
  const std::vector<Write> unmarked;
  bool native = is_native(merge->kind());
  bool sent = false;
  for (int retry = 0;; ++retry) {
    Plan<MergeTry> plan = native ? try_native(merge, unmarked) : try_change(merge, unmarked);
    Result<MergeTry> tried = co_await attempt(std::move(plan));
    if (tried && tried->merged) {
      co_return co_await answer_merged(merge, std::move(tried->value), false);
    }
    if (!tried) {
      const ErrorCode code = tried.error().code;
      if (native && code == ErrorCode::invalid) {
        native = false;  // It overflows, or the bucket holds ids beside its number.
        continue;
      }
      sent = sent || (code == ErrorCode::unknown && merge->monoid->idempotent());
      if (!sent) co_return std::unexpected(tried.error());
      if (!is_transient(code)) co_return outcome_unknown();
    }
    co_await back_off(retry);
    merge->now = co_await store_now();  // The bucket's ttl counts from the change that is stored.
  }
}

// The answer if the id's marker exists.
Plan<TallyOutcome> answer_by_marker(PreparedMerge* merge, Version ours, Item marker) {
  const Result<TallyMarker> found = decode_marker(marker.value);
  if (!found) co_return std::unexpected(found.error());
  if (!merge->same_input(*found)) co_return TallyMismatch{};
  merge->bucket = found->bucket;
  co_return co_await answer_merged(merge, std::nullopt, marker.version != ours);
}

// Marker and bucket are one commit. The marker prevents a second one.
Plan<TallyOutcome> merge_with_marker(PreparedMerge* merge) {
  Write marker = merge->marker();
  marker.version = co_await fresh_version();
  std::vector<Write> also = {marker};
  bool native = is_native(merge->kind());
  bool sent = false;
  for (int retry = 0;; ++retry) {
    Plan<MergeTry> plan = native ? try_native(merge, also) : try_change(merge, also);
    Result<MergeTry> tried = co_await attempt(std::move(plan));
    if (tried && tried->merged) {
      co_return co_await answer_merged(merge, std::move(tried->value), false);
    }
    std::optional<Item> current = tried ? std::move(tried->marker) : std::nullopt;
    if (!tried) {
      sent = sent || tried.error().code == ErrorCode::unknown;
      if (!sent && tried.error().code == ErrorCode::invalid && native) {
        native = false;
        continue;
      }
      if (!sent) co_return std::unexpected(tried.error());
    }
    if (!current) {
      co_await back_off(retry);
      Result<std::optional<Item>> read = co_await attempt(get(marker.key));
      if (read) current = std::move(*read);
    }
    if (current) co_return co_await answer_by_marker(merge, marker.version, std::move(*current));
    if (!tried && tried.error().code == ErrorCode::invalid) co_return outcome_unknown();
  }
}

// Fixes the id's bucket before anything is merged, so that every retry uses the same
// (docs/hazards.md#h20). False if the id was used for another input.
Plan<bool> pin_bucket(PreparedMerge* merge) {
  for (;;) {
    Write marker = merge->marker();
    const CommitOutcome outcome = co_await commit_resolved(marker);
    if (committed(outcome)) co_return true;
    const std::optional<Item>& current = std::get<Lost>(outcome).current;
    if (!current) continue;
    const Result<TallyMarker> found = decode_marker(current->value);
    if (!found) co_return std::unexpected(found.error());
    if (!merge->same_input(*found)) co_return false;
    merge->bucket = found->bucket;
    merge->kept_until = found->kept_until;
    co_return true;
  }
}

TallyOutcome outcome_of(const PreparedMerge& merge, MergeResult result, const Changed& changed) {
  if (result == MergeResult::mismatch) return TallyMismatch{};
  if (result == MergeResult::full) return TooManyIds{};
  return Tallied{result == MergeResult::replayed, merge.value_in(changed.current)};
}

// The bucket holds the id. A try with an unknown outcome is repeated: the repeat finds the id if
// the first was written, and once the repeat is written the first cannot be.
Plan<TallyOutcome> merge_with_id_in_bucket(PreparedMerge* merge) {
  if (merge->has_window()) {
    const bool same_input = co_await pin_bucket(merge);
    if (!same_input) co_return TallyMismatch{};
  }
  MergeResult result = MergeResult::merged;
  Change wanted = merge->change(result);
  bool sent = false;
  for (int retry = 0;; ++retry) {
    const Result<ChangeOutcome> outcome = co_await attempt(change(wanted));
    if (outcome) {
      const auto* changed = std::get_if<Changed>(&*outcome);
      if (changed != nullptr) co_return outcome_of(*merge, result, *changed);
    } else {
      sent = sent || outcome.error().code == ErrorCode::unknown;
      if (!sent || outcome.error().code == ErrorCode::invalid) {
        co_return std::unexpected(outcome.error());
      }
    }
    co_await back_off(retry);
  }
}

// A tally being read, and the total of its buckets so far.
struct BucketTotal {
  static Result<BucketTotal> start(const Item& meta, const MonoidPtr& own, Time now) {
    const Result<TallyMeta> found = decode_meta(meta.value);
    if (!found) return std::unexpected(found.error());
    std::optional<NamedMonoid> named = monoid_named(found->monoid, own);
    if (!named) return failure(ErrorCode::invalid, "reading needs the monoid " + found->monoid);
    Bytes state = named->monoid->identity();
    return BucketTotal{std::move(*named), found->window, std::move(state), now};
  }

  Result<void> add(const Item& item) {
    const Result<TallyBucket> bucket = decode_bucket(item, named.kind, *named.monoid);
    if (!bucket) return std::unexpected(bucket.error());
    if (bucket->until <= now) return {};
    Result<Bytes> merged = named.monoid->merge(state, bucket->state);
    if (!merged) return std::unexpected(std::move(merged.error()));
    state = std::move(*merged);
    return {};
  }

  TallyReading reading() const { return {named.kind, window, value_of(named.kind, state)}; }

  NamedMonoid named;
  TallyWindow window;
  Bytes state;
  Time now;
};

std::int64_t millis(Time time) { return time.time_since_epoch().count(); }

ScanRequest buckets_in(const Key& key, const TallyRange& range, const Limits& limits) {
  ScanRequest request{.partition = key.partition};
  if (range.from) request.first = std::max<std::int64_t>(0, millis(*range.from));
  if (range.to) request.last = std::max<std::int64_t>(0, millis(*range.to)) - 1;
  request.direction = limits.scans_ascending ? Direction::ascending : Direction::descending;
  return request;
}

// How much one call may still read.
class ReadBudget {
 public:
  explicit ReadBudget(std::size_t bytes) : left_(bytes) {}

  Result<void> take(std::size_t bytes) {
    if (bytes > left_)
      return failure(ErrorCode::too_large, "the tallies are too large for one call");
    left_ -= bytes;
    return {};
  }

 private:
  std::size_t left_;
};

std::size_t bytes_in(const Item& item) {
  const auto* bytes = std::get_if<Bytes>(&item.value);
  return bytes != nullptr ? bytes->size() : sizeof(std::int64_t);
}

Plan<std::monostate> add_windows(Key key, TallyRange range, BucketTotal* total,
                                 ReadBudget* budget) {
  const Limits* limits = co_await store_limits();
  ScanRequest request = buckets_in(key, range, *limits);
  while (request.first <= request.last) {
    const ScanPage page = co_await scan(request);
    for (const Entry& entry : page.entries) {
      if (Result<void> ok = budget->take(bytes_in(entry.item)); !ok) {
        co_return std::unexpected(std::move(ok.error()));
      }
      if (Result<void> added = total->add(entry.item); !added) {
        co_return std::unexpected(std::move(added.error()));
      }
    }
    if (!page.more || page.entries.empty()) break;
    if (request.direction == Direction::ascending) {
      request.first = page.entries.back().sort + 1;
    } else {
      request.last = page.entries.back().sort - 1;
    }
  }
  co_return std::monostate{};
}

// `bucket` is its only one if it has no window.
Plan<TallyReading> read_one(Key key, BucketTotal total, std::optional<Item> bucket,
                            TallyRange range, ReadBudget* budget) {
  if (total.window != TallyWindow::none) {
    co_await add_windows(std::move(key), range, &total, budget);
  } else if (bucket) {
    if (Result<void> added = total.add(*bucket); !added) {
      co_return std::unexpected(std::move(added.error()));
    }
  }
  co_return total.reading();
}

// The items at the keys, as many at once as the store allows.
Plan<std::vector<std::optional<Item>>> get_all(std::vector<Key> keys) {
  const Limits* limits = co_await store_limits();
  const std::span<const Key> wanted = keys;
  std::vector<std::optional<Item>> found;
  for (std::size_t at = 0; at < wanted.size(); at += limits->keys_per_get) {
    const std::span<const Key> some =
        wanted.subspan(at, std::min(limits->keys_per_get, wanted.size() - at));
    std::vector<std::optional<Item>> part = co_await get(some);
    std::ranges::move(part, std::back_inserter(found));
  }
  co_return std::move(found);
}

struct HeldTallies {
  std::vector<std::optional<Item>> metas;
  std::vector<std::optional<Item>> buckets;
};

// How large the bucket can be, by the name of its monoid. 0 with a window: its buckets are counted
// as they are read.
std::size_t most_bytes_in(const std::optional<Item>& meta) {
  const Result<TallyMeta> found =
      meta ? decode_meta(meta->value) : failure(ErrorCode::corrupt, "none");
  if (!found || found->window != TallyWindow::none) return 0;
  return most_bytes_named(found->monoid);
}

// The metas of several tallies tell whether their buckets may be read. One tally is never too
// large, so its two items are read together.
Plan<HeldTallies> get_tallies(std::vector<Key> keys, ReadBudget* budget) {
  std::vector<Key> metas;
  for (const Key& key : keys) metas.push_back(keys::tally_meta(key));
  if (keys.size() == 1) {
    std::vector<Key> both = {metas[0], keys[0]};
    std::vector<std::optional<Item>> held = co_await get_all(std::move(both));
    HeldTallies one;
    one.metas.push_back(std::move(held[0]));
    one.buckets.push_back(std::move(held[1]));
    co_return std::move(one);
  }
  HeldTallies tallies;
  tallies.metas = co_await get_all(std::move(metas));
  for (const std::optional<Item>& meta : tallies.metas) {
    if (Result<void> ok = budget->take(most_bytes_in(meta)); !ok) {
      co_return std::unexpected(std::move(ok.error()));
    }
  }
  tallies.buckets = co_await get_all(std::move(keys));
  co_return std::move(tallies);
}

}  // namespace

Key tally_key(std::string_view name_space, std::string_view name) {
  return keys::tally(name_space, name);
}

Plan<std::optional<OtherTally>> other_than(Key key, TallyRequest request) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<PreparedMerge> merge = prepare_merge(std::move(key), std::move(request), now, *limits);
  if (!merge) co_return std::unexpected(merge.error());
  const Key meta_key = keys::tally_meta(merge->key);
  const std::optional<Item> current = co_await get(meta_key);
  if (!current) co_return std::optional<OtherTally>();
  const Result<TallyMeta> meta = decode_meta(current->value);
  if (!meta) co_return std::unexpected(meta.error());
  if (*meta == merge->meta()) co_return std::optional<OtherTally>();
  co_return std::optional<OtherTally>(OtherTally{meta->monoid, meta->window});
}

Plan<TallyOutcome> merge(Key key, TallyRequest request, KnownTallies* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<PreparedMerge> merge = prepare_merge(std::move(key), std::move(request), now, *limits);
  if (!merge) co_return std::unexpected(merge.error());
  merge->nonce = co_await random_number();
  if (limits->may_forget) known = nullptr;
  Bytes meta = encode(merge->meta());
  if (known == nullptr || !known->holds(merge->key, meta)) {
    const TallyMeta current = co_await fix_meta(keys::tally_meta(merge->key), merge->meta());
    if (current != merge->meta()) co_return OtherTally{current.monoid, current.window};
    if (known != nullptr) known->learn(merge->key, std::move(meta));
  }
  if (!merge->has_id()) co_return co_await merge_without_id(&*merge);
  if (merge->ids_in_bucket) co_return co_await merge_with_id_in_bucket(&*merge);
  co_return co_await merge_with_marker(&*merge);
}

Plan<std::vector<std::optional<TallyReading>>> read_all(std::vector<Key> keys, TallyRange range,
                                                        std::shared_ptr<const Monoid> own,
                                                        std::size_t most_bytes) {
  if (keys.size() > kMaxReads) co_return failure(ErrorCode::invalid, "at most 10,000 tallies");
  std::map<Key, std::size_t> first;  // Where each tally is read.
  std::vector<Key> wanted;
  for (const Key& key : keys) {
    if (first.try_emplace(key, wanted.size()).second) wanted.push_back(key);
  }
  ReadBudget budget(most_bytes);
  const HeldTallies held = co_await get_tallies(wanted, &budget);
  const Time now = co_await store_now();
  std::vector<std::optional<TallyReading>> readings(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!held.metas[i]) continue;
    Result<BucketTotal> total = BucketTotal::start(*held.metas[i], own, now);
    if (!total) co_return std::unexpected(total.error());
    readings[i] = co_await read_one(wanted[i], std::move(*total), held.buckets[i], range, &budget);
  }
  if (wanted.size() == keys.size()) co_return std::move(readings);
  std::vector<std::optional<TallyReading>> answers;
  answers.reserve(keys.size());
  for (const Key& key : keys) answers.push_back(readings[first.at(key)]);
  co_return std::move(answers);
}

Plan<std::optional<TallyReading>> read(Key key, TallyRange range,
                                       std::shared_ptr<const Monoid> own) {
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  std::vector<Key> keys = {std::move(key)};
  auto readings = co_await read_all(std::move(keys), range, std::move(own), kAny);
  co_return std::move(readings.front());
}

class KnownTallies::Metas {
 public:
  bool holds(const Key& tally, const Bytes& meta) const {
    const Lock lock(mutex_);
    const auto found = metas_.find(tally.partition.home);
    return found != metas_.end() && found->second == meta;
  }

  void learn(const Key& tally, Bytes meta) {
    const Lock lock(mutex_);
    // Forgetting a tally costs one get, so it does not matter which ones go.
    if (metas_.size() >= kMaxKnownTallies) metas_.clear();
    metas_[tally.partition.home] = std::move(meta);
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, Bytes> metas_ ONCE_GUARDED_BY(mutex_);
};

KnownTallies::KnownTallies() : metas_(std::make_unique<Metas>()) {}
KnownTallies::~KnownTallies() = default;

bool KnownTallies::holds(const Key& tally, const Bytes& meta) const {
  return metas_->holds(tally, meta);
}

void KnownTallies::learn(const Key& tally, Bytes meta) { metas_->learn(tally, std::move(meta)); }

}  // namespace once::tallies
