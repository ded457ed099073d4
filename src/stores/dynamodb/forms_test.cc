// What needs no wire: names, attributes, and the order within a group.
#include <gtest/gtest.h>

#include "aws/group.h"
#include "stores/dynamodb/attributes.h"

namespace once::dynamodb {
namespace {

using namespace std::chrono_literals;

TEST(DynamoDbNames, WhatIsUtf8IsReadableAndWhatIsNotComesBackByteByByte) {
  EXPECT_EQ(encode_partition({"claim/default/caf\xc3\xa9", ""}), "claim/default/caf\xc3\xa9");
  EXPECT_EQ(encode_partition({"log/n/s", "c"}),
            "log/n/s\xe2\x94\x82"
            "c");
  for (const Partition& odd :
       {Partition{"\xff", ""}, Partition{"a", "\xc3"}, Partition{std::string("\0", 1), ""},
        Partition{"a\xe2\x94\x82"
                  "b",
                  ""},
        Partition{"a", "\xe2\x94\x82"}, Partition{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbc\x80"},
        Partition{"\xed\xa0\x80", ""}, Partition{"\xf4\x90\x80\x80", ""},
        Partition{"\xe0\x80\x80", "x"}}) {
    EXPECT_EQ(decode_partition(encode_partition(odd)), odd);
  }
}

TEST(DynamoDbNames, EachPartitionHasOneNameAndOthersHaveNone) {
  for (const std::string_view other :
       {std::string_view("a\xe2\x94\x82"),
        std::string_view("\xe2\x94\x82"
                         "b"),
        std::string_view(""), std::string_view("\xff"),
        std::string_view("\xf4\x8f\xbd\xa1")}) {  // An 'a' that needs no escape.
    EXPECT_EQ(decode_partition(other), std::nullopt);
  }
}

TEST(DynamoDbNames, APrefixStopsBeforeACharacterThatALongerHomeMayEndOtherwise) {
  EXPECT_EQ(encode_home_prefix("claim/default/caf\xc3"), "claim/default/caf");
  EXPECT_EQ(encode_home_prefix("\xff"), "");
}

TEST(DynamoDbAttributes, H15_TheEngineRemovesNothingBeforeAnybodysClockSaysSo) {
  EXPECT_EQ(ttl_of(Time(10'000ms)), 12);
  EXPECT_EQ(ttl_of(Time(10'001ms)), 13);
  for (const Duration ms : {1ms, 999ms, 1'000ms, 123'456'789ms}) {
    EXPECT_GE(std::chrono::seconds(ttl_of(Time(ms))), ms + kClockError);
  }
}

TEST(DynamoDbAttributes, WhatIsNotAnItemOfOursIsCorrupt) {
  Json sound = *key_attributes({{"h", ""}, 1});
  add_item(sound, {Bytes("v"), Version{1}, Time(5ms)});
  ASSERT_TRUE(item_in(sound).has_value());
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, Json>>{{"v", {{"S", "text"}}},
                                                 {"v", {{"N", "1.5"}}},
                                                 {"v", {{"N", "9223372036854775808"}}},
                                                 {"v", {{"B", "not base64"}}},
                                                 {"v", {{"B", "dg"}}},
                                                 {"ver", {{"N", "-1"}}},
                                                 {"exp", {{"S", "soon"}}},
                                                 {"exp", nullptr}}) {
    Json damaged = sound;
    damaged[name] = value;
    EXPECT_EQ(item_in(damaged).error().code, ErrorCode::corrupt) << damaged.dump();
  }
  EXPECT_EQ(item_in(Json()).error().code, ErrorCode::corrupt);
  EXPECT_EQ(key_in({{"pk", {{"S", "h"}}}}).error().code, ErrorCode::corrupt);
}

TEST(DynamoDbGroup, H26_OnlyWhatSharesAKeyWaits) {
  const auto write = [](const char* home) { return erase({{home, ""}, 0}, anything()); };
  const std::vector<std::vector<Write>> group = {
      {write("a")}, {write("b")}, {write("a"), write("c")},
      {write("c")}, {write("d")}, {write("b"), write("c")}};
  const std::vector<Transaction> transactions(group.begin(), group.end());
  EXPECT_EQ(aws::key_disjoint_batches(transactions), (std::vector<std::size_t>{0, 0, 1, 2, 0, 3}));
}

}  // namespace
}  // namespace once::dynamodb
