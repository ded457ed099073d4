#include "kernel/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace once::format {
namespace {

std::string encoded(const Key& key) {
  std::string out;
  encode_key(key, out);
  return out;
}

std::string encoded(std::string_view key, const ItemView& item) {
  std::string out;
  encode_item(key, item, out);
  return out;
}

std::vector<Key> odd_keys() {
  const std::vector<std::string> names = {std::string("\0", 1),
                                          std::string("\0\0", 2),
                                          std::string("\0\1", 2),
                                          std::string("\0\xff", 2),
                                          "\1",
                                          "a",
                                          std::string("a\0", 2),
                                          std::string("a\0b", 3),
                                          "a\1",
                                          "ab",
                                          "\xff",
                                          "\xff\xff"};
  std::vector<Key> keys;
  for (const std::string& home : names) {
    keys.push_back({{home, ""}, 0});
    for (const std::string& part : names) {
      for (const std::int64_t sort : {std::int64_t{0}, std::int64_t{255}, std::int64_t{256},
                                      std::numeric_limits<std::int64_t>::max()}) {
        keys.push_back({{home, part}, sort});
      }
    }
  }
  return keys;
}

TEST(KeyFormat, OrdersAsKeysDoWhateverTheBytes) {
  std::vector<Key> keys = odd_keys();
  std::ranges::sort(keys);
  for (std::size_t i = 1; i < keys.size(); ++i) {
    EXPECT_LT(encoded(keys[i - 1]), encoded(keys[i])) << to_text(keys[i]);
  }
}

TEST(KeyFormat, ComesBackAsItWentIn) {
  for (const Key& key : odd_keys()) {
    EXPECT_EQ(decode_key(encoded(key)), key);
    EXPECT_EQ(sort_of(encoded(key)), key.sort);
  }
}

TEST(KeyFormat, HomesWithACommonPrefixAreContiguous) {
  for (const Key& key : odd_keys()) {
    for (const Key& other : odd_keys()) {
      std::string first;
      encode_home_prefix(key.partition.home, first);
      const std::string last = after_prefix(first);
      const std::string candidate = encoded(other);
      EXPECT_EQ(candidate >= first && candidate < last,
                other.partition.home.starts_with(key.partition.home));
    }
  }
}

TEST(KeyFormat, RefusesWhatIsNoKey) {
  const std::string sound = encoded({{"home", "part"}, 7});
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_FALSE(decode_key(sound.substr(0, length)));
  }
  EXPECT_FALSE(decode_key(sound + 'x'));
  EXPECT_FALSE(decode_key(encoded({{"", "part"}, 7})));
  EXPECT_FALSE(decode_key(encoded({{"home", "part"}, -1})));
  EXPECT_FALSE(decode_key(kMetaTag + sound.substr(1)));
}

TEST(ItemFormat, ComesBackAsItWentIn) {
  const std::string key = encoded({{"home", ""}, 7});
  const Time soon = Time(Duration(1'700'000'000'000));
  const std::vector<Item> items = {{std::int64_t{0}, Version{1}, kNever},
                                   {std::numeric_limits<std::int64_t>::min(), Version{2}, soon},
                                   {Bytes(), Version{~0ULL}, Time(Duration(-1))},
                                   {Bytes("\0\xff", 2), Version{3}, soon},
                                   {Bytes(100'000, 'x'), Version{4}, kNever}};
  for (const Item& item : items) {
    const auto* number = std::get_if<std::int64_t>(&item.value);
    ItemView view{.version = item.version, .expiry = item.expiry};
    if (number != nullptr) {
      view.number = *number;
    } else {
      view.bytes = std::get<Bytes>(item.value);
    }
    const std::string bytes = encoded(key, view);
    const Result<ItemView> back = decode_item(key, bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(to_item(*back), item);
  }
}

TEST(ItemFormat, EveryFlippedBitIsCorrupt) {
  const std::string key = encoded({{"home", ""}, 7});
  const std::string sound = encoded(key, {.bytes = "value", .version = Version{5}});
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const Result<ItemView> item = decode_item(key, bytes);
    ASSERT_FALSE(item) << bit;
    EXPECT_EQ(item.error().code, ErrorCode::corrupt);
  }
}

TEST(ItemFormat, EveryTruncationIsCorrupt) {
  const std::string key = encoded({{"home", ""}, 7});
  const std::string sound = encoded(key, {.number = 5, .version = Version{5}});
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_FALSE(decode_item(key, sound.substr(0, length)));
  }
}

TEST(ItemFormat, AValueUnderAnotherKeyIsCorrupt) {
  const std::string bytes =
      encoded(encoded({{"home", ""}, 7}), {.bytes = "value", .version = Version{5}});
  const Result<ItemView> moved = decode_item(encoded({{"home", ""}, 8}), bytes);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::corrupt);
  EXPECT_NE(moved.error().message.find("home@8"), std::string::npos);
}

TEST(FormatNumber, ComesBackAndIsCheckedWhole) {
  const std::string bytes = encode_format_number(70'000);
  EXPECT_EQ(decode_format_number(bytes).value(), 70'000U);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_format_number(flipped));
  }
  EXPECT_FALSE(decode_format_number(bytes.substr(1)));
}

}  // namespace
}  // namespace once::format
