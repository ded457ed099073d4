#include "stores/decorators/resolve.h"

#include <gtest/gtest.h>

#include "stores/decorators/backoff.h"
#include "testing/manual_clock.h"

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
  EXPECT_EQ(std::get<Lost>(found).standing, item(2));
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

TEST(BackoffTest, PausesAreSpreadUnderACeilingThatDoublesUpToTheCap) {
  Entropy entropy(5);
  for (int round = 0; round < 200; ++round) {
    ManualClock clock;
    Backoff backoff({.base = Duration(20), .cap = Duration(100), .deadline = kAttemptLife}, clock,
                    entropy);
    for (const int ceiling : {20, 40, 80, 100, 100}) {
      const Time before = clock.now();
      ASSERT_TRUE(backoff.pause());
      EXPECT_LE(clock.now() - before, Duration(ceiling));
    }
  }
}

TEST(BackoffTest, PausesUseTheirWholeRange) {
  Entropy entropy(6);
  Duration shortest = Duration::max(), longest = Duration::zero();
  for (int round = 0; round < 500; ++round) {
    ManualClock clock;
    const Time before = clock.now();
    Backoff backoff({.base = Duration(100)}, clock, entropy);
    ASSERT_TRUE(backoff.pause());
    shortest = std::min(shortest, clock.now() - before);
    longest = std::max(longest, clock.now() - before);
  }
  EXPECT_LT(shortest, Duration(5));
  EXPECT_GT(longest, Duration(95));
}

TEST(BackoffTest, NothingGoesOnAfterTheDeadlineNorAfterTheAttemptsLife) {
  Entropy entropy(7);
  for (const Duration deadline : {Duration(500), kAttemptLife * 3}) {
    ManualClock clock;
    const Time end = clock.now() + std::min(deadline, kAttemptLife);
    Backoff backoff({.deadline = deadline}, clock, entropy);
    while (backoff.pause()) EXPECT_LE(clock.now(), end);
    EXPECT_LE(clock.now(), end);
    clock.advance(kAttemptLife);
    EXPECT_FALSE(backoff.pause());
  }
}

}  // namespace
}  // namespace once::testing
