#include "drivers/gathering.h"

#include <gtest/gtest.h>

namespace once::detail {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Gathering, AfterALongRoundWaitsForAsManyAsWereAnswered) {
  Gathering gathering;
  gathering.round_took(microseconds(400), 10);
  EXPECT_EQ(gathering.wanted(6), 10U);
  EXPECT_EQ(gathering.wanted(12), 12U);
  EXPECT_EQ(gathering.patience(), microseconds(100));
}

TEST(Gathering, AfterAShortRoundWaitsForNobody) {
  Gathering gathering;
  gathering.round_took(microseconds(20), 10);
  EXPECT_EQ(gathering.wanted(6), 6U);
}

TEST(Gathering, NeverWaitsForLong) {
  Gathering gathering;
  gathering.round_took(seconds(5), 10);
  EXPECT_EQ(gathering.patience(), milliseconds(1));
}

int rounds_left_off(Gathering& gathering) {
  int rounds = 0;
  for (; gathering.wanted(1) == 1 && rounds < 1'000; ++rounds) {
    gathering.round_took(microseconds(400), 10);
  }
  return rounds;
}

TEST(Gathering, IsLeftOffForLongerEachTimeThatItWasInVain) {
  Gathering gathering;
  gathering.round_took(microseconds(400), 10);
  for (const int rounds : {2, 4, 8, 16, 32, 64, 128, 256, 256}) {
    gathering.gathered(9);
    EXPECT_EQ(rounds_left_off(gathering), rounds);
  }
}

TEST(Gathering, GoesOnWhileAllComeBack) {
  Gathering gathering;
  gathering.round_took(microseconds(400), 10);
  gathering.gathered(9);
  rounds_left_off(gathering);
  gathering.gathered(10);
  EXPECT_EQ(rounds_left_off(gathering), 0);
  gathering.gathered(9);
  EXPECT_EQ(rounds_left_off(gathering), 2);
}

}  // namespace
}  // namespace once::detail
