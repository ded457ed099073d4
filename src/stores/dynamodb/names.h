// Partitions as DynamoDB's partition keys, which are UTF-8 of at most 2,048 bytes.
//
//   home            for a partition without a part
//   home │ part     (U+2502, without the spaces)
//
// What is UTF-8 stays as it is, so that people can read it in the console. Every other byte b, and
// each byte of a character that is used here itself, becomes the character U+10FF00 + b.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "once/key.h"

namespace once::dynamodb {

inline constexpr std::size_t kMaxNameBytes = 2'048;

std::string encode_partition(const Partition& partition);

// Nothing for what encode_partition never makes.
std::optional<Partition> decode_partition(std::string_view text);

// What the names of all partitions begin with whose home begins with `home_prefix`.
std::string encode_home_prefix(std::string_view home_prefix);

}  // namespace once::dynamodb
