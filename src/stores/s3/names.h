// Keys as names of objects, which S3 lists in the order of their bytes, and only upwards.
//
//   !i/HOME/!s/SORT          for a partition without a part
//   !i/HOME/!p/PART/!s/SORT
//   !h/SHA256/!s/SORT        where the name of the partition would be longer than kMaxPlainBytes
//
// SORT is 2^63-1 minus the sort in 16 hexadecimal digits, so the newest of a partition comes first
// (docs/hazards.md#h28). Of a home or part the letters, digits, '-', '_', '.' and '/' stay as they
// are, so that people can read them; every other byte is '!' and two hexadecimal digits, and so are
// slashes and dots of which some servers would make another path: "//", a slash at an end, "." and
// "..". The key itself is in the object, so it is never decoded from a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "once/key.h"

namespace once::s3 {

// S3 takes 1,024 bytes for a name; the rest is for the store's prefix and the sort.
inline constexpr std::size_t kMaxPlainBytes = 600;

inline constexpr std::string_view kPlainTree = "!i/";
inline constexpr std::string_view kHashedTree = "!h/";

// What the names of a partition's items begin with, and those of no others.
std::string partition_name(const Partition& partition);

std::string object_name(const Key& key);

// The sixteen digits of a sort.
std::string sort_name(std::int64_t sort);

// The sort that a name ends with; nothing if it ends otherwise.
std::optional<std::int64_t> sort_in(std::string_view name);

// What the plain names of all partitions begin with whose home begins with `home_prefix`; perhaps
// those of others as well.
std::string home_prefix_name(std::string_view home_prefix);

}  // namespace once::s3
