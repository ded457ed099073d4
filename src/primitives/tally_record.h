// The items of a tally: its meta item, its buckets, and the markers of its ids.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/tally_kinds.h"

namespace once::tallies {

// The meta item outlives buckets and ids by this much. It is longer than any attempt with what was
// remembered of it.
inline constexpr Duration kMetaMargin = std::chrono::minutes(5);

// Fixed by the first merge (docs/hazards.md#h21). Every commit that merges checks that it stands,
// or that the bucket does, and it outlives all buckets and ids.
struct TallyMeta {
  enum class State : std::uint8_t {
    live,
    removing,  // Nothing is merged any more, and its buckets are being erased.
    removed,   // Its ids have not expired: the next tally of this name has other ones.
  };

  bool same_shape(const TallyMeta& other) const {
    return monoid == other.monoid && window == other.window;
  }
  Time expiry() const;

  std::string monoid;  // Its name.
  TallyWindow window = TallyWindow::none;
  State state = State::live;
  std::uint64_t life = 0;       // How many tallies of this name were removed before.
  Time buckets_until = kNever;  // No bucket expires later.
  Time ids_until;               // No id expires later.

  friend bool operator==(const TallyMeta&, const TallyMeta&) = default;
};

// An id and its bucket: a retry after the end of the window uses the same (docs/hazards.md#h20).
struct TallyMarker {
  Bytes input_hash;
  std::int64_t bucket = 0;
  Time kept_until;

  friend bool operator==(const TallyMarker&, const TallyMarker&) = default;
};

// An id inside a bucket, on stores that take one write per commit (docs/hazards.md#h19).
struct InnerId {
  std::string id;
  Bytes input_hash;
  std::uint64_t nonce = 0;  // Of the call that merged.
  Time kept_until;

  friend bool operator==(const InnerId&, const InnerId&) = default;
};

struct TallyBucket {
  Bytes state;
  Time until = kNever;  // After that the state counts as the identity; ids may live longer.
  std::vector<InnerId> ids;

  friend bool operator==(const TallyBucket&, const TallyBucket&) = default;
};

Bytes encode(const TallyMeta& meta);
Result<TallyMeta> decode_meta(const Value& value);

Bytes encode(const TallyMarker& marker);
Result<TallyMarker> decode_marker(const Value& value);

// An integer if the kind is native and there is no id inside, a record otherwise.
Value encode(const TallyBucket& bucket, TallyKind kind);
Result<TallyBucket> decode_bucket(const Item& item, TallyKind kind, const Monoid& monoid);

// The same without knowing the kind: the state is not looked at.
Result<TallyBucket> decode_any_bucket(const Value& value);

// When the state and all ids have expired.
Time expiry_of(const TallyBucket& bucket);

Bytes hash_of_input(std::string_view monoid, std::string_view state);

}  // namespace once::tallies
