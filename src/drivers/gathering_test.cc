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

TEST(Gathering, IsLeftOffForAWhileWhereNobodyComesBack) {
  Gathering gathering;
  gathering.round_took(microseconds(400), 10);
  gathering.gathered(4);
  int skipped = 0;
  for (; gathering.wanted(1) == 1 && skipped < 1'000; ++skipped) {
    gathering.round_took(microseconds(400), 10);
  }
  EXPECT_EQ(skipped, 32);
}

TEST(Gathering, GoesOnWhileMostComeBack) {
  Gathering gathering;
  gathering.round_took(microseconds(400), 10);
  gathering.gathered(5);
  gathering.round_took(microseconds(400), 10);
  EXPECT_EQ(gathering.wanted(1), 10U);
}

}  // namespace
}  // namespace once::detail
