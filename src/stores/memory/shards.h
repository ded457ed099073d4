// The items of the store, in shards by the hash of their partition, each behind its own lock.
#pragma once

#include <absl/container/btree_map.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "once/key.h"
#include "once/store.h"
#include "stores/memory/node.h"
#include "stores/memory/partition_table.h"
#include "stores/memory/slab.h"

namespace once::memory {

// Counts uses over all shards, so that their oldest items can be compared. It wraps after 2^32; an
// item untouched for so long may then be taken for a newer one of another shard.
using UseClock = std::atomic<std::uint32_t>;

// The items of one shard that may be evicted, in the order of their last use. Not safe to share
// between threads, except oldest_use() and bytes(), which other threads may see a little late.
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

// What an item is charged: its block, and its share of the table.
std::size_t charge_of(std::size_t node_bytes);

// The items of some partitions. A partition with one item is an entry of the table; one with more
// is a series, ordered by sort. Evaluates no guards and no expiry: the store does. Not safe to
// share between threads, with the exceptions of recency().
class Shard {
 public:
  // Where a key's item is or would be. Good until the shard is changed.
  struct Spot {
    std::size_t index = PartitionTable::kNone;  // The partition's entry.
    Ref ref = kNull;                            // The item.
  };

  // Items are walked in the order of hash, partition and sort.
  struct Position {
    std::uint32_t hash = 0;
    Key key;
  };

  explicit Shard(UseClock& clock) : recency_(slab_, clock) {}

  Spot find(std::uint32_t hash, const Key& key) const;

  // Prefetch what find() will look at: first the entry, then, once that has come, the item.
  void fetch_entry(std::uint32_t hash) const { table_.fetch(hash); }
  void fetch_item(std::uint32_t hash) const;

  Node node(Ref ref) const { return Node(slab_.at(ref)); }

  // Stores the draft at `spot`, which is the place of draft.key.
  void put(const Spot& spot, std::uint32_t hash, const Draft& draft);
  void erase(const Spot& spot);

  // Counts as a use.
  void touch(Ref ref) {
    if (node(ref).ranked()) recency_.touch(ref);
  }

  // Ascending or descending by sort in [first, last], until `visit` returns false.
  using Visit = std::function<bool(Ref ref, const Node& node)>;
  void scan(std::uint32_t hash, const ScanRequest& request, const Visit& visit) const;

  // From the item after `after`, or the first, until `visit` returns false.
  void walk(const Position* after, const Visit& visit) const;

  // The ranked item used least recently that `spared` lets go, or kNull.
  Ref least_recently_used(const std::function<bool(const Node&)>& spared) const;
  const Recency& recency() const { return recency_; }

  std::size_t items() const { return items_; }
  std::size_t bytes() const { return bytes_; }

 private:
  using Series = absl::btree_map<std::int64_t, Ref>;
  static constexpr std::uint32_t kSeriesBit = 1U << 30;

  static bool is_series(std::uint32_t entry) {
    // Large blocks have bit 31; no block has bit 30.
    return (entry & kSeriesBit) != 0;
  }
  Series& series(std::uint32_t entry) const { return *series_[entry & ~kSeriesBit]; }
  Ref any_of(std::uint32_t entry) const;

  Ref make(const Draft& draft);
  void destroy(Ref ref);
  void add_to_partition(const Spot& spot, std::int64_t sort, Ref ref);
  std::uint32_t new_series();
  bool walk_entry(std::uint32_t entry, const Position* after, const Visit& visit) const;

  // What every commit touches comes first, close together: it moves from core to core when threads
  // take turns at a shard.
  PartitionTable table_;
  std::size_t items_ = 0;
  std::size_t bytes_ = 0;
  Slab slab_;
  Recency recency_;
  std::vector<std::unique_ptr<Series>> series_;
  std::vector<std::uint32_t> unused_series_;
};

inline constexpr std::size_t kShards = 64;  // A set of them is one word.

// The shard of a partition, and its hash within the shard. The same in every run, so that a
// simulation can be repeated.
struct Place {
  std::uint32_t shard = 0;
  std::uint32_t hash = 0;
};

Place place_of(const Partition& partition);

struct alignas(128) GuardedShard {
  explicit GuardedShard(UseClock& clock) : shard(clock) {}
  Mutex mutex;
  Shard shard ONCE_GUARDED_BY(mutex);
};

// Safe to share between threads.
class Shards {
 public:
  Shards() {
    for (auto& place : shards_) place = std::make_unique<GuardedShard>(clock_);
  }

  GuardedShard& operator[](std::size_t index) { return *shards_[index]; }

  // The parts of a shard that need no lock.
  void fetch_entry(const Place& place) const ONCE_UNCHECKED_LOCKING {
    shards_[place.shard]->shard.fetch_entry(place.hash);
  }
  const Recency& recency(std::size_t index) const ONCE_UNCHECKED_LOCKING {
    return shards_[index]->shard.recency();
  }

  UseClock& clock() { return clock_; }

 private:
  UseClock clock_ = 0;
  std::array<std::unique_ptr<GuardedShard>, kShards> shards_;
};

// Holds the locks of a set of shards, one bit each, taken in ascending order: commits never
// deadlock.
class LockedShards {
 public:
  LockedShards(Shards& shards, std::uint64_t set) ONCE_UNCHECKED_LOCKING : shards_(shards),
                                                                           set_(set) {
    for (std::uint64_t rest = set_; rest != 0; rest &= rest - 1) {
      shards_[static_cast<std::size_t>(std::countr_zero(rest))].mutex.lock_brief();
    }
  }
  ~LockedShards() ONCE_UNCHECKED_LOCKING {
    for (std::uint64_t rest = set_; rest != 0; rest &= rest - 1) {
      shards_[static_cast<std::size_t>(std::countr_zero(rest))].mutex.unlock();
    }
  }
  LockedShards(const LockedShards&) = delete;
  LockedShards& operator=(const LockedShards&) = delete;

  // One of the set.
  Shard& operator[](std::size_t index) ONCE_UNCHECKED_LOCKING { return shards_[index].shard; }

 private:
  Shards& shards_;
  const std::uint64_t set_;
};

}  // namespace once::memory
