// What a key holds.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

#include "once/time.h"

namespace once {

using Bytes = std::string;
using Value = std::variant<std::int64_t, Bytes>;

// Names one write of one item. Chosen by the writer and never used again, so a writer whose reply
// was lost can recognise its own write. Zero names nothing.
struct Version {
  std::uint64_t number = 0;

  explicit operator bool() const { return number != 0; }
  friend bool operator==(Version, Version) = default;
  friend std::strong_ordering operator<=>(Version, Version) = default;
};

// From `expiry` on, an item is absent, whether or not the store has removed it yet.
struct Item {
  Value value;
  Version version;
  Time expiry = kNever;

  friend bool operator==(const Item&, const Item&) = default;
};

inline bool expired(const Item& item, Time now) { return item.expiry <= now; }

}  // namespace once
