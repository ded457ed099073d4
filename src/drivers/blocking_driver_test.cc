#include "once/blocking_driver.h"

#include <gtest/gtest.h>

#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "testing/manual_clock.h"

namespace once {
namespace {

const Key kKey{{"key", ""}, 0};

Plan<int> pause_often(int times, Duration length) {
  for (int i = 0; i < times; ++i) co_await pause(length);
  co_return times;
}

TEST(BlockingDriver, PausesAsLongAsThePlanAsks) {
  testing::ManualClock clock;
  const auto store = open_memory({}, clock);
  BlockingDriver driver(*store, clock);
  const Time before = clock.now();
  EXPECT_EQ(driver.run(pause_often(3, Duration(50))).value(), 3);
  EXPECT_EQ(clock.now() - before, Duration(150));
}

TEST(BlockingDriver, EndsAsUnavailableWhenPatienceIsOver) {
  testing::ManualClock clock;
  const auto store = open_memory({}, clock);
  BlockingDriver driver(*store, clock);
  const Time before = clock.now();
  const Result<int> answer = driver.run(pause_often(1000, Duration(50)), Duration(120));
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
  EXPECT_EQ(clock.now() - before, Duration(120));
}

TEST(BlockingDriver, BeginsNothingWithoutPatience) {
  testing::ManualClock clock;
  const auto store = open_memory({}, clock);
  BlockingDriver driver(*store, clock);
  const auto write = []() -> Plan<std::monostate> {
    Write mark = put(kKey, Bytes("x"), absent());
    co_await commit(mark);
    co_return std::monostate{};
  };
  EXPECT_EQ(driver.run(write(), Duration::zero()).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(store->get(kKey)->has_value());
}

Plan<std::monostate> insist() {
  Write write = put(kKey, Bytes("x"), absent());
  for (;;) {
    const Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (outcome) co_return std::monostate{};
    co_await pause(Duration(100));
  }
}

TEST(BlockingDriver, EndsAsUnknownWhenOneOfItsCommitsWas) {
  testing::ManualClock clock;
  const auto store = open_memory({}, clock);
  const auto faulty = inject_faults(*store, {.seed = 1, .fail_after = 1.0}, clock);
  BlockingDriver driver(*faulty, clock);
  EXPECT_EQ(driver.run(insist(), Duration(500)).error().code, ErrorCode::unknown);
  EXPECT_TRUE(store->get(kKey)->has_value());
}

}  // namespace
}  // namespace once
