// What is in Redis: the keys that hold a partition's items, and an item as bytes.
//
//   once:{home}part:0   a string: the item at sort 0
//   once:{home}part:n   a sorted set: all other items, a member each, by sort
//
// In `home`, the bytes { } % are %7B %7D %25, so the first braces enclose it: that makes it the
// hash tag by which a cluster places keys, and a home is in one slot. All other bytes stay as they
// are.
//
// All members have the score 0, because scores are doubles and sorts are not; they are ordered as
// bytes. A member is the sort in 16 hexadecimal digits, and the record:
//
//   byte 0      'I' an integer, 'B' bytes
//   1 to 8      version
//   9 to 16     expiry in milliseconds, 2^63 - 1 for never
//   17 to 24    'I': the integer in two's complement
//               'B': a checksum of the key's name, the sort, the bytes above and the value
//   25 on       'B': the value
//
// All numbers are big-endian. An integer has no checksum, because the server adds to it.
//
// The scripts read and write records, too (scripts.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"
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

// Redis removes nothing by itself that expires at or after this time, which a script can still
// count exactly. Nothing expires before kLeastExpiry, which is past as well.
inline constexpr std::int64_t kLeastExpiry = 1;

// `name` is that of the key; `digits` the sort's.
std::string encode_record(std::string_view name, std::string_view digits, const Value& value,
                          Version version, Time expiry);

// `corrupt` whenever a check fails.
Result<Item> decode_record(std::string_view name, std::string_view digits, std::string_view record);

// Eight bytes, as in a record.
std::string encode_number(std::uint64_t number);
std::uint64_t decode_number(std::string_view bytes);

}  // namespace once::redis
