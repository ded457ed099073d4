// What a tally's keys hold: its meta item, its buckets, and the markers of its ids.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/tally_kinds.h"
#include "primitives/tally_monoids.h"

namespace once::tallies {

// Fixed by the first merge, for ever (H21).
struct TallyMeta {
  std::string monoid;  // Its name.
  TallyWindow window = TallyWindow::none;

  friend bool operator==(const TallyMeta&, const TallyMeta&) = default;
};

// An id and the bucket it went to: a retry after the window's end goes to the same (H20).
struct TallyMarker {
  Bytes input_hash;
  std::int64_t bucket = 0;
  Time kept_until;

  friend bool operator==(const TallyMarker&, const TallyMarker&) = default;
};

// An id inside a bucket, on stores that allow one write a commit (H19).
struct InnerId {
  std::string id;
  Bytes input_hash;
  std::uint64_t nonce = 0;  // Of the call that merged it.
  Time kept_until;

  friend bool operator==(const InnerId&, const InnerId&) = default;
};

struct TallyBucket {
  Bytes state;
  Time until = kNever;  // From then on the state counts as the identity; the ids outlive it.
  std::vector<InnerId> ids;

  friend bool operator==(const TallyBucket&, const TallyBucket&) = default;
};

Bytes encode(const TallyMeta& meta);
Result<TallyMeta> decode_meta(const Value& value);

Bytes encode(const TallyMarker& marker);
Result<TallyMarker> decode_marker(const Value& value);

// An integer where the kind is native and no id is inside, a record otherwise.
Value encode(const TallyBucket& bucket, TallyKind kind);
Result<TallyBucket> decode_bucket(const Item& item, TallyKind kind, const Monoid& monoid);

// When nothing in the bucket is of use any more.
Time expiry_of(const TallyBucket& bucket);

Bytes hash_of_input(std::string_view monoid, std::string_view state);

}  // namespace once::tallies
