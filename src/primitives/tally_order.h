// One merge, checked and encoded: all that the plans need to know of a request.
#pragma once

#include "primitives/tally_record.h"

namespace once::tallies {

// What became of an order in its bucket.
enum class Verdict : std::uint8_t {
  merged,
  landed,    // An earlier try of the same call merged it.
  replayed,  // An earlier call did.
  mismatch,
  full,
};

struct Order final : Joinable {
  // `invalid` if the request cannot be one, or the store can never hold it.
  static Result<Order> of(Key key, TallyRequest request, Time now, const Limits& limits);

  TallyMeta meta() const { return {monoid->name(), request.shape.window}; }
  TallyKind kind() const { return request.shape.kind; }
  bool windowed() const { return request.shape.window != TallyWindow::none; }
  bool named() const { return !request.id.empty(); }
  Key bucket_key() const { return {key.partition, bucket}; }
  Time bucket_expiry() const;

  // The id's marker, put where there is none.
  Write marker() const;
  bool same_input(const TallyMarker& marker) const { return marker.input_hash == input_hash; }

  // The merge as one write. Native kinds only.
  Write native_write() const;

  // What the bucket becomes by the merge.
  Result<Edit> edit(const std::optional<Item>& standing, Verdict& verdict) const;

  // The merge as a change of the bucket. With `ids_inside` the bucket tells whether it knows the
  // id, and learns it. Order and verdict must outlive the change.
  Change change(Verdict& verdict);
  Apply joined(std::span<Joinable* const> parts) override;

  // What the bucket is worth; nothing if it does not parse.
  std::optional<TallyValue> value_in(const std::optional<Item>& standing) const;

  Key key;
  TallyRequest request;
  MonoidPtr monoid;
  Bytes input;  // As a state.
  Bytes input_hash;
  std::int64_t bucket = 0;
  Time now;
  Time kept_until;  // The id.
  Duration clock_error{0};
  bool ids_inside = false;
  std::uint64_t nonce = 0;  // Tells this call from another with its id.

 private:
  // What the bucket was worth when it had this version.
  struct Worth {
    Version version;
    std::optional<TallyValue> value;
  };

  Verdict learn_id(std::vector<InnerId>& ids) const;
  std::optional<TallyValue> read_value(const std::optional<Item>& standing) const;

  std::shared_ptr<Worth> worth_;  // Shared by those whose changes were taken together.
};

// How long a window is; zero for none.
Duration width_of(TallyWindow window);

}  // namespace once::tallies
