// A chunk is 2048 units of 8 bytes. A block that starts at unit u and is n units long:
//
//   8u-4     tag: n << 2 | previous block is free (2) | this block is free (1)
//   8u       what the owner keeps here, up to 8n-4 bytes; in a free block instead:
//            the next and the previous free block of this size (4 bytes each),
//            and n once more in the last 4 bytes, for the block that follows
//   8(u+n)-4 the next block's tag
//
// The first block starts at unit 1, so no block is named 0; the chunk's last 4 bytes are the tag of
// a block of no length that is never free.
#include "stores/memory/slab.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace once::memory {
namespace {

constexpr std::uint32_t kFree = 1;
constexpr std::uint32_t kPreviousFree = 2;
constexpr std::uint32_t kMinUnits = 2;
constexpr std::size_t kTagBytes = 4;

std::uint32_t load(const std::byte* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

void store(std::byte* to, std::uint32_t word) { std::memcpy(to, &word, sizeof word); }

std::uint32_t tag_of(const std::byte* block) { return load(block - kTagBytes); }
void set_tag(std::byte* block, std::uint32_t tag) { store(block - kTagBytes, tag); }
std::uint32_t units_of(std::uint32_t tag) { return tag >> 2; }

}  // namespace

std::uint32_t Slab::units_for(std::size_t bytes) {
  const auto units = static_cast<std::uint32_t>((bytes + kTagBytes + kUnit - 1) / kUnit);
  return std::max(units, kMinUnits);
}

std::uint32_t Slab::class_of(std::uint32_t units) { return std::min(units, kMaxUnits); }

std::size_t Slab::cost(std::size_t bytes) {
  constexpr std::size_t kLargeOverhead = 16 + sizeof(large_[0]) + sizeof(large_bytes_[0]);
  const bool large = bytes + kTagBytes > kMaxUnits * kUnit;
  return large ? bytes + kLargeOverhead : units_for(bytes) * kUnit;
}

Ref Slab::allocate(std::size_t bytes) {
  if (bytes + kTagBytes > kMaxUnits * kUnit) return allocate_large(bytes);
  const std::uint32_t units = units_for(bytes);
  const std::uint32_t list = smallest_class(units);
  return list < kMaxUnits ? take_from(list, units) : cut(units);
}

// From a list of freed blocks that are long enough.
Ref Slab::take_from(std::uint32_t list, std::uint32_t units) {
  const Ref ref = heads_[list];
  std::byte* block = at(ref);
  take_free(ref);
  if (list - units < kMinUnits) {
    units = list;
    std::byte* next = block + units * kUnit;
    set_tag(next, tag_of(next) & ~kPreviousFree);
  } else {
    put_free(ref + units, list - units);
  }
  // Two free blocks never touch, so the block before this one is in use.
  set_tag(block, units << 2);
  return ref;
}

Ref Slab::cut(std::uint32_t units) {
  if (open_units_ < units) open_another();
  const Ref ref = open_;
  open_units_ -= units;
  open_ += units;
  if (open_units_ < kMinUnits) {
    units += open_units_;
    open_ = kNull;
    open_units_ = 0;
  } else {
    set_tag(at(open_), open_units_ << 2);
  }
  set_tag(at(ref), units << 2);
  return ref;
}

// What is left of the open block goes to the lists.
void Slab::close() {
  if (open_ != kNull) put_free(open_, open_units_);
  open_ = kNull;
  open_units_ = 0;
}

void Slab::open_another() {
  close();
  open_ = heads_[kMaxUnits] != kNull ? heads_[kMaxUnits] : add_chunk();
  open_units_ = units_of(tag_of(at(open_)));
  take_free(open_);
  std::byte* next = at(open_) + open_units_ * kUnit;
  set_tag(next, tag_of(next) & ~kPreviousFree);
}

void Slab::free(Ref ref) {
  if ((ref & kLargeBit) != 0) return free_large(ref);
  std::byte* block = at(ref);
  std::uint32_t units = units_of(tag_of(block));
  if (ref + units == open_ || ref == open_ + open_units_) close();
  const std::uint32_t tag = tag_of(block);
  const std::uint32_t next_tag = tag_of(block + units * kUnit);
  if ((next_tag & kFree) != 0) {
    take_free(ref + units);
    units += units_of(next_tag);
  }
  if ((tag & kPreviousFree) != 0) {
    const std::uint32_t before = load(block - kUnit);
    ref -= before;
    take_free(ref);
    units += before;
  }
  put_free(ref, units);
  // One free chunk is kept, so that a shard at a border does not allocate and free one repeatedly.
  if (units == kWholeChunk && whole_chunks_ > 1) drop_chunk(ref);
}

// The block's neighbours are in use.
void Slab::put_free(Ref ref, std::uint32_t units) {
  std::byte* block = at(ref);
  Ref& head = heads_[class_of(units)];
  set_tag(block, units << 2 | kFree);
  store(block, head);
  store(block + 4, kNull);
  store(block + units * kUnit - kUnit, units);
  std::byte* next = block + units * kUnit;
  set_tag(next, tag_of(next) | kPreviousFree);
  if (head != kNull) store(at(head) + 4, ref);
  head = ref;
  filled_[class_of(units) / 64] |= 1ULL << (class_of(units) % 64);
  if (units == kWholeChunk) ++whole_chunks_;
}

void Slab::take_free(Ref ref) {
  const std::byte* block = at(ref);
  const std::uint32_t units = units_of(tag_of(block));
  const Ref next = load(block);
  const Ref previous = load(block + 4);
  if (next != kNull) store(at(next) + 4, previous);
  if (previous != kNull) {
    store(at(previous), next);
  } else {
    heads_[class_of(units)] = next;
    if (next == kNull) filled_[class_of(units) / 64] &= ~(1ULL << (class_of(units) % 64));
  }
  if (units == kWholeChunk) --whole_chunks_;
}

// More than kMaxUnits where every list from `at_least` on is empty.
std::uint32_t Slab::smallest_class(std::uint32_t at_least) const {
  std::uint64_t mask = ~0ULL << (at_least % 64);
  for (std::uint32_t word = at_least / 64; word < filled_.size(); ++word) {
    const std::uint64_t bits = filled_[word] & mask;
    if (bits != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    mask = ~0ULL;
  }
  return kMaxUnits + 1;
}

Ref Slab::add_chunk() {
  if (unused_chunks_.empty()) {
    if (chunks_.size() == kMaxChunks) throw std::bad_alloc();
    chunks_.emplace_back();
    unused_chunks_.push_back(static_cast<std::uint32_t>(chunks_.size() - 1));
  }
  const std::uint32_t place = unused_chunks_.back();
  chunks_[place].reset(new std::byte[kChunkUnits * kUnit]);
  unused_chunks_.pop_back();
  held_ += kChunkUnits * kUnit;
  const Ref first = place * kChunkUnits + 1;
  set_tag(chunks_[place].get() + kChunkUnits * kUnit, 0);
  put_free(first, kWholeChunk);
  return first;
}

void Slab::drop_chunk(Ref ref) {
  const std::uint32_t place = ref / kChunkUnits;
  take_free(ref);
  chunks_[place].reset();
  unused_chunks_.push_back(place);
  held_ -= kChunkUnits * kUnit;
}

Ref Slab::allocate_large(std::size_t bytes) {
  std::unique_ptr<std::byte[]> block(new std::byte[bytes]);
  if (unused_large_.empty()) {
    large_.emplace_back();
    large_bytes_.emplace_back();
    unused_large_.push_back(static_cast<Ref>(large_.size() - 1));
  }
  const Ref place = unused_large_.back();
  unused_large_.pop_back();
  large_[place] = std::move(block);
  large_bytes_[place] = bytes;
  held_ += bytes;
  return place | kLargeBit;
}

void Slab::free_large(Ref ref) {
  const Ref place = ref & ~kLargeBit;
  large_[place].reset();
  held_ -= large_bytes_[place];
  unused_large_.push_back(place);
}

}  // namespace once::memory
