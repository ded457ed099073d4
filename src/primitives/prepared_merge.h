// One merge into a tally, checked and encoded.
#pragma once

#include "primitives/tally_record.h"

namespace once::tallies {

// The result of merging into a bucket.
enum class MergeResult : std::uint8_t {
  merged,
  merged_earlier,  // By an earlier try of this call.
  replayed,        // By an earlier call with this id.
  mismatch,        // The id was used for another input.
  full,            // The bucket can hold no more ids.
};

struct PreparedMerge final : Joinable {
  TallyMeta shape() const { return {.monoid = monoid->name(), .window = request.shape.window}; }
  Key id_key() const;

  // The meta that the merge needs: `current` if that will do. `current` is empty if there is none.
  // Where the two are one commit, retention may be shortened.
  TallyMeta meta_after(const std::optional<TallyMeta>& current, bool one_commit) const;
  TallyKind kind() const { return request.shape.kind; }
  bool has_window() const { return request.shape.window != TallyWindow::none; }
  bool has_id() const { return !request.id.empty(); }
  Key bucket_key() const;
  Time bucket_expiry() const;

  // Puts the id's marker if it is absent.
  Write marker() const;
  bool same_input(const TallyMarker& marker) const { return marker.input_hash == input_hash(); }
  Bytes input_hash() const;

  // The merge as one write. Native kinds only.
  Write native_write(Guard guard = anything()) const;

  // Whether a bucket that is there and has no expiry is all that the merge needs: then it need not
  // check the meta item (docs/hazards.md#h21).
  bool can_rely_on_bucket() const;

  // How the merge changes the bucket. Sets `result`.
  Result<Edit> edit(const std::optional<Item>& current, MergeResult& result) const;

  // The merge as a change of the bucket, which checks and records the id with `ids_in_bucket`. This
  // object and `result` must outlive the change.
  Change change(MergeResult& result);
  Apply joined(std::span<Joinable* const> parts) override;

  // The value of the bucket; empty if it does not parse.
  std::optional<TallyValue> value_in(const std::optional<Item>& current) const;

  Key key;
  TallyRequest request;
  MonoidPtr monoid;
  Bytes input;  // As a state of the monoid.
  std::int64_t bucket = 0;
  std::uint64_t life = 0;  // Of the tally, by which buckets and ids are told from those before.
  Time now;
  Time kept_until;  // When the id expires.
  Duration clock_error{0};
  bool ids_in_bucket = false;
  std::uint64_t nonce = 0;  // Tells this call from others with the same id.

 private:
  // The value of the bucket at one version.
  struct CachedValue {
    Version version;
    std::optional<TallyValue> value;
  };

  MergeResult add_id(std::vector<InnerId>& ids) const;
  std::optional<TallyValue> decode_value(const std::optional<Item>& current) const;

  std::shared_ptr<CachedValue> cached_;  // Shared by merges that were joined.
};

// `invalid` if the request is, or if the store could never hold the bucket or the id.
Result<PreparedMerge> prepare_merge(Key key, TallyRequest request, Time now, const Limits& limits);

}  // namespace once::tallies
