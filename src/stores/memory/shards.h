// All shards, each behind its own lock.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "once/key.h"
#include "stores/memory/shard.h"

namespace once::memory {

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
