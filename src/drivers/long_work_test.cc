// What takes long, and that nothing short waits behind it.
#include "drivers/long_work.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <semaphore>

#include "once/batching_driver.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/started_plan.h"

namespace once {
namespace {

using testing::StartedPlan;

const Key kLarge{{"large", ""}, 0};
const Key kSmall{{"small", ""}, 0};
constexpr std::size_t kMany = 3U << 20;

class LongWorkTest : public ::testing::Test {
 protected:
  LongWorkTest() {
    Write large = put(kLarge, Bytes(kMany, 'x'), anything());
    large.version = {1};
    EXPECT_TRUE(store_->commit({&large, 1}).has_value());
  }

  std::unique_ptr<MemoryStore> store_ = open_memory();
};

// Where a plan was when it went on, and how long it stays there.
struct Stay {
  std::promise<std::thread::id> where;
  std::binary_semaphore go_on{0};
};

Plan<std::size_t> read_and_stay(Key key, Stay* stay) {
  const std::optional<Item> item = co_await get(key);
  stay->where.set_value(std::this_thread::get_id());
  stay->go_on.acquire();
  co_return std::get<Bytes>(item->value).size();
}

Plan<std::thread::id> count_small() {
  Write one = add(kSmall, 1);
  co_await commit(one);
  co_return std::this_thread::get_id();
}

Plan<ChangeOutcome> change_and_stay(Key key, std::size_t weight, Stay* stay) {
  Change wanted{.key = key, .apply = [stay](const std::optional<Item>&) -> Result<Edit> {
                  stay->where.set_value(std::this_thread::get_id());
                  stay->go_on.acquire();
                  return Replace{Bytes("y")};
                }};
  wanted.weight = weight;
  co_return co_await change(wanted);
}

TEST_F(LongWorkTest, APlanWithALargeAnswerHoldsUpNoOther) {
  Stay stay;
  BatchingDriver driver(*store_, {.long_work_threads = 2});
  StartedPlan<std::size_t> large(driver, read_and_stay(kLarge, &stay));
  const std::thread::id aside = stay.where.get_future().get();
  const Result<std::thread::id> small = driver.run(count_small());
  EXPECT_NE(small.value(), aside);
  EXPECT_FALSE(large.answered());
  stay.go_on.release();
  EXPECT_EQ(large.wait().value(), kMany);
}

TEST_F(LongWorkTest, AChangeOfALargeItemHoldsUpNoOther) {
  Stay stay;
  BatchingDriver driver(*store_, {.long_work_threads = 2});
  StartedPlan<ChangeOutcome> large(driver, change_and_stay(kLarge, 0, &stay));
  const std::thread::id aside = stay.where.get_future().get();
  EXPECT_NE(driver.run(count_small()).value(), aside);
  stay.go_on.release();
  EXPECT_TRUE(std::holds_alternative<Changed>(large.wait().value()));
  EXPECT_EQ(store_->get(kLarge)->value().value, Value(Bytes("y")));
}

TEST_F(LongWorkTest, AHeavyChangeOfASmallItemHoldsUpNoOther) {
  Stay stay;
  BatchingDriver driver(*store_, {.long_work_threads = 2});
  StartedPlan<ChangeOutcome> heavy(driver, change_and_stay(kSmall, 1U << 20, &stay));
  const std::thread::id aside = stay.where.get_future().get();
  Write one = put(kLarge, Bytes("z"), anything());
  const auto other = [&]() -> Plan<std::thread::id> {
    co_await commit(one);
    co_return std::this_thread::get_id();
  };
  EXPECT_NE(driver.run(other()).value(), aside);
  stay.go_on.release();
  EXPECT_TRUE(std::holds_alternative<Changed>(heavy.wait().value()));
}

Plan<std::thread::id> list_all() {
  const ListRequest everything;
  co_await list(everything);
  co_return std::this_thread::get_id();
}

TEST_F(LongWorkTest, AListIsReadWhereItHoldsUpNoOther) {
  BatchingDriver driver(*store_, {.long_work_threads = 2});
  const std::thread::id drivers = driver.run(count_small()).value();
  EXPECT_NE(driver.run(list_all()).value(), drivers);
}

Plan<std::thread::id> read_small(Key key) {
  co_await get(key);
  co_return std::this_thread::get_id();
}

TEST_F(LongWorkTest, WhatATenantReadsThatJustReadMuchIsReadAsideAndNobodyElses) {
  BatchingDriver driver(*store_, {.long_work_threads = 2});
  const std::thread::id drivers = driver.run(count_small()).value();
  const auto read = [&](Key key, std::uint64_t tenant) {
    std::promise<Result<std::thread::id>> told;
    EXPECT_TRUE(driver.start<std::thread::id>(
        read_small(std::move(key)),
        [&](Result<std::thread::id> where) { told.set_value(std::move(where)); },
        {.tenant = tenant}));
    return told.get_future().get().value();
  };
  EXPECT_EQ(read(kSmall, 1), drivers);
  Write two = put({{"large", "2"}, 0}, Bytes(kMany, 'x'), anything());
  two.version = {2};
  ASSERT_TRUE(store_->commit({&two, 1}).has_value());
  const std::vector<Key> both = {kLarge, two.key};
  const auto read_both = [&]() -> Plan<std::thread::id> {
    co_await get(std::span(both));
    co_return std::this_thread::get_id();
  };
  std::promise<void> done;
  ASSERT_TRUE(driver.start<std::thread::id>(
      read_both(), [&](const Result<std::thread::id>&) { done.set_value(); }, {.tenant = 1}));
  done.get_future().get();
  EXPECT_NE(read(kSmall, 1), drivers);
  EXPECT_EQ(read(kSmall, 2), drivers);
}

TEST_F(LongWorkTest, TheWorkOfOneTenantLeavesAThreadToOthersAndIsRefusedBeyondItsShare) {
  std::latch begun(1);
  std::binary_semaphore go_on{0};
  std::promise<void> other;
  std::atomic<int> ran = 0;
  BatchingDriver driver(*store_, {.long_work_threads = 2, .max_long_work_of_tenant = 3});
  ASSERT_TRUE(driver.run_long(1, [&] {
    begun.count_down();
    go_on.acquire();
  }));
  begun.wait();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(driver.run_long(1, [&] { ++ran; }));
  EXPECT_FALSE(driver.run_long(1, [&] { ++ran; }));
  EXPECT_EQ(driver.counts().long_work_waiting, 3U);
  EXPECT_EQ(driver.counts().long_work_refused, 1U);
  EXPECT_TRUE(driver.run_long(2, [&] { other.set_value(); }));
  other.get_future().get();
  EXPECT_EQ(ran, 0);
  go_on.release();
  while (ran < 3) std::this_thread::yield();
}

TEST_F(LongWorkTest, TheMembersOfAGroupDoNotKeepItFromItsTurn) {
  BatchingDriver driver(*store_, {.long_work_threads = 2, .max_long_work_of_tenant = 1'000});
  std::vector<std::unique_ptr<StartedPlan<ChangeOutcome>>> changes;
  const auto grow = []() -> Plan<ChangeOutcome> {
    const std::optional<Item> before = co_await get(kLarge);  // Takes a turn.
    Change wanted{.key = kLarge, .apply = [](const std::optional<Item>& item) -> Result<Edit> {
                    return Replace{std::get<Bytes>(item->value) + "z"};
                  }};
    co_return co_await change(wanted);
  };
  for (int i = 0; i < 50; ++i) {
    changes.push_back(std::make_unique<StartedPlan<ChangeOutcome>>(driver, grow()));
  }
  for (const auto& change : changes) {
    EXPECT_TRUE(std::holds_alternative<Changed>(change->wait().value()));
  }
  EXPECT_EQ(std::get<Bytes>(store_->get(kLarge)->value().value).size(), kMany + 50);
}

Plan<std::int64_t> write_large(Key key) {
  Write write = put(std::move(key), Bytes(kMany, 'x'), anything());
  co_await commit(write);
  co_return 1;
}

TEST_F(LongWorkTest, LargeCommitsOfARoundGoInSeveralAndSmallOnesBeforeThem) {
  const auto metered = meter(*store_);
  BatchingDriver driver(*metered, {.long_work_threads = 2});
  std::vector<std::unique_ptr<StartedPlan<std::int64_t>>> writes;
  for (int i = 0; i < 20; ++i) {
    writes.push_back(std::make_unique<StartedPlan<std::int64_t>>(
        driver, write_large({{"large", std::to_string(i)}, 0})));
  }
  for (const auto& write : writes) EXPECT_TRUE(write->wait().has_value());
  EXPECT_GE(metered->snapshot().commit_each.calls, 10U);
}

TEST_F(LongWorkTest, ADriverThatStopsAnswersWhatItHasNotBegun) {
  Stay stay;
  std::vector<std::unique_ptr<StartedPlan<std::size_t>>> plans;
  std::vector<std::unique_ptr<Stay>> stays;
  std::jthread release;
  {
    BatchingDriver driver(*store_, {.long_work_threads = 2});
    plans.push_back(
        std::make_unique<StartedPlan<std::size_t>>(driver, read_and_stay(kLarge, &stay)));
    stay.where.get_future().get();
    for (int i = 0; i < 10; ++i) {
      stays.push_back(std::make_unique<Stay>());
      plans.push_back(std::make_unique<StartedPlan<std::size_t>>(
          driver, read_and_stay(kLarge, stays.back().get())));
    }
    release = std::jthread([&] { stay.go_on.release(); });
    for (auto& each : stays) each->go_on.release();
  }
  for (auto& plan : plans) {
    const Result<std::size_t> answer = plan->wait();
    EXPECT_TRUE(answer || answer.error().code == ErrorCode::unavailable);
  }
}

}  // namespace
}  // namespace once
