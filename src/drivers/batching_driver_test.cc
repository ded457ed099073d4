#include "once/batching_driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <latch>
#include <thread>

#include "base/mutex.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/gated_store.h"
#include "testing/manual_clock.h"

namespace once {
namespace {

const Key kHot{{"hot", ""}, 0};

Plan<std::int64_t> count_up(Key key) {
  Write one = add(key, 1);
  const CommitOutcome outcome = co_await commit(one);
  co_return std::get<Committed>(outcome).numbers[0].value();
}

Result<Edit> append_one(const std::optional<Item>& standing) {
  return Replace{(standing ? std::get<Bytes>(standing->value) : "") + "x"};
}

Plan<ChangeOutcome> append_by_change() {
  Change wanted{.key = kHot, .apply = append_one};
  co_return co_await change(wanted);
}

TEST(BatchingDriver, CountsExactlyFromSixteenThreads) {
  const auto store = open_memory();
  {
    BatchingDriver driver(*store);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) EXPECT_TRUE(driver.run(count_up(kHot)).has_value());
      });
    }
  }
  EXPECT_EQ(store->get(kHot)->value().value, Value(std::int64_t{3200}));
}

TEST(BatchingDriver, NoChangeFromSixteenThreadsIsLostOrOvertaken) {
  const auto store = open_memory();
  {
    BatchingDriver driver(*store);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          const Result<ChangeOutcome> outcome = driver.run(append_by_change());
          EXPECT_TRUE(outcome && std::holds_alternative<Changed>(*outcome));
        }
      });
    }
  }
  EXPECT_EQ(std::get<Bytes>(store->get(kHot)->value().value).size(), 800U);
}

TEST(BatchingDriver, ThirtyChangesThatMeetASlowCommitNeedTwoCommits) {
  const auto memory = open_memory();
  const auto metered = meter(*memory);
  testing::GatedStore store(*metered);
  BatchingDriver driver(store);
  std::latch answered(30);
  const auto done = [&](const Result<ChangeOutcome>& outcome) {
    EXPECT_TRUE(outcome && std::holds_alternative<Changed>(*outcome));
    answered.count_down();
  };
  store.close();
  ASSERT_TRUE(driver.start<ChangeOutcome>(append_by_change(), done));
  store.await_visitor();
  for (int i = 1; i < 30; ++i) {
    ASSERT_TRUE(driver.start<ChangeOutcome>(append_by_change(), done));
  }
  store.open();
  answered.wait();
  EXPECT_EQ(metered->snapshot().commit_each.committed, 2U);
  EXPECT_EQ(std::get<Bytes>(memory->get(kHot)->value().value).size(), 30U);
}

TEST(BatchingDriver, RefusesMoreThanItMayHold) {
  const auto memory = open_memory();
  testing::GatedStore store(*memory);
  BatchingDriver driver(store, {.max_plans = 4});
  std::latch answered(4);
  const auto done = [&](const Result<std::int64_t>& number) {
    EXPECT_TRUE(number.has_value());
    answered.count_down();
  };
  store.close();
  ASSERT_TRUE(driver.start<std::int64_t>(count_up(kHot), done));
  store.await_visitor();
  for (int i = 1; i < 4; ++i) ASSERT_TRUE(driver.start<std::int64_t>(count_up(kHot), done));
  EXPECT_EQ(driver.run(count_up(kHot)).error().code, ErrorCode::unavailable);
  store.open();
  answered.wait();
  EXPECT_EQ(memory->get(kHot)->value().value, Value(std::int64_t{4}));
}

Plan<int> pause_for(Duration length) {
  co_await pause(length);
  co_return 1;
}

TEST(BatchingDriver, WakesAPausedPlanWhenItsTimeComes) {
  testing::ManualClock clock;
  const auto store = open_memory({}, clock);
  BatchingDriver driver(*store, {}, clock);
  std::latch answered(1);
  const auto done = [&](const Result<int>& one) {
    EXPECT_TRUE(one.has_value());
    answered.count_down();
  };
  ASSERT_TRUE(
      driver.start<int>(pause_for(std::chrono::seconds(10)), done, {.patience = Duration::max()}));
  std::thread mover([&] {
    while (!answered.try_wait()) clock.advance(std::chrono::seconds(1));
  });
  answered.wait();
  mover.join();
}

TEST(BatchingDriver, StoppingAnswersThosePaused) {
  const auto store = open_memory();
  std::optional<Result<int>> answer;
  {
    BatchingDriver driver(*store);
    ASSERT_TRUE(driver.start<int>(pause_for(std::chrono::seconds(30)),
                                  [&](Result<int> given) { answer = std::move(given); }));
  }
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().code, ErrorCode::unavailable);
}

// Runs what it is given when the test says so, on the test's thread.
class TestExecutor final : public Executor {
 public:
  void post(std::move_only_function<void()> task) override {
    const Lock lock(mutex_);
    tasks_.push_back(std::move(task));
    signal_.notify_one();
  }
  bool is_cancelled() const override { return cancelled; }
  std::atomic<bool> cancelled = false;

  void await_task() {
    Lock lock(mutex_);
    while (tasks_.empty()) signal_.wait(lock.native());
  }
  void run_next() {
    await_task();
    std::move_only_function<void()> task;
    {
      const Lock lock(mutex_);
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }

 private:
  Mutex mutex_;
  std::condition_variable signal_;
  std::deque<std::move_only_function<void()>> tasks_ ONCE_GUARDED_BY(mutex_);
};

Plan<std::thread::id> count_up_twice() {
  Write one = add(kHot, 1);
  co_await commit(one);
  Write two = add(kHot, 1);
  co_await commit(two);
  co_return std::this_thread::get_id();
}

TEST(BatchingDriver, APlanGoesOnAndEndsAtItsExecutor) {
  const auto store = open_memory();
  TestExecutor executor;
  BatchingDriver driver(*store);
  std::optional<std::thread::id> ran;
  std::optional<std::thread::id> told;
  const auto done = [&](const Result<std::thread::id>& where) {
    ran = where.value();
    told = std::this_thread::get_id();
  };
  ASSERT_TRUE(driver.start<std::thread::id>(count_up_twice(), done, {.executor = &executor}));
  executor.run_next();
  EXPECT_FALSE(told.has_value());
  executor.run_next();
  EXPECT_EQ(ran, std::this_thread::get_id());
  EXPECT_EQ(told, std::this_thread::get_id());
  EXPECT_EQ(store->get(kHot)->value().value, Value(std::int64_t{2}));
}

TEST(BatchingDriver, PlansAtTheirExecutorCountAsUnderWay) {
  const auto store = open_memory();
  TestExecutor executor;
  BatchingDriver driver(*store, {.max_plans = 1});
  bool told = false;
  const auto done = [&](const Result<std::int64_t>&) { told = true; };
  ASSERT_TRUE(driver.start<std::int64_t>(count_up(kHot), done, {.executor = &executor}));
  executor.await_task();
  EXPECT_EQ(driver.run(count_up(kHot)).error().code, ErrorCode::unavailable);
  executor.run_next();
  EXPECT_TRUE(told);
  EXPECT_TRUE(driver.run(count_up(kHot)).has_value());
}

Plan<std::monostate> wait_and_count() {
  co_await pause(Duration(1));
  Write one = add(kHot, 1);
  co_await commit(one);
  co_return std::monostate{};
}

TEST(BatchingDriver, APlanWhoseExecutorIsCancelledDoesNotGoOnAfterAPause) {
  const auto store = open_memory();
  TestExecutor executor;
  executor.cancelled = true;
  BatchingDriver driver(*store);
  std::promise<Result<std::monostate>> told;
  const auto done = [&](Result<std::monostate> given) { told.set_value(std::move(given)); };
  ASSERT_TRUE(driver.start<std::monostate>(wait_and_count(), done, {.executor = &executor}));
  EXPECT_EQ(told.get_future().get().error().code, ErrorCode::unavailable);
  EXPECT_FALSE(store->get(kHot)->has_value());
}

TEST(BatchingDriver, APlanThatComesBackFromItsExecutorToAStoppedDriverIsToldSo) {
  const auto store = open_memory();
  TestExecutor executor;
  std::optional<Result<std::thread::id>> answer;
  {
    BatchingDriver driver(*store);
    ASSERT_TRUE(driver.start<std::thread::id>(
        count_up_twice(), [&](Result<std::thread::id> given) { answer = std::move(given); },
        {.executor = &executor}));
    executor.await_task();
  }
  EXPECT_FALSE(answer.has_value());
  executor.run_next();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().code, ErrorCode::unavailable);
  EXPECT_EQ(store->get(kHot)->value().value, Value(std::int64_t{1}));
}

}  // namespace
}  // namespace once
