#include "once/plan.h"

#include <gtest/gtest.h>

#include <memory>

#include "once/blocking_driver.h"
#include "once/memory_store.h"
#include "testing/manual_clock.h"

namespace once {
namespace {

const Key kKey{{"key", ""}, 0};

class PlanTest : public ::testing::Test {
 protected:
  testing::ManualClock clock_;
  std::unique_ptr<MemoryStore> store_ = open_memory({}, clock_);
  Entropy entropy_{1};
  BlockingDriver driver_{*store_, clock_, entropy_};
};

Plan<std::int64_t> count_up() {
  Write one = add(kKey, 1);
  const CommitOutcome outcome = co_await commit(one);
  co_return std::get<Committed>(outcome).numbers[0].value();
}

Plan<std::int64_t> count_up_twice() {
  const std::int64_t first = co_await count_up();
  const std::int64_t second = co_await count_up();
  co_return first * 10 + second;
}

Plan<std::int64_t> count_beyond_the_end() {
  Write most = put(kKey, std::numeric_limits<std::int64_t>::max(), anything());
  co_await commit(most);
  co_return co_await count_up();
}

TEST_F(PlanTest, PerformsNothingUntilADriverRunsIt) {
  const Plan<std::int64_t> plan = count_up();
  EXPECT_EQ(store_->usage().items, 0U);
}

TEST_F(PlanTest, AwaitsOtherPlans) { EXPECT_EQ(driver_.run(count_up_twice()).value(), 12); }

TEST_F(PlanTest, EndsWithTheErrorOfAStepThatFails) {
  EXPECT_EQ(driver_.run(count_beyond_the_end()).error().code, ErrorCode::invalid);
}

TEST_F(PlanTest, NothingAfterAFailedStepRuns) {
  bool went_on = false;
  const auto plan = [&went_on]() -> Plan<std::monostate> {
    co_await count_beyond_the_end();
    went_on = true;
    co_return std::monostate{};
  };
  EXPECT_FALSE(driver_.run(plan()).has_value());
  EXPECT_FALSE(went_on);
}

Plan<ErrorCode> survive() {
  const Result<std::int64_t> inner = co_await attempt(count_beyond_the_end());
  co_return inner.has_value() ? ErrorCode::unknown : inner.error().code;
}

Plan<ErrorCode> wrap(int depth) {
  if (depth == 0) co_return co_await survive();
  co_return co_await wrap(depth - 1);
}

TEST_F(PlanTest, AnAttemptedPlanHandsItsErrorOver) {
  EXPECT_EQ(driver_.run(survive()).value(), ErrorCode::invalid);
}

TEST_F(PlanTest, ErrorsClimbOnlyToTheFirstWhoAttempts) {
  EXPECT_EQ(driver_.run(wrap(5)).value(), ErrorCode::invalid);
}

Plan<std::int64_t> answer_at_once(std::int64_t answer) { co_return answer; }

Plan<std::int64_t> add_up(std::int64_t times) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < times; ++i) {
    const std::int64_t one = co_await answer_at_once(1);
    sum += one;
  }
  co_return sum;
}

TEST_F(PlanTest, AwaitingAMillionPlansThatNeverWaitUsesNoStack) {
  EXPECT_EQ(driver_.run(add_up(1'000'000)).value(), 1'000'000);
}

Plan<std::int64_t> refuse() { co_return failure(ErrorCode::denied, "not today"); }

TEST_F(PlanTest, MayEndWithAnErrorOfItsOwn) {
  EXPECT_EQ(driver_.run(refuse()).error().message, "not today");
}

Plan<std::monostate> hold(std::shared_ptr<int> held, Duration length) {
  co_await pause(length);
  *held = 1;
  co_return std::monostate{};
}

Plan<std::monostate> hold_below(std::shared_ptr<int> held) {
  co_await hold(held, Duration(10));
  co_return std::monostate{};
}

TEST_F(PlanTest, FreesWhatItHoldsWhenAbandonedBeforeTheStart) {
  const auto held = std::make_shared<int>(0);
  {
    const Plan<std::monostate> plan = hold(held, Duration(1));
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(PlanTest, FreesWhatItHoldsWhenAnErrorPassesThrough) {
  const auto held = std::make_shared<int>(0);
  const auto plan = [](std::shared_ptr<int> mine) -> Plan<std::monostate> {
    const std::shared_ptr<int> local = mine;
    co_await refuse();
    co_return std::monostate{};
  };
  EXPECT_FALSE(driver_.run(plan(held)).has_value());
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(PlanTest, FreesWhatItHoldsWhenTimeRunsOutInAPause) {
  const auto held = std::make_shared<int>(0);
  EXPECT_FALSE(driver_.run(hold_below(held), Duration(5)).has_value());
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

TEST_F(PlanTest, KnowsTheVersionOfItsWriteWhateverTheAnswer) {
  const auto plan = []() -> Plan<Version> {
    Write first = put(kKey, Bytes("x"), absent());
    co_await commit(first);
    co_return first.version;
  };
  const Version version = driver_.run(plan()).value();
  EXPECT_TRUE(version);
  EXPECT_EQ(store_->get(kKey)->value().version, version);
}

TEST_F(PlanTest, GetsTimeLimitsVersionsAndRandomnessFromItsDriver) {
  const auto plan = [this]() -> Plan<std::monostate> {
    const Time now = co_await store_now();
    EXPECT_EQ(now, clock_.now());
    const Limits* limits = co_await store_limits();
    EXPECT_EQ(limits, &store_->limits());
    const Version first = co_await fresh_version();
    const Version second = co_await fresh_version();
    EXPECT_NE(first, second);
    const std::uint64_t drawn = co_await random_number();
    EXPECT_EQ(drawn, Entropy(1).random());
    co_return std::monostate{};
  };
  EXPECT_TRUE(driver_.run(plan()).has_value());
}

Plan<std::size_t> read_all() {
  const std::vector<Key> keys = {kKey, {{"key", ""}, 1}, {{"other", ""}, 0}};
  const std::vector<std::optional<Item>> items = co_await get(keys);
  const ScanRequest request{.partition = {"key", ""}};
  const ScanPage page = co_await scan(request);
  co_return items.size() * 10 + page.entries.size();
}

TEST_F(PlanTest, ReadsAndScans) {
  ASSERT_TRUE(driver_.run(count_up()).has_value());
  EXPECT_EQ(driver_.run(read_all()).value(), 31U);
}

}  // namespace
}  // namespace once
