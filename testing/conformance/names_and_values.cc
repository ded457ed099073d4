// Any bytes in names and values.
#include <limits>
#include <map>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

std::string all_bytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

std::vector<std::string> odd_names() {
  return {std::string(1, '\0'),
          std::string(2, '\0'),
          "\x01",
          "\xff",
          "\xff\xff",
          "line\nbreak",
          "\r\n",
          "a/b",
          "/",
          "//",
          "a b",
          "\"'`\\",
          "{tag}",
          "..",
          ".",
          "%00",
          "\xc3\xa9\xe6\xbc\xa2",
          "a:b",
          "a|b",
          "*?[]",
          "\xc3\x28",
          std::string("a\0b", 3),
          "a\xff",
          "A",
          "a"};
}

}  // namespace

TEST_P(StoreConformance, OddBytesInNamesAreKeptApart) {
  std::map<Key, Item> seeded;
  for (const std::string& name : odd_names()) {
    for (const Partition& partition : {Partition{name, ""}, Partition{"h", name}}) {
      const Key key{partition, 0};
      seeded[key] = seed(key, Bytes(name));
    }
  }
  for (const auto& [key, item] : seeded) EXPECT_EQ(read(key), item) << to_text(key);
}

TEST_P(StoreConformance, TheBorderBetweenHomeAndPartCounts) {
  const std::vector<Key> keys = {{{"a", "bc"}, 0},
                                 {{"ab", "c"}, 0},
                                 {{"abc", ""}, 0},
                                 {{"a", std::string("\0b", 2)}, 0},
                                 {{std::string("a\0", 2), "b"}, 0}};
  std::vector<std::optional<Item>> items;
  for (std::size_t i = 0; i < keys.size(); ++i) items.push_back(seed(keys[i], Bytes("v")));
  const auto found = store().get(keys);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, items);
}

TEST_P(StoreConformance, SortsAreKeptApartOverTheirWholeRange) {
  std::vector<Key> keys;
  for (int bit = 0; bit < 63; ++bit) keys.push_back(key("p", std::int64_t{1} << bit));
  keys.push_back(key("p", 0));
  keys.push_back(key("p", std::numeric_limits<std::int64_t>::max()));
  std::vector<std::optional<Item>> items;
  for (const Key& one : keys) items.push_back(seed(one, std::int64_t{one.sort}));
  const auto found = store().get(keys);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, items);
}

TEST_P(StoreConformance, VeryLongNamesAreKeptApartToTheLastByte) {
  const std::size_t length = std::min<std::size_t>(limits().partition_bytes, 64U << 10);
  const Partition one{std::string(length / 2, 'x'), std::string(length - length / 2, 'y')};
  Partition other = one;
  other.part.back() = 'z';
  const Item first = seed({one, 0}, Bytes("one"));
  const Item second = seed({other, 0}, Bytes("other"));
  EXPECT_EQ(read({one, 0}), first);
  EXPECT_EQ(read({other, 0}), second);
}

TEST_P(StoreConformance, ValuesOfAnyBytesComeBackAsTheyWere) {
  for (const Bytes& value : {Bytes(), Bytes(1, '\0'), Bytes("\xff\xfe"), all_bytes(), Bytes("12"),
                             Bytes(8, '\0'), Bytes("line\r\nbreak\n")}) {
    const Item item = seed(key("k"), value);
    EXPECT_EQ(read(key("k")), item);
    EXPECT_TRUE(is_lost(commit({fresh(put(key("k"), value, absent()))}), 0, item));
  }
}

TEST_P(StoreConformance, IntegersComeBackAsTheyWere) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 53) + 1,
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    const Item item = seed(key("k"), value);
    EXPECT_EQ(read(key("k")), item);
  }
}

TEST_P(StoreConformance, VersionsOfAnyBitsComeBackAsTheyWere) {
  for (const std::uint64_t number : {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63,
                                     (std::uint64_t{1} << 53) + 1}) {
    Write write = put(key("k"), Bytes("v"), anything());
    write.version = Version{number};
    EXPECT_TRUE(is_committed(commit({write})));
    EXPECT_EQ(read(key("k")), item_of(write));
    EXPECT_TRUE(is_committed(commit({check(key("k"), unchanged(write.version))})));
  }
}

TEST_P(StoreConformance, ALargeValueComesBackWhole) {
  const std::size_t length = std::min<std::size_t>(limits().value_bytes, 1U << 20);
  Bytes value(length, '\0');
  for (std::size_t i = 0; i < length; ++i) value[i] = static_cast<char>(i * 31 >> 3);
  const Item item = seed(key("k"), value);
  EXPECT_EQ(read(key("k")), item);
}

}  // namespace once::testing
