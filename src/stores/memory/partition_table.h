// Finds a partition's entry by hash, in eight bytes a place. Entries are ordered by their hashes,
// each as near to its own place as those before it allow. So a walk continues from a hash even if
// the table has moved, and growing reads and writes front to back without looking at the items. Not
// safe to share between threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace once::memory {

class PartitionTable {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // What an entry costs at the least favourable fill, rounded up.
  static constexpr std::size_t kBytesPerEntry = 11;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = 0;  // Zero in an empty place.
  };

  PartitionTable() : slots_(kSpare) { publish(); }

  // The index of the entry with this hash that `same` accepts, or kNone. Indexes are good until the
  // next insert or erase.
  template <class Same>
  std::size_t find(std::uint32_t hash, const Same& same) const {
    for (std::size_t i = home_of(hash); slots_[i].entry != 0 && slots_[i].hash <= hash; ++i) {
      if (slots_[i].hash == hash && same(slots_[i].entry)) return i;
    }
    return kNone;
  }

  // Prefetches what find() will look at. Needs no lock: if the table moves meanwhile, a wrong place
  // is fetched, which does no harm.
  void fetch(std::uint32_t hash) const {
    const std::uint64_t homes = outline_.homes.load(std::memory_order_relaxed);
    const Slot* const first = outline_.first.load(std::memory_order_relaxed);
    __builtin_prefetch(first + ((static_cast<std::uint64_t>(hash) * homes) >> 32));
  }

  void insert(std::uint32_t hash, std::uint32_t entry);
  void erase(std::size_t index);

  const Slot& operator[](std::size_t index) const { return slots_[index]; }
  void set(std::size_t index, std::uint32_t entry) { slots_[index].entry = entry; }

  // The first entry at or after `index`, or kNone.
  std::size_t next(std::size_t index) const;
  // The first entry with `hash` or a larger one, or kNone.
  std::size_t lower_bound(std::uint32_t hash) const;

  std::size_t size() const { return size_; }
  std::size_t held() const { return slots_.capacity() * sizeof(Slot); }

 private:
  static constexpr std::size_t kSpare = 8;

  std::size_t home_of(std::uint32_t hash) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(hash) * homes_) >> 32);
  }
  void rebuild(std::size_t homes);

  // Where the table is, on a cache line that changes only when the table moves.
  struct alignas(64) Outline {
    std::atomic<const Slot*> first = nullptr;
    std::atomic<std::uint64_t> homes = 0;
  };
  void publish() {
    outline_.first.store(slots_.data(), std::memory_order_relaxed);
    outline_.homes.store(homes_, std::memory_order_relaxed);
  }

  // `homes_` places that hashes name, and room behind for what is pushed over the end. The last
  // place is always empty, so that every search ends.
  std::vector<Slot> slots_;
  std::size_t homes_ = 0;
  std::size_t size_ = 0;
  Outline outline_;
};

}  // namespace once::memory
