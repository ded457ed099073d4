// Memory for one shard's items: blocks of a few dozen to a few thousand bytes in chunks of 16 KiB.
// A block is named by 32 bits instead of a pointer and costs four bytes. A freed block is merged
// with its free neighbours, and a chunk that is free as a whole goes back to the system: so a store
// whose items change in size does not grow. Not safe to share between threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace once::memory {

// Names a block of one slab. Bit 30 is never set: the shard marks series of items with it.
using Ref = std::uint32_t;
inline constexpr Ref kNull = 0;

class Slab {
 public:
  // A block for `bytes`, aligned to 8. Throws std::bad_alloc if the system has no more memory.
  Ref allocate(std::size_t bytes);
  void free(Ref ref);

  std::byte* at(Ref ref) const {
    if ((ref & kLargeBit) != 0) return large_[ref & ~kLargeBit].get();
    return chunks_[ref / kChunkUnits].get() + (ref % kChunkUnits) * kUnit;
  }

  // Prefetches where a new block will most likely be.
  void fetch_room() const {
    if (open_ == kNull) return;
    __builtin_prefetch(at(open_), 1);
    __builtin_prefetch(at(open_) + 64, 1);
  }

  // The size of a block for so many bytes, overhead included.
  static std::size_t cost(std::size_t bytes);

  // Taken from the system at present.
  std::size_t held() const { return held_; }

 private:
  static constexpr std::size_t kUnit = 8;
  static constexpr std::uint32_t kChunkUnits = 2048;
  static constexpr std::uint32_t kWholeChunk = kChunkUnits - 1;
  static constexpr std::uint32_t kMaxUnits = 256;  // Larger blocks are the system's own.
  static constexpr Ref kLargeBit = 1U << 31;
  static constexpr std::size_t kMaxChunks = (1U << 30) / kChunkUnits;

  static std::uint32_t units_for(std::size_t bytes);
  static std::uint32_t class_of(std::uint32_t units);

  Ref allocate_large(std::size_t bytes);
  void free_large(Ref ref);
  Ref take_from(std::uint32_t list, std::uint32_t units);
  Ref cut(std::uint32_t units);
  void open_another();
  void close();
  Ref add_chunk();
  void drop_chunk(Ref ref);
  void put_free(Ref ref, std::uint32_t units);
  void take_free(Ref ref);
  std::uint32_t smallest_class(std::uint32_t at_least) const;

  // What new blocks are cut from while no freed one fits: a long free block that is in no list, so
  // that cutting touches little else. Its neighbours are in use.
  Ref open_ = kNull;
  std::uint32_t open_units_ = 0;

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<std::uint32_t> unused_chunks_;   // Places in chunks_ that hold none.
  std::uint32_t whole_chunks_ = 0;             // Chunks that are one free block.
  std::array<Ref, kMaxUnits + 1> heads_ = {};  // Free blocks by size; the last: kMaxUnits or more.
  std::array<std::uint64_t, kMaxUnits / 64 + 1> filled_ =
      {};  // One bit for each list with a block.

  std::vector<std::unique_ptr<std::byte[]>> large_;
  std::vector<std::size_t> large_bytes_;
  std::vector<Ref> unused_large_;
  std::size_t held_ = 0;
};

}  // namespace once::memory
