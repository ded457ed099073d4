// The shard of a partition, and its hash within the shard. The same in every run, so that a
// simulation can be repeated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "once/key.h"

namespace once::memory {

inline constexpr std::size_t kShards = 64;  // A set of them is one word.

struct Place {
  std::uint32_t shard = 0;
  std::uint32_t hash = 0;
};

Place place_of(const Partition& partition);

}  // namespace once::memory
