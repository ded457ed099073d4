#include "drivers/batch_window.h"

#include <gtest/gtest.h>

namespace once::detail {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BatchWindow, AfterALongRoundWaitsForAsManyAsWereAnswered) {
  BatchWindow window;
  window.round_ended(microseconds(400), 10);
  EXPECT_EQ(window.wanted(6), 10U);
  EXPECT_EQ(window.wanted(12), 12U);
  EXPECT_EQ(window.longest_wait(), microseconds(100));
}

TEST(BatchWindow, AfterAShortRoundWaitsForNobody) {
  BatchWindow window;
  window.round_ended(microseconds(20), 10);
  EXPECT_EQ(window.wanted(6), 6U);
}

TEST(BatchWindow, NeverWaitsForLong) {
  BatchWindow window;
  window.round_ended(seconds(5), 10);
  EXPECT_EQ(window.longest_wait(), milliseconds(1));
}

int rounds_without_a_wait(BatchWindow& window) {
  int rounds = 0;
  for (; window.wanted(1) == 1 && rounds < 1'000; ++rounds) {
    window.round_ended(microseconds(400), 10);
  }
  return rounds;
}

TEST(BatchWindow, IsSkippedForLongerEachTimeThatItWasInVain) {
  BatchWindow window;
  window.round_ended(microseconds(400), 10);
  for (const int rounds : {2, 4, 8, 16, 32, 64, 128, 256, 256}) {
    window.wait_ended(9);
    EXPECT_EQ(rounds_without_a_wait(window), rounds);
  }
}

TEST(BatchWindow, GoesOnWhileAllComeBack) {
  BatchWindow window;
  window.round_ended(microseconds(400), 10);
  window.wait_ended(9);
  rounds_without_a_wait(window);
  window.wait_ended(10);
  EXPECT_EQ(rounds_without_a_wait(window), 0);
  window.wait_ended(9);
  EXPECT_EQ(rounds_without_a_wait(window), 2);
}

}  // namespace
}  // namespace once::detail
