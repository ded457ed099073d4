#include "base/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "testing/manual_clock.h"

namespace once::testing {
namespace {

constexpr Duration kForever = std::chrono::hours(1);

TEST(Backoff, PausesAreSpreadUnderACeilingThatDoublesUpToTheCap) {
  Entropy entropy(5);
  for (int round = 0; round < 200; ++round) {
    ManualClock clock;
    Backoff backoff({.first = Duration(20), .longest = Duration(100)}, clock, entropy,
                    clock.now() + kForever);
    for (const int ceiling : {20, 40, 80, 100, 100}) {
      const Time before = clock.now();
      ASSERT_TRUE(backoff.pause());
      EXPECT_LE(clock.now() - before, Duration(ceiling));
    }
  }
}

TEST(Backoff, PausesUseTheirWholeRange) {
  Entropy entropy(6);
  Duration shortest = Duration::max(), longest = Duration::zero();
  for (int round = 0; round < 500; ++round) {
    ManualClock clock;
    const Time before = clock.now();
    Backoff backoff({.first = Duration(100)}, clock, entropy);
    ASSERT_TRUE(backoff.pause());
    shortest = std::min(shortest, clock.now() - before);
    longest = std::max(longest, clock.now() - before);
  }
  EXPECT_LT(shortest, Duration(5));
  EXPECT_GT(longest, Duration(95));
}

TEST(Backoff, NoPauseLastsBeyondTheEnd) {
  Entropy entropy(7);
  ManualClock clock;
  const Time end = clock.now() + Duration(500);
  Backoff backoff({}, clock, entropy, end);
  while (backoff.pause()) EXPECT_LE(clock.now(), end);
  EXPECT_LE(clock.now(), end);
  clock.advance(kForever);
  EXPECT_FALSE(backoff.pause());
}

TEST(Backoff, ASuccessBeginsWithTheFirstPauseAgain) {
  Entropy entropy(8);
  ManualClock clock;
  Backoff backoff({.first = Duration(10), .longest = Duration(100'000)}, clock, entropy);
  for (int i = 0; i < 12; ++i) (void)backoff.next();
  backoff.reset();
  EXPECT_LE(backoff.next(), Duration(10));
  EXPECT_LE(backoff.next(), Duration(20));
}

TEST(PauseBounds, NoPauseIsShorterThanTheShortestOrLongerThanTheLongest) {
  const PauseBounds bounds{
      .shortest = Duration(50), .first = Duration(100), .longest = Duration(400)};
  EXPECT_EQ(bounds.pause(0, 0), Duration(50));
  EXPECT_EQ(bounds.pause(0, 50), Duration(100));
  EXPECT_EQ(bounds.pause(1, 150), Duration(200));
  for (const int retry : {2, 3, 100, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(bounds.pause(retry, 0), Duration(50));
    EXPECT_EQ(bounds.pause(retry, 350), Duration(400));
    EXPECT_LE(bounds.pause(retry, ~std::uint64_t{0}), Duration(400));
  }
}

TEST(PauseBounds, BoundsThatLeaveNoChoiceAreTheirShortest) {
  const PauseBounds fixed{.shortest = Duration(7), .first = Duration(7), .longest = Duration(7)};
  EXPECT_EQ(fixed.pause(3, 12'345), Duration(7));
  const PauseBounds none{.first = Duration(0), .longest = Duration(0)};
  EXPECT_EQ(none.pause(5, 12'345), Duration(0));
}

}  // namespace
}  // namespace once::testing
