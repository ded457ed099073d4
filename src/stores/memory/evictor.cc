#include "stores/memory/evictor.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>
#include <vector>

namespace once::memory {

// The keys of the commit that needs space.
class Evictor::Spared {
 public:
  explicit Spared(Transaction commit) {
    for (const Write& write : commit) keys_.push_back(&write.key);
    std::ranges::sort(keys_, {}, &Spared::of_key);
  }
  bool operator()(const Node& node) const {
    const Name name(node.home(), node.part(), node.sort());
    return std::ranges::binary_search(keys_, name, {}, &Spared::of_key);
  }

 private:
  using Name = std::tuple<std::string_view, std::string_view, std::int64_t>;
  static Name of_key(const Key* key) {
    return {key->partition.home, key->partition.part, key->sort};
  }
  std::vector<const Key*> keys_;
};

bool Evictor::make_room(const Request& request) {
  if (room_.free() + evictable_bytes() < request.bytes + request.spared_bytes) return false;
  const Spared spared(request.commit);
  Ages oldest = ages();
  while (!room_.take(request.bytes)) {
    const auto next = std::ranges::max_element(oldest);
    if (!*next) return false;
    evict_from(static_cast<std::size_t>(next - oldest.begin()), spared, oldest);
  }
  return true;
}

Evictor::Ages Evictor::ages() const {
  Ages all;
  for (std::size_t i = 0; i < kShards; ++i) {
    if (const auto use = shards_.recency(i).oldest_use()) all[i] = age_of(*use);
  }
  return all;
}

std::size_t Evictor::evictable_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kShards; ++i) bytes += shards_.recency(i).bytes();
  return bytes;
}

std::uint32_t Evictor::age_of(std::uint32_t use) const { return shards_.clock().load() - use; }

// The oldest item that may be evicted can be younger than expected, if others are spared or were
// used since. Then only its age is noted, and another shard may come first.
void Evictor::evict_from(std::size_t index, const Spared& spared, Ages& ages) {
  GuardedShard& guarded = shards_[index];
  const Lock lock(guarded.mutex);
  Shard& shard = guarded.shard;
  Ref ref = shard.least_recently_used(std::cref(spared));
  if (ref != kNull && age_of(shard.node(ref).used()) >= *ages[index]) {
    const Key key = shard.node(ref).key();
    const std::size_t before = shard.bytes();
    shard.erase(shard.find(place_of(key.partition).hash, key));
    room_.give_back(before - shard.bytes());
    evicted_.fetch_add(1, std::memory_order_relaxed);
    ref = shard.least_recently_used(std::cref(spared));
  }
  if (ref == kNull) {
    ages[index].reset();
  } else {
    ages[index] = age_of(shard.node(ref).used());
  }
}

}  // namespace once::memory
