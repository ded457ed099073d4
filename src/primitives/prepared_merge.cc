#include "primitives/prepared_merge.h"

#include <algorithm>

#include "primitives/keys.h"
#include "primitives/sketches/bloom.h"

namespace once::tallies {
namespace {

constexpr Duration kMaxTallyTtl = std::chrono::years(10);
constexpr std::size_t kRecordRoom = 64;  // A bucket's record adds at most that to its state.

Result<void> check_times(const TallyRequest& request) {
  if (request.ttl && (*request.ttl < Duration(1) || *request.ttl > kMaxTallyTtl)) {
    return failure(ErrorCode::invalid, "a ttl is 1 ms to 10 years");
  }
  if (request.id_ttl < kAttemptLife || request.id_ttl > kMaxTallyTtl) {
    return failure(ErrorCode::invalid, "an id's ttl is 1 minute to 10 years");
  }
  if (request.at && *request.at < Time{}) {
    return failure(ErrorCode::invalid, "`at` lies before 1970");
  }
  return {};
}

Result<void> check_request(const TallyRequest& request) {
  if (!is_window(request.shape.window)) {
    return failure(ErrorCode::invalid,
                   "a window is at least 1 s and divides a day, or is a multiple of a day");
  }
  if (!request.id.empty()) {
    if (Result<void> ok = keys::check_name(request.id); !ok) return ok;
  }
  return check_times(request);
}

// Checked before the first write, so that no tally exists whose bucket or marker cannot be written.
Result<void> check_fit(const PreparedMerge& merge, const Limits& limits) {
  // A filter is sparse at first, and must fit when it is full.
  const std::size_t full =
      merge.kind() == TallyKind::bloom ? most_bytes_of(merge.request.shape) : 0;
  if (std::max(merge.input.size(), full) + kRecordRoom > limits.value_bytes) {
    return failure(ErrorCode::too_large, "too large for a value of this store");
  }
  const Partition longest = merge.id_key().partition;
  if (longest.home.size() + longest.part.size() > limits.partition_bytes) {
    return failure(ErrorCode::invalid, "key and id are too long for this store");
  }
  return {};
}

}  // namespace

Key PreparedMerge::bucket_key() const { return keys::tally_bucket(key, life, bucket); }

Key PreparedMerge::id_key() const { return keys::tally_id(key, life, request.id); }

// With a margin, so that a tally in use changes its meta every few minutes only. It is longer than
// any attempt: on a store where meta and bucket are two commits, the meta stays until the bucket is
// written.
TallyMeta PreparedMerge::meta_after(const std::optional<TallyMeta>& current,
                                    bool one_commit) const {
  TallyMeta next = shape();
  if (current) {
    next.life = current->life;
    next.ids_until = current->ids_until;
  }
  const bool is_live = current && current->state == TallyMeta::State::live;
  const Time needed = bucket_expiry();
  next.buckets_until = later(needed, kMetaMargin);
  if (is_live) {
    // A raise that raises nothing leaves the bucket's expiry as it is.
    const bool raises = traits_of(kind()).native == NativeMerge::raise;
    const bool shortens =
        one_commit && !has_window() && !raises && current->buckets_until == kNever;
    if (current->buckets_until >= needed && !(shortens && needed != kNever)) {
      next.buckets_until = current->buckets_until;
    }
  }
  if (has_id() && next.ids_until < kept_until) next.ids_until = later(kept_until, kMetaMargin);
  return next;
}

Result<PreparedMerge> prepare_merge(Key key, TallyRequest request, Time now, const Limits& limits) {
  if (Result<void> ok = check_request(request); !ok) return std::unexpected(std::move(ok.error()));
  Result<MonoidPtr> monoid = monoid_of(request.shape);
  if (!monoid) return std::unexpected(std::move(monoid.error()));
  Result<Bytes> input = state_of(request.shape, **monoid, request.input);
  if (!input) return std::unexpected(std::move(input.error()));
  PreparedMerge merge;
  merge.key = std::move(key);
  merge.request = std::move(request);
  merge.monoid = std::move(*monoid);
  merge.input = std::move(*input);
  if (Result<void> ok = check_fit(merge, limits); !ok)
    return std::unexpected(std::move(ok.error()));
  merge.now = now;
  merge.kept_until = later(now, merge.request.id_ttl);
  merge.clock_error = limits.clock_error;
  merge.ids_in_bucket = merge.has_id() && limits.writes_per_commit == 1;
  if (merge.has_window()) {
    const Duration since = merge.request.at.value_or(now).time_since_epoch();
    merge.bucket = (since - since % merge.request.shape.window.length).count();
    if (merge.bucket_expiry() <= now) {
      return failure(ErrorCode::invalid, "`at` lies before all that is retained");
    }
  }
  return merge;
}

Time PreparedMerge::bucket_expiry() const {
  if (!request.ttl) return kNever;
  if (!has_window()) return later(now, *request.ttl);
  return later(later(Time(Duration(bucket)), request.shape.window.length), *request.ttl);
}

// Hashes are stored, so a filter is hashed in the one form that it always had.
Bytes PreparedMerge::input_hash() const {
  if (kind() != TallyKind::bloom) return hash_of_input(monoid->name(), input);
  return hash_of_input(monoid->name(), sketches::Bloom::decode(input)->encode_dense());
}

Write PreparedMerge::marker() const {
  return put(id_key(), encode(TallyMarker{input_hash(), bucket, kept_until}), absent_lasting(),
             kept_until);
}

bool PreparedMerge::can_rely_on_bucket() const {
  return is_native(kind()) && !has_window() && bucket_expiry() == kNever;
}

Write PreparedMerge::native_write(Guard guard) const {
  const std::int64_t number = native_of(kind(), input);
  const bool adds = traits_of(kind()).native == NativeMerge::add;
  return adds ? add(bucket_key(), number, guard, bucket_expiry())
              : raise(bucket_key(), number, guard, bucket_expiry());
}

Change PreparedMerge::change(MergeResult& result) {
  return {.key = bucket_key(),
          .apply = [this, &result](const auto& current) { return edit(current, result); },
          .also = {},
          .part = ids_in_bucket ? nullptr : this,
          .weight = input.size()};
}

// States can be merged in any grouping: the inputs first, because they are small.
Apply PreparedMerge::joined(std::span<Joinable* const> parts) {
  const auto cached = std::make_shared<CachedValue>();
  PreparedMerge joint = *this;
  joint.input = monoid->identity();
  for (Joinable* part : parts) {
    auto* const merge = dynamic_cast<PreparedMerge*>(part);
    if (merge == nullptr || merge->monoid->name() != monoid->name()) return {};
    if (!monoid->merge_into(joint.input, merge->input)) return {};
    merge->cached_ = cached;
  }
  return [joint = std::move(joint)](const auto& current) {
    MergeResult result = MergeResult::merged;
    return joint.edit(current, result);
  };
}

Result<Edit> PreparedMerge::edit(const std::optional<Item>& current, MergeResult& result) const {
  TallyBucket bucket_now{monoid->identity(), kNever, {}};
  if (current) {
    Result<TallyBucket> decoded = decode_bucket(*current, kind(), *monoid);
    if (!decoded) return std::unexpected(std::move(decoded.error()));
    bucket_now = std::move(*decoded);
    if (bucket_now.until <= now) bucket_now.state = monoid->identity();
  }
  // Kept until they have expired by every clock.
  std::erase_if(bucket_now.ids,
                [&](const InnerId& id) { return later(id.kept_until, clock_error) <= now; });
  result = ids_in_bucket ? add_id(bucket_now.ids) : MergeResult::merged;
  if (result != MergeResult::merged) return Keep{};
  if (Result<void> ok = monoid->merge_into(bucket_now.state, input); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  bucket_now.until = bucket_expiry();
  return Replace{encode(bucket_now, kind()), expiry_of(bucket_now)};
}

MergeResult PreparedMerge::add_id(std::vector<InnerId>& ids) const {
  const auto found = std::ranges::find(ids, request.id, &InnerId::id);
  if (found == ids.end()) {
    if (ids.size() >= kMaxInnerIds) return MergeResult::full;
    ids.push_back({request.id, input_hash(), nonce, kept_until});
    return MergeResult::merged;
  }
  if (found->input_hash != input_hash()) return MergeResult::mismatch;
  return found->nonce == nonce ? MergeResult::merged_earlier : MergeResult::replayed;
}

std::optional<TallyValue> PreparedMerge::value_in(const std::optional<Item>& current) const {
  if (!cached_ || !current) return decode_value(current);
  if (cached_->version != current->version) {
    *cached_ = {current->version, decode_value(current)};
  }
  return cached_->value;
}

std::optional<TallyValue> PreparedMerge::decode_value(const std::optional<Item>& current) const {
  if (!current) return value_of(kind(), monoid->identity());
  const Result<TallyBucket> found = decode_bucket(*current, kind(), *monoid);
  if (!found) return std::nullopt;
  return value_of(kind(), found->until <= now ? monoid->identity() : found->state);
}

}  // namespace once::tallies
