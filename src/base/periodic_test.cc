#include "base/periodic.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "testing/manual_clock.h"

namespace once {
namespace {

TEST(Periodic, WorksOncePerTurnAndAgainAtOnceWhileThereIsMore) {
  testing::ManualClock clock;
  std::counting_semaphore<> worked(0);
  int calls = 0;
  const Periodic periodic(clock, std::chrono::seconds(1), [&] {
    const bool more = ++calls % 3 != 0;
    worked.release();
    return more;
  });
  EXPECT_FALSE(worked.try_acquire());
  for (int turn = 1; turn <= 3; ++turn) {
    clock.advance(std::chrono::seconds(2));
    for (int call = 0; call < 3; ++call) worked.acquire();
    EXPECT_EQ(calls, turn * 3);
  }
}

TEST(Periodic, EndsPromptlyWithoutWaitingForItsTurn) {
  testing::ManualClock clock;
  bool worked = false;
  {
    const Periodic periodic(clock, std::chrono::hours(1), [&] {
      worked = true;
      return false;
    });
  }
  EXPECT_FALSE(worked);
}

TEST(Periodic, EndsBetweenCallsThoughThereIsMore) {
  testing::ManualClock clock;
  std::binary_semaphore working(0);
  const Periodic periodic(clock, std::chrono::seconds(1), [&] {
    working.release();
    return true;
  });
  clock.advance(std::chrono::seconds(1));
  working.acquire();
}

}  // namespace
}  // namespace once
