#include "stores/decorators/resolve.h"

#include <gtest/gtest.h>

namespace once::testing {
namespace {

const Key kKey{{"k", ""}, 0};
const Key kOther{{"other", ""}, 0};

Write with(std::uint64_t version, Write write) {
  write.version = Version{version};
  return write;
}
Item item(std::uint64_t version, Value value = Bytes("v")) { return {value, Version{version}}; }

using Standing = std::vector<std::optional<Item>>;
using Writes = std::vector<Write>;

TEST(Resolve, H7_OurVersionProvesTheWholeCommit) {
  const Writes sent = {with(1, put(kKey, Bytes("v"), absent())), erase(kOther, anything())};
  const Resolution found = resolve(sent, Standing{item(1), item(9)});
  ASSERT_TRUE(std::holds_alternative<Committed>(found));
  EXPECT_TRUE(std::get<Committed>(found).numbers.empty());
}

TEST(Resolve, H7_AForeignVersionProvesNothing) {
  for (const Guard guard : {anything(), absent(), unchanged(Version{5})}) {
    const Writes sent = {with(1, put(kKey, Bytes("v"), guard))};
    EXPECT_TRUE(std::holds_alternative<StillUnknown>(resolve(sent, Standing{item(2)})));
    EXPECT_TRUE(std::holds_alternative<StillUnknown>(resolve(sent, Standing{std::nullopt})));
  }
}

TEST(Resolve, H7_AnotherItemOnALastingKeyProvesTheLoss) {
  const Writes sent = {with(1, add(kOther, 1)), with(1, put(kKey, Bytes("v"), absent_lasting()))};
  const Resolution found = resolve(sent, Standing{item(8, std::int64_t{1}), item(2)});
  ASSERT_TRUE(std::holds_alternative<Lost>(found));
  EXPECT_EQ(std::get<Lost>(found).write, 1U);
  EXPECT_EQ(std::get<Lost>(found).current, item(2));
  EXPECT_TRUE(std::holds_alternative<StillUnknown>(resolve(sent, Standing(2))));
}

TEST(Resolve, NumbersAreGivenOnlyWhereOurVersionStands) {
  const Writes sent = {with(1, add(kKey, 2)), with(2, raise(kOther, 3)),
                       with(3, put({{"p", ""}, 0}, Bytes("v"), anything()))};
  const Resolution found =
      resolve(sent, Standing{item(1, std::int64_t{12}), item(9, std::int64_t{30}), item(3)});
  ASSERT_TRUE(std::holds_alternative<Committed>(found));
  const std::vector<std::optional<std::int64_t>> numbers = {12, std::nullopt, std::nullopt};
  EXPECT_EQ(std::get<Committed>(found).numbers, numbers);
}

TEST(Resolve, EraseAndCheckLeaveNothingToRecognise) {
  const Writes sent = {with(1, erase(kKey, unchanged(Version{5}))),
                       with(1, check(kOther, unchanged(Version{6})))};
  EXPECT_TRUE(std::holds_alternative<StillUnknown>(resolve(sent, Standing{item(1), item(1)})));
}

TEST(MaySendAgain, OnlyWhatCannotLandTwice) {
  const Guard since = unchanged(Version{5});
  EXPECT_TRUE(may_send_again(Writes{put(kKey, Bytes("v"), since)}));
  EXPECT_TRUE(may_send_again(Writes{erase(kKey, since)}));
  EXPECT_TRUE(may_send_again(Writes{put(kKey, Bytes("v"), absent_lasting())}));
  EXPECT_TRUE(may_send_again(Writes{put(kKey, Bytes("v"), since), raise(kOther, 3)}));
  EXPECT_FALSE(may_send_again(Writes{put(kKey, Bytes("v"), anything())}));
  EXPECT_FALSE(may_send_again(Writes{put(kKey, Bytes("v"), absent())}));
  EXPECT_FALSE(may_send_again(Writes{erase(kKey, anything())}));
  EXPECT_FALSE(may_send_again(Writes{raise(kKey, 3)}));
  EXPECT_FALSE(may_send_again(Writes{check(kKey, since), put(kOther, Bytes("v"), anything())}));
}

TEST(MaySendAgain, NeverAnAdd) {
  EXPECT_FALSE(may_send_again(Writes{add(kKey, 1)}));
  EXPECT_FALSE(may_send_again(Writes{add(kKey, 1, unchanged(Version{5}))}));
  EXPECT_FALSE(may_send_again(Writes{put(kKey, Bytes("v"), absent_lasting()), add(kOther, 1)}));
}

}  // namespace
}  // namespace once::testing
