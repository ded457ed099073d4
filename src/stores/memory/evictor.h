// Evicts the least recently used of the items that expire (docs/hazards.md#h17). Safe to share
// between threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "once/write.h"
#include "stores/memory/room.h"
#include "stores/memory/shards.h"

namespace once::memory {

class Evictor {
 public:
  Evictor(Shards& shards, Room& room) : shards_(shards), room_(room) {}

  struct Request {
    std::size_t bytes = 0;
    Transaction commit;            // Its items are not evicted,
    std::size_t spared_bytes = 0;  // though so many bytes of them could.
  };

  // Reserves so many bytes; the caller holds no lock. False if that is impossible, as a rule
  // without evicting anything.
  bool make_room(const Request& request);

  std::uint64_t evicted() const { return evicted_.load(std::memory_order_relaxed); }

 private:
  // How long ago each shard's oldest item was used, in uses; empty if it has none to evict.
  using Ages = std::array<std::optional<std::uint32_t>, kShards>;
  class Spared;

  Ages ages() const;
  std::size_t evictable_bytes() const;
  std::uint32_t age_of(std::uint32_t use) const;
  void evict_from(std::size_t index, const Spared& spared, Ages& ages);

  Shards& shards_;
  Room& room_;
  std::atomic<std::uint64_t> evicted_ = 0;
};

}  // namespace once::memory
