// The keys of Redis that hold a partition's items.
//
//   once:{home}part:0   a string: the item at sort 0
//   once:{home}part:n   a sorted set: all other items, a member each, by sort
//
// In `home`, the bytes { } % are %7B %7D %25, so the first braces enclose it: that makes it the
// hash tag by which a cluster places keys, and a home is in one slot. All other bytes stay as they
// are.
//
// All members have the score 0, because scores are doubles and sorts are not; they are ordered as
// bytes. A member is the sort in 16 hexadecimal digits, and the record (record.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "once/key.h"

namespace once::redis {

inline constexpr std::size_t kSortDigits = 16;

std::string string_name(const Partition& partition);
std::string set_name(const Partition& partition);
std::string name_of(const Key& key);  // One of these two.

std::string digits_of(std::int64_t sort);
std::optional<std::int64_t> sort_in(std::string_view digits);

struct Name {
  Partition partition;
  bool is_set = false;
};

// Nothing for what is not a name of ours.
std::optional<Name> parse_name(std::string_view name);

// For SCAN: what the names of all partitions match whose home begins with `home_prefix`.
std::string pattern_of(std::string_view home_prefix);

// The slot of a cluster in which all keys of a home are.
std::uint16_t slot_of(std::string_view home);

}  // namespace once::redis
