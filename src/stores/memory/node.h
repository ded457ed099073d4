// The layout of one item in memory:
//
//    0  4  length of the value << 5 | flags: number 1, sorted 2, expires 4, ranked 8, parted 16
//    4  2  length of home
//    6  8  version
//   14  8  expiry, if it expires
//   22 12  if ranked (an item that expires and is not pinned, in a bounded store): the item used
//   next after this one,
//          the one used last before it, and when it was used
//       8  sort, if sorted (not 0)
//       2  length of part, if parted (not empty)
//          home, part, value (a number in as few bytes as hold it, least first, with its sign)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "once/item.h"
#include "once/key.h"
#include "stores/memory/slab.h"

namespace once::memory {

inline constexpr std::size_t kMaxPartitionBytes = 0xffff;
inline constexpr std::size_t kMaxValueBytes = 64U << 20;

// A new item before it is stored. Refers to the caller's key and bytes.
struct Draft {
  const Key& key;
  std::optional<std::int64_t> number;
  std::string_view bytes;  // When it is no number.
  Version version;
  Time expiry;
  bool ranked;

  std::size_t node_bytes() const;
  std::uint32_t head() const;  // Length and flags.
};

// A view of a stored item.
class Node {
 public:
  explicit Node(std::byte* at) : at_(at) {}

  // Writes everything but the rank of a ranked item.
  void write(const Draft& draft);

  std::uint32_t head() const { return load<std::uint32_t>(0); }
  bool ranked() const { return (head() & kRanked) != 0; }
  bool expires() const { return (head() & kExpires) != 0; }
  Time expiry() const { return expires() ? Time(Duration(load<std::int64_t>(kExpiryAt))) : kNever; }
  Version version() const { return {load<std::uint64_t>(kVersionAt)}; }
  std::int64_t sort() const { return (head() & kSorted) != 0 ? load<std::int64_t>(sort_at()) : 0; }
  std::optional<std::int64_t> number() const;
  std::size_t value_bytes() const { return head() >> kFlagBits; }
  std::size_t bytes() const { return value_at() + value_bytes(); }

  std::string_view home() const { return text(home_at(), home_bytes()); }
  std::string_view part() const { return text(home_at() + home_bytes(), part_bytes()); }
  bool in(const Partition& partition) const {
    return home() == partition.home && part() == partition.part;
  }

  Key key() const;
  Item item() const;

  // Of a ranked item.
  Ref newer() const { return load<Ref>(kRankAt); }
  Ref older() const { return load<Ref>(kRankAt + 4); }
  std::uint32_t used() const { return load<std::uint32_t>(kRankAt + 8); }
  void set_newer(Ref ref) { store(kRankAt, ref); }
  void set_older(Ref ref) { store(kRankAt + 4, ref); }
  void set_used(std::uint32_t tick) { store(kRankAt + 8, tick); }

 private:
  friend struct Draft;
  static constexpr std::uint32_t kNumber = 1;
  static constexpr std::uint32_t kSorted = 2;
  static constexpr std::uint32_t kExpires = 4;
  static constexpr std::uint32_t kRanked = 8;
  static constexpr std::uint32_t kParted = 16;
  static constexpr int kFlagBits = 5;
  static constexpr std::size_t kHomeBytesAt = 4;
  static constexpr std::size_t kVersionAt = 6;
  static constexpr std::size_t kExpiryAt = 14;
  static constexpr std::size_t kRankAt = 22;

  static std::size_t sort_at(std::uint32_t head) {
    return kExpiryAt + ((head & kExpires) != 0 ? 8U : 0U) + ((head & kRanked) != 0 ? 12U : 0U);
  }
  static std::size_t part_bytes_at(std::uint32_t head) {
    return sort_at(head) + ((head & kSorted) != 0 ? 8U : 0U);
  }
  static std::size_t home_at(std::uint32_t head) {
    return part_bytes_at(head) + ((head & kParted) != 0 ? 2U : 0U);
  }
  std::size_t sort_at() const { return sort_at(head()); }
  std::size_t home_at() const { return home_at(head()); }
  std::size_t home_bytes() const { return load<std::uint16_t>(kHomeBytesAt); }
  std::size_t part_bytes() const {
    return (head() & kParted) != 0 ? load<std::uint16_t>(part_bytes_at(head())) : 0U;
  }
  std::size_t value_at() const { return home_at() + home_bytes() + part_bytes(); }
  std::int64_t load_number() const;

  template <class T>
  T load(std::size_t offset) const {
    T value;
    std::memcpy(&value, at_ + offset, sizeof value);
    return value;
  }
  template <class T>
  void store(std::size_t offset, T value) {
    std::memcpy(at_ + offset, &value, sizeof value);
  }
  std::string_view text(std::size_t offset, std::size_t length) const {
    return {reinterpret_cast<const char*>(at_ + offset), length};
  }

  std::byte* at_;
};

}  // namespace once::memory
