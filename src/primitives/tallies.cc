#include "once/tallies.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/prepared_merge.h"
#include "primitives/tally_meta.h"

namespace once::tallies {
namespace {

constexpr std::size_t kMaxKnownTallies = 10'000;

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
  bool meta_changed = false;  // The tally was removed or given more time since it was read.
  bool needs_check = false;   // The bucket is not there, or has an expiry.
  std::optional<TallyValue> value;
  std::optional<Item> marker;  // The existing marker of the id, if that prevented the merge.
};

// What is written besides the bucket: first the id's marker, if there is one, then the meta's.
using Besides = std::vector<Write>;

MergeTry lost_try(Lost lost, const Besides& besides) {
  if (lost.write == besides.size()) return {.needs_check = true};
  if (besides[lost.write].key.partition.part == "m") return {.meta_changed = true};
  return {.marker = std::move(lost.current)};
}

MergeTry native_result(const PreparedMerge& merge, CommitOutcome outcome, const Besides& besides) {
  if (auto* lost = std::get_if<Lost>(&outcome)) return lost_try(std::move(*lost), besides);
  const auto& numbers = std::get<Committed>(outcome).numbers;
  if (numbers.empty() || !numbers.back()) return {.merged = true};
  return {.merged = true,
          .value = value_of(merge.kind(), state_of_native(merge.kind(), *numbers.back()))};
}

// By the store's own arithmetic. `guard` is that of the bucket.
Plan<MergeTry> try_native(const PreparedMerge* merge, Besides besides, Guard guard) {
  std::vector<Write> writes = besides;
  writes.push_back(merge->native_write(guard));
  CommitOutcome outcome = co_await commit(writes);
  co_return native_result(*merge, std::move(outcome), besides);
}

// By read, merge and write. Neither merged nor prevented: the bucket was changed meanwhile.
Plan<MergeTry> try_change(PreparedMerge* merge, Besides besides) {
  MergeResult result = MergeResult::merged;
  Change wanted = merge->change(result);
  wanted.also = std::move(besides);
  ChangeOutcome outcome = co_await change(wanted);
  if (auto* changed = std::get_if<Changed>(&outcome)) {
    co_return MergeTry{.merged = true, .value = merge->value_in(changed->current())};
  }
  auto* lost = std::get_if<Lost>(&outcome);
  co_return lost != nullptr ? lost_try(std::move(*lost), wanted.also) : MergeTry{};
}

// From here on this process knows the tally as the merge left it.
Plan<TallyOutcome> answer_merged(const PreparedMerge* merge, KnownTallies* known, MetaStep* meta,
                                 std::optional<TallyValue> value) {
  if (known != nullptr) known->learn(merge->key, std::move(meta->after));
  if (!value) value = co_await current_value(merge);
  co_return Tallied{false, std::move(value)};
}

// How a merge is tried. Each that does not do is followed by a later one.
enum class Way : std::uint8_t {
  by_bucket,  // By the store's arithmetic, if the bucket has no expiry.
  by_meta,    // By the store's arithmetic, if the meta is as it was read.
  by_change,  // By read, merge and write, if the meta is as it was read.
};

// With the marker of an id, if there is one. If the meta could not be read, its error is the
// answer.
Plan<MergeTry> try_merge(PreparedMerge* merge, const Result<MetaStep>* meta, Besides marker,
                         Way way) {
  if (!*meta) co_return std::unexpected(meta->error());
  const MetaStep& step = **meta;
  const bool bucket_alone = way == Way::by_bucket && step.stands && merge->can_rely_on_bucket();
  Besides besides = std::move(marker);
  if (!bucket_alone) std::ranges::copy(step.writes, std::back_inserter(besides));
  if (way == Way::by_change) co_return co_await try_change(merge, std::move(besides));
  const Guard guard = bucket_alone ? permanent() : anything();
  co_return co_await try_native(merge, std::move(besides), guard);
}

// A merge that may have been written is sent again only if a repeat changes nothing.
Plan<TallyOutcome> merge_without_id(PreparedMerge* merge, KnownTallies* known) {
  Way way = is_native(merge->kind()) ? Way::by_bucket : Way::by_change;
  bool sent = false;
  for (int retry = 0;; ++retry) {
    Result<MetaStep> meta = co_await attempt(plan_meta(merge, known));
    if (!meta && !sent) co_return std::unexpected(std::move(meta.error()));
    if (meta && meta->other) co_return std::move(*meta->other);
    Plan<MergeTry> plan = try_merge(merge, &meta, {}, way);
    Result<MergeTry> tried = co_await attempt(std::move(plan));
    if (tried && tried->merged) {
      co_return co_await answer_merged(merge, known, &*meta, std::move(tried->value));
    }
    if (tried && tried->needs_check) {
      way = Way::by_meta;
      continue;
    }
    if (tried && tried->meta_changed && known != nullptr) known->forget(merge->key);
    if (!tried) {
      const ErrorCode code = tried.error().code;
      if (way != Way::by_change && code == ErrorCode::invalid) {
        way = Way::by_change;  // It overflows, or the bucket holds ids beside its number.
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

// Whether the tally is still the one that the merge is planned for.
Result<bool> is_in_life(const PreparedMerge& merge, const std::optional<Item>& item) {
  if (!item) return false;
  const Result<TallyMeta> meta = decode_meta(item->value);
  if (!meta) return std::unexpected(meta.error());
  return meta->state == TallyMeta::State::live && meta->life == merge.life;
}

// The answer if the id's marker exists. Empty if what this process knows of the tally is from
// before a removal, and so the marker may be. Bucket and meta are one request.
Plan<std::optional<TallyOutcome>> answer_by_marker(PreparedMerge* merge, KnownTallies* known,
                                                   Version ours, Item marker) {
  const Result<TallyMarker> found = decode_marker(marker.value);
  if (!found) co_return std::unexpected(found.error());
  const std::int64_t bucket = std::exchange(merge->bucket, found->bucket);
  const std::array<Key, 2> keys = {merge->bucket_key(), keys::tally_meta(merge->key)};
  const std::span<const Key> wanted(keys.data(), known != nullptr ? 2 : 1);
  const Result<std::vector<std::optional<Item>>> items = co_await attempt(get(wanted));
  // Our own marker shows that the merge was made, whether the rest can be read or not.
  const bool is_ours = marker.version == ours;
  if (known != nullptr && (items || !is_ours)) {
    if (!items) co_return std::unexpected(items.error());
    const Result<bool> stands = is_in_life(*merge, items->at(1));
    if (!stands) co_return std::unexpected(stands.error());
    if (!*stands) {
      known->forget(merge->key);
      merge->bucket = bucket;
      co_return std::optional<TallyOutcome>();
    }
  }
  if (!merge->same_input(*found)) co_return TallyOutcome(TallyMismatch{});
  std::optional<TallyValue> value;
  if (items) value = merge->value_in(items->at(0));
  co_return TallyOutcome(Tallied{!is_ours, std::move(value)});
}

// Marker and bucket are one commit. The marker prevents a second one. If the tally was removed
// after a try whose reply was lost, nobody can tell whether that was merged before.
Plan<TallyOutcome> merge_with_marker(PreparedMerge* merge, KnownTallies* known) {
  const Version version = co_await fresh_version();
  Way way = is_native(merge->kind()) ? Way::by_bucket : Way::by_change;
  bool sent = false;
  for (int retry = 0;; ++retry) {
    const std::uint64_t life = merge->life;
    Result<MetaStep> meta = co_await attempt(plan_meta(merge, known));
    if (!meta && !sent) co_return std::unexpected(std::move(meta.error()));
    if (meta && sent && (meta->other || merge->life != life)) co_return outcome_unknown();
    if (meta && meta->other) co_return std::move(*meta->other);
    Write marker = merge->marker();
    marker.version = version;
    Besides besides = {marker};
    Plan<MergeTry> plan = try_merge(merge, &meta, std::move(besides), way);
    Result<MergeTry> tried = co_await attempt(std::move(plan));
    if (tried && tried->merged) {
      co_return co_await answer_merged(merge, known, &*meta, std::move(tried->value));
    }
    if (tried && tried->needs_check) {
      way = Way::by_meta;
      continue;
    }
    std::optional<Item> current = tried ? std::move(tried->marker) : std::nullopt;
    if (!tried) {
      sent = sent || tried.error().code == ErrorCode::unknown;
      if (!sent && tried.error().code == ErrorCode::invalid && way != Way::by_change) {
        way = Way::by_change;
        continue;
      }
      if (!sent) co_return std::unexpected(tried.error());
    }
    const bool meta_changed = tried && tried->meta_changed;
    if (meta_changed && known != nullptr) known->forget(merge->key);
    if (!current) {
      co_await back_off(retry);
      Result<std::optional<Item>> read = co_await attempt(get(marker.key));
      if (read) current = std::move(*read);
    }
    if (current) {
      Result<std::optional<TallyOutcome>> answer =
          co_await attempt(answer_by_marker(merge, known, version, std::move(*current)));
      if (!answer) co_return sent ? outcome_unknown() : std::unexpected(std::move(answer.error()));
      if (*answer) co_return std::move(**answer);
    }
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
  return Tallied{result == MergeResult::replayed, merge.value_in(changed.current())};
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
  // Empty if the tally is removed.
  static Result<std::optional<BucketTotal>> start(const Item& meta, const MonoidPtr& own,
                                                  Time now) {
    const Result<TallyMeta> found = decode_meta(meta.value);
    if (!found) return std::unexpected(found.error());
    if (found->state != TallyMeta::State::live) return std::nullopt;
    std::optional<NamedMonoid> named = monoid_named(found->monoid, own);
    if (!named) return failure(ErrorCode::invalid, "reading needs the monoid " + found->monoid);
    Bytes state = named->monoid->identity();
    return BucketTotal{std::move(*named), found->window, found->life, std::move(state), now};
  }

  Result<void> add(std::int64_t start, const Item& item) {
    const Result<TallyBucket> bucket = decode_bucket(item, named.kind, *named.monoid);
    if (!bucket) return std::unexpected(bucket.error());
    if (bucket->until <= now) return {};
    any = true;
    if (rows != nullptr) {
      if (rows->size() == kMaxRows) {
        return failure(ErrorCode::too_large, "a series has at most 100,000 buckets");
      }
      rows->push_back({Time(Duration(start)), value_of(named.kind, bucket->state)});
      return {};
    }
    return named.monoid->merge_into(state, bucket->state);
  }

  TallyReading reading() const { return {named.kind, window, value_of(named.kind, state)}; }

  NamedMonoid named;
  TallyWindow window;
  std::uint64_t life;
  Bytes state;
  Time now;
  bool any = false;                               // Some bucket was met.
  std::vector<TallySeries::Row>* rows = nullptr;  // If they are wanted one by one.
};

std::int64_t millis(Time time) { return time.time_since_epoch().count(); }

// With `last`: the buckets that end after its beginning, and have begun.
TallyRange resolved(const TallyRange& range, TallyWindow window, Time now) {
  if (!range.last) return range;
  const Duration since = now.time_since_epoch();
  const Duration back = *range.last + window.length;
  return {Time(std::max(since - back, Duration(-1)) + Duration(1)), now + Duration(1)};
}

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
      if (Result<void> added = total->add(entry.sort, entry.item); !added) {
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

// Whether any bucket is left, in whatever range.
Plan<bool> has_bucket(Key key) {
  const Limits* limits = co_await store_limits();
  ScanRequest request = buckets_in(key, {}, *limits);
  request.limit = 1;
  const ScanPage page = co_await scan(request);
  co_return !page.entries.empty();
}

// Adds the buckets of the range. `bucket` is the only one if there is no window. False if all of
// the tally has expired.
Plan<bool> add_range(Key key, BucketTotal* total, std::optional<Item> bucket, TallyRange range,
                     ReadBudget* budget) {
  if (total->window == TallyWindow::none) {
    if (!bucket) co_return false;
    if (Result<void> added = total->add(0, *bucket); !added) {
      co_return std::unexpected(std::move(added.error()));
    }
    co_return total->any;
  }
  const TallyRange wanted = resolved(range, total->window, total->now);
  co_await add_windows(key, wanted, total, budget);
  if (total->any) co_return true;
  if (!wanted.from && !wanted.to) co_return false;
  co_return co_await has_bucket(std::move(key));
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

// Of the tally; 0 where there is none, or no sound one.
std::uint64_t life_in(const std::optional<Item>& meta) {
  if (!meta) return 0;
  const Result<TallyMeta> found = decode_meta(meta->value);
  return found ? found->life : 0;
}

// The metas of several tallies tell whether their buckets may be read. One tally is never too
// large, so its two items are read together, in the hope that it is the first of its name.
Plan<HeldTallies> get_tallies(std::vector<Key> keys, ReadBudget* budget) {
  std::vector<Key> metas;
  for (const Key& key : keys) metas.push_back(keys::tally_meta(key));
  if (keys.size() == 1) {
    std::vector<Key> both = {metas[0], keys[0]};
    std::vector<std::optional<Item>> held = co_await get_all(std::move(both));
    if (const std::uint64_t life = life_in(held[0]); life != 0) {
      const Key bucket = keys::tally_bucket(keys[0], life);
      held[1] = co_await get(bucket);
    }
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
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = keys::tally_bucket(keys[i], life_in(tallies.metas[i]));
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
  if (meta->state != TallyMeta::State::live || meta->same_shape(merge->shape())) {
    co_return std::optional<OtherTally>();
  }
  co_return std::optional<OtherTally>(OtherTally{meta->monoid, meta->window});
}

Plan<TallyOutcome> merge(Key key, TallyRequest request, KnownTallies* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<PreparedMerge> merge = prepare_merge(std::move(key), std::move(request), now, *limits);
  if (!merge) co_return std::unexpected(merge.error());
  merge->nonce = co_await random_number();
  if (limits->may_forget) known = nullptr;
  if (!merge->has_id()) co_return co_await merge_without_id(&*merge, known);
  if (!merge->ids_in_bucket) co_return co_await merge_with_marker(&*merge, known);
  MetaStep meta = co_await plan_meta(&*merge, known);
  if (meta.other) co_return std::move(*meta.other);
  co_return co_await merge_with_id_in_bucket(&*merge);
}

Plan<std::vector<std::optional<TallyReading>>> read_each(std::vector<KeyedRange> reads,
                                                         std::shared_ptr<const Monoid> own,
                                                         std::size_t most_bytes) {
  if (reads.size() > kMaxReads) co_return failure(ErrorCode::invalid, "at most 10,000 tallies");
  std::map<Key, std::size_t> at;  // Where each tally is.
  std::vector<Key> wanted;
  for (const KeyedRange& read : reads) {
    if (at.try_emplace(read.key, wanted.size()).second) wanted.push_back(read.key);
  }
  ReadBudget budget(most_bytes);
  const HeldTallies held = co_await get_tallies(wanted, &budget);
  const Time now = co_await store_now();
  std::map<KeyedRange, std::size_t> first;  // Which answer has it already.
  std::vector<std::optional<TallyReading>> answers;
  answers.reserve(reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto [known, is_new] = first.try_emplace(reads[i], i);
    if (!is_new) {
      answers.push_back(answers[known->second]);
      continue;
    }
    answers.emplace_back();
    const std::size_t which = at.at(reads[i].key);
    if (!held.metas[which]) continue;
    Result<std::optional<BucketTotal>> total = BucketTotal::start(*held.metas[which], own, now);
    if (!total) co_return std::unexpected(total.error());
    if (!*total) continue;
    Key buckets = keys::tally_bucket(reads[i].key, (*total)->life);
    const bool exists = co_await add_range(std::move(buckets), &**total, held.buckets[which],
                                           reads[i].range, &budget);
    if (exists) answers.back() = (*total)->reading();
  }
  co_return std::move(answers);
}

Plan<std::vector<std::optional<TallyReading>>> read_all(std::vector<Key> keys, TallyRange range,
                                                        std::shared_ptr<const Monoid> own,
                                                        std::size_t most_bytes) {
  std::vector<KeyedRange> reads;
  reads.reserve(keys.size());
  for (Key& key : keys) reads.push_back({std::move(key), range});
  co_return co_await read_each(std::move(reads), std::move(own), most_bytes);
}

Plan<std::optional<TallyReading>> read(Key key, TallyRange range, std::shared_ptr<const Monoid> own,
                                       std::size_t most_bytes) {
  std::vector<Key> keys = {std::move(key)};
  auto readings = co_await read_all(std::move(keys), range, std::move(own), most_bytes);
  co_return std::move(readings.front());
}

Plan<std::optional<TallySeries>> series(Key key, TallyRange range,
                                        std::shared_ptr<const Monoid> own, std::size_t most_bytes) {
  ReadBudget budget(most_bytes);
  std::vector<Key> keys = {key};
  const HeldTallies held = co_await get_tallies(std::move(keys), &budget);
  const Time now = co_await store_now();
  if (!held.metas[0]) co_return std::optional<TallySeries>();
  Result<std::optional<BucketTotal>> total = BucketTotal::start(*held.metas[0], own, now);
  if (!total) co_return std::unexpected(total.error());
  if (!*total) co_return std::optional<TallySeries>();
  TallySeries found{(*total)->named.kind, (*total)->window, {}};
  (*total)->rows = &found.rows;
  Key buckets = keys::tally_bucket(key, (*total)->life);
  const bool exists =
      co_await add_range(std::move(buckets), &**total, held.buckets[0], range, &budget);
  if (!exists) co_return std::optional<TallySeries>();
  std::ranges::sort(found.rows, {}, &TallySeries::Row::at);
  co_return std::move(found);
}

class KnownTallies::Metas {
 public:
  std::optional<Item> find(const Key& tally) const {
    const Lock lock(mutex_);
    const auto found = metas_.find(tally.partition.home);
    return found != metas_.end() ? std::optional(found->second) : std::nullopt;
  }

  void learn(const Key& tally, Item meta) {
    const Lock lock(mutex_);
    // Forgetting a tally costs one get, so it does not matter which ones go.
    if (metas_.size() >= kMaxKnownTallies) metas_.clear();
    metas_[tally.partition.home] = std::move(meta);
  }

  void forget(const Key& tally) {
    const Lock lock(mutex_);
    metas_.erase(tally.partition.home);
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, Item> metas_ ONCE_GUARDED_BY(mutex_);
};

KnownTallies::KnownTallies() : metas_(std::make_unique<Metas>()) {}
KnownTallies::~KnownTallies() = default;

std::optional<Item> KnownTallies::find(const Key& tally) const { return metas_->find(tally); }
void KnownTallies::learn(const Key& tally, Item meta) { metas_->learn(tally, std::move(meta)); }
void KnownTallies::forget(const Key& tally) { metas_->forget(tally); }

}  // namespace once::tallies
