// The items of some partitions. A partition with one item is an entry of the table; one with more
// is a series, ordered by sort. Evaluates no guards and no expiry: the store does. Not safe to
// share between threads, with the exceptions of recency().
#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "once/store.h"
#include "stores/memory/node.h"
#include "stores/memory/partition_table.h"
#include "stores/memory/recency.h"
#include "stores/memory/slab.h"

namespace once::memory {

// What an item is charged: its block, and its share of the table.
std::size_t charge_of(std::size_t node_bytes);

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

}  // namespace once::memory
