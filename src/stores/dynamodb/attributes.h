// Items as DynamoDB's attributes.
//
//   pk   S       the partition, as text (see below)
//   sk   N       the sort
//   v    N or B  the value: an integer, or bytes
//   ver  N       the version
//   was  N       the version that it replaced, where its writer knew it
//   exp  N       the expiry in milliseconds, missing for never
//   ttl  N       when DynamoDB may remove it, in seconds: not before it has expired by every clock
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"
#include "once/key.h"

namespace once::dynamodb {

using Json = nlohmann::json;

// How far the clocks of two processes may lie apart (docs/hazards.md#h15): the Date header's
// second, and what a reply takes to come.
inline constexpr Duration kClockError = std::chrono::seconds(2);

Json number(std::int64_t value);
Json number(std::uint64_t value);

// The seconds of `ttl` for an expiry: rounded up, and kClockError later.
std::int64_t ttl_of(Time expiry);

// `invalid` for a partition whose name is too long. The sort may be any.
Result<Json> key_attributes(const Key& key);

// Adds what an item consists of besides its key.
void add_item(Json& attributes, const Item& item);

// `corrupt` for what was not written by add_item.
Result<Item> item_in(const Json& attributes);

// The version that the item replaced, if it says so.
std::optional<Version> replaced_by(const Json& attributes);

// The integer in `v`, if it is one.
std::optional<std::int64_t> number_in(const Json& attributes);

Result<Key> key_in(const Json& attributes);

// Partitions as DynamoDB's partition keys, which are UTF-8 of at most 2,048 bytes.
//
//   home            for a partition without a part
//   home │ part     (U+2502, without the spaces)
//
// What is UTF-8 stays as it is, so that people can read it in the console. Every other byte b, and
// each byte of a character that is used here itself, becomes the character U+10FF00 + b.
inline constexpr std::size_t kMaxNameBytes = 2'048;

std::string encode_partition(const Partition& partition);

// Nothing for what encode_partition never makes.
std::optional<Partition> decode_partition(std::string_view text);

// What the names of all partitions begin with whose home begins with `home_prefix`.
std::string encode_home_prefix(std::string_view home_prefix);

}  // namespace once::dynamodb
