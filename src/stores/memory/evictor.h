// The space of a bounded store, and how more of it is made.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "once/write.h"
#include "stores/memory/shards.h"

namespace once::memory {

// The bytes that a bounded store holds or has reserved for a commit under way. Safe to share
// between threads.
class Room {
 public:
  explicit Room(std::size_t bound) : bound_(bound) {}

  bool bounded() const { return bound_ != 0; }
  std::size_t bound() const { return bound_; }
  std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }
  std::size_t free() const { return bound_ - taken(); }

  // False, without taking anything, if that would exceed the bound.
  bool take(std::size_t bytes) {
    std::size_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (bytes > bound_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const std::size_t bound_;
  std::atomic<std::size_t> taken_ = 0;  // Never above the bound.
};

// Evicts the least recently used of the items that expire (docs/hazards.md#h17). Safe to share
// between threads.
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
