#include "stores/memory/shards.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace once::memory {

Place place_of(const Partition& partition) {
  std::uint64_t hash = XXH3_64bits(partition.home.data(), partition.home.size());
  if (!partition.part.empty()) {
    hash = XXH3_64bits_withSeed(partition.part.data(), partition.part.size(), hash);
  }
  return {.shard = static_cast<std::uint32_t>(hash >> 58),
          .hash = static_cast<std::uint32_t>(hash)};
}

}  // namespace once::memory
