// The bytes of keys and items, for stores that keep bytes. docs/formats.md draws every byte.
//
// Encoded keys compare as bytes in the order of Key: a partition is one contiguous run ordered by
// sort, and so are all homes with a common prefix. An encoded item carries a checksum that covers
// its encoded key: a value under another key is as corrupt as one with a flipped bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"
#include "once/key.h"

namespace once::format {

// The first byte of an encoded key. Records of the store itself sort before every item.
inline constexpr char kMetaTag = 0x01;
inline constexpr char kItemTag = 0x02;

// Each appends to `out`.
void encode_key(const Key& key, std::string& out);
void encode_partition(const Partition& partition, std::string& out);
void encode_home_prefix(std::string_view prefix, std::string& out);

// Empty unless `bytes` is what encode_key() makes of some key.
std::optional<Key> decode_key(std::string_view bytes);

// The sort at the end of an encoded key that is known to be sound.
std::int64_t sort_of(std::string_view encoded_key);

// The least string that is greater than every string with this prefix; empty if none is.
std::string after_prefix(std::string prefix);

// An item without a copy of its bytes.
struct ItemView {
  std::optional<std::int64_t> number;  // Empty when the value is bytes.
  std::string_view bytes;
  Version version;
  Time expiry = kNever;
};

Item to_item(const ItemView& view);

// Appends to `out`.
void encode_item(std::string_view encoded_key, const ItemView& item, std::string& out);

// `corrupt` whenever a check fails. The view points into `bytes`.
Result<ItemView> decode_item(std::string_view encoded_key, std::string_view bytes);

// The record that holds the number of a store's format. Its own form never changes.
std::string encode_format_number(std::uint32_t number);
Result<std::uint32_t> decode_format_number(std::string_view bytes);

}  // namespace once::format
