// An item as bytes. The scripts read and write them, too (scripts.cc).
//
//   byte 0      'I' an integer, 'B' bytes
//   1 to 8      version
//   9 to 16     expiry in milliseconds, 2^63 - 1 for never
//   17 to 24    'I': the integer in two's complement
//               'B': a checksum of the key's name, the sort, the bytes above and the value
//   25 on       'B': the value
//
// All numbers are big-endian. An integer has no checksum, because the server adds to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"

namespace once::redis {

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
