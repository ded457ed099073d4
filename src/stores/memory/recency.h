// The items of one shard that may be evicted, in the order of their last use. Not safe to share
// between threads, except oldest_use() and bytes(), which other threads may see a little late.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stores/memory/node.h"
#include "stores/memory/slab.h"

namespace once::memory {

// Counts uses over all shards, so that their oldest items can be compared. It wraps after 2^32; an
// item untouched for so long may then be taken for a newer one of another shard.
using UseClock = std::atomic<std::uint32_t>;

class Recency {
 public:
  Recency(const Slab& slab, UseClock& clock) : slab_(slab), clock_(clock) {}

  void add(Ref ref, std::size_t charge);  // As the newest.
  void remove(Ref ref, std::size_t charge);
  void touch(Ref ref);  // Becomes the newest.

  Ref oldest() const { return oldest_; }

  // When the oldest item was used last.
  std::optional<std::uint32_t> oldest_use() const;
  // What all are charged.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kNothing = ~0ULL;
  Node node(Ref ref) const { return Node(slab_.at(ref)); }
  void unlink(Ref ref);
  void link(Ref ref);
  void publish();

  const Slab& slab_;
  UseClock& clock_;
  std::atomic<std::uint64_t> oldest_use_ = kNothing;
  std::atomic<std::size_t> bytes_ = 0;
  Ref newest_ = kNull;
  Ref oldest_ = kNull;
};

}  // namespace once::memory
