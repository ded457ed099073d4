// Plans that wait for a key: what they cost, and when they go on.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>
#include <latch>

#include "once/batching_driver.h"
#include "once/claims.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/counted_watch.h"
#include "testing/manual_clock.h"
#include "testing/started_plan.h"

namespace once {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::StartedPlan;

const Key kClaim = claims::claim_key("default", "k");

// What runs on the driver's thread, which is the executor of all of them.
class Caller final : public Executor {
 public:
  void post(std::move_only_function<void()> task) override { task(); }
  bool is_cancelled() const override { return hung_up; }
  std::atomic<bool> hung_up = false;
};

class ParkedPlansTest : public ::testing::Test {
 protected:
  Claimed take(BatchingDriver& driver, Duration lease = minutes(10)) {
    return std::get<Claimed>(driver.run(claims::take(kClaim, {.lease = lease})).value());
  }

  std::future<Result<ClaimOutcome>> wait_for_claim(BatchingDriver& driver, std::uint64_t tenant = 0,
                                                   Executor* executor = nullptr) {
    std::promise<Result<ClaimOutcome>> told;
    std::future<Result<ClaimOutcome>> answer = told.get_future();
    EXPECT_TRUE(driver.start<ClaimOutcome>(
        claims::take_within(kClaim, {.lease = minutes(10)}, minutes(5)),
        [told = std::move(told)](Result<ClaimOutcome> given) mutable {
          told.set_value(std::move(given));
        },
        {.patience = minutes(6), .executor = executor, .tenant = tenant}));
    return answer;
  }

  // The clock stands still, so that nothing goes on by time.
  testing::ManualClock clock_;
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<MeteredStore> store_ = meter(*memory_);
};

void await_waiting(const BatchingDriver& driver, std::size_t count) {
  while (driver.counts().plans_waiting < count) std::this_thread::yield();
}

bool is_answered(const std::future<Result<ClaimOutcome>>& answer) {
  return answer.wait_for(seconds(0)) == std::future_status::ready;
}

TEST_F(ParkedPlansTest, PlansThatWaitForAKeyTakeNoPlaceOfOthers) {
  BatchingDriver driver(*store_, {.max_plans = 2}, clock_);
  take(driver);
  std::vector<std::future<Result<ClaimOutcome>>> waiting;
  for (std::size_t i = 1; i <= 50; ++i) {
    waiting.push_back(wait_for_claim(driver));
    await_waiting(driver, i);
    // Once it is parked it is no plan under way; its place is taken a moment before.
    while (!driver.run(claims::show(kClaim))) std::this_thread::yield();
  }
  EXPECT_TRUE(driver.run(claims::take(claims::claim_key("default", "other"), {})).has_value());
}

TEST_F(ParkedPlansTest, AReleaseWakesTheFirstInTheLineAtOnceAndItsReleaseTheNext) {
  BatchingDriver driver(*store_, {}, clock_);
  Ticket ticket = take(driver).ticket;
  std::vector<std::future<Result<ClaimOutcome>>> waiting;
  for (std::size_t i = 0; i < 20; ++i) {
    waiting.push_back(wait_for_claim(driver));
    await_waiting(driver, i + 1);
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    ASSERT_TRUE(driver.run(claims::release(kClaim, ticket, "", Release::retryable)).has_value());
    const Result<ClaimOutcome> next = waiting[i].get();
    ASSERT_TRUE(next && std::holds_alternative<Claimed>(*next)) << i;
    ticket = std::get<Claimed>(*next).ticket;
    EXPECT_TRUE(i + 1 == waiting.size() || !is_answered(waiting[i + 1]));
  }
}

TEST_F(ParkedPlansTest, AHintThatAnotherProcessWroteWakesThoseWhoWaitForThatHomeAtOnce) {
  testing::CountedWatch watch;
  BatchingDriver driver(*store_, {.watch = &watch}, clock_);
  BatchingDriver other(*store_, {}, clock_);
  const std::string& home = kClaim.partition.home;
  for (const bool all : {false, true}) {
    const Ticket ticket = take(other).ticket;
    std::future<Result<ClaimOutcome>> waiting = wait_for_claim(driver);
    await_waiting(driver, 1);
    while (watch.count(home) == 0) std::this_thread::yield();
    ASSERT_TRUE(other.run(claims::release(kClaim, ticket, "", Release::retryable)).has_value());
    driver.hint("claim/default/of another");
    ASSERT_TRUE(driver.run(claims::show(kClaim)).has_value());
    EXPECT_FALSE(is_answered(waiting));
    if (all) {
      driver.hint_all();
    } else {
      driver.hint(home);
    }
    const Result<ClaimOutcome> taken = waiting.get();
    ASSERT_TRUE(taken && std::holds_alternative<Claimed>(*taken));
    while (watch.count(home) > 0) std::this_thread::yield();
    const Ticket mine = std::get<Claimed>(*taken).ticket;
    ASSERT_TRUE(driver.run(claims::release(kClaim, mine, "", Release::retryable)).has_value());
  }
}

TEST_F(ParkedPlansTest, ACompletionIsToldToAllWhoWaitAtOnce) {
  BatchingDriver driver(*store_, {}, clock_);
  const Ticket ticket = take(driver).ticket;
  Caller caller;
  std::vector<std::future<Result<ClaimOutcome>>> waiting;
  for (std::size_t i = 0; i < 100; ++i) {
    waiting.push_back(wait_for_claim(driver, 0, i % 2 == 0 ? &caller : nullptr));
  }
  await_waiting(driver, waiting.size());
  ASSERT_TRUE(driver.run(claims::complete(kClaim, ticket, "7")).has_value());
  for (auto& answer : waiting) {
    const Result<ClaimOutcome> outcome = answer.get();
    ASSERT_TRUE(outcome && std::holds_alternative<Done>(*outcome));
  }
}

TEST_F(ParkedPlansTest, ARenewalWakesOneOfThoseWhoWaitAndNotAll) {
  BatchingDriver driver(*store_, {}, clock_);
  Ticket ticket = take(driver).ticket;
  std::vector<std::future<Result<ClaimOutcome>>> waiting;
  for (std::size_t i = 0; i < 100; ++i) waiting.push_back(wait_for_claim(driver));
  await_waiting(driver, waiting.size());
  const std::uint64_t before = store_->snapshot().commit_each.parts;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(driver.run(claims::renew(kClaim, ticket, minutes(10))).has_value());
  }
  EXPECT_LT(store_->snapshot().commit_each.parts, before + 100)
      << "20 looks, and 10 to 20 renewals";
}

TEST_F(ParkedPlansTest, TheFirstInTheLineAloneLooksWhetherOthersHaveFreedTheKey) {
  BatchingDriver driver(*store_, {}, clock_);
  take(driver);
  std::vector<std::future<Result<ClaimOutcome>>> waiting;
  for (std::size_t i = 0; i < 100; ++i) waiting.push_back(wait_for_claim(driver));
  await_waiting(driver, waiting.size());
  while (!driver.run(claims::show(kClaim))) std::this_thread::yield();
  const std::uint64_t before = store_->snapshot().commit_each.parts;
  for (int i = 0; i < 20; ++i) {
    clock_.advance(seconds(1));
    ASSERT_TRUE(driver.run(claims::show(kClaim)).has_value());
  }
  EXPECT_LE(store_->snapshot().commit_each.parts, before + 200) << "some 45; all of them: 2,000";
  clock_.advance(minutes(5));
  for (auto& answer : waiting) EXPECT_TRUE(std::holds_alternative<Busy>(answer.get().value()));
}

TEST_F(ParkedPlansTest, WhoWouldWaitBeyondTheShareOfItsTenantIsToldAtOnceThatItIsBusy) {
  BatchingDriver driver(*store_, {.max_waiting = 5, .max_waiting_of_tenant = 3}, clock_);
  Ticket ticket = take(driver).ticket;
  std::vector<std::future<Result<ClaimOutcome>>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(wait_for_claim(driver, 1));
  await_waiting(driver, 3);
  EXPECT_TRUE(std::holds_alternative<Busy>(wait_for_claim(driver, 1).get().value()));
  for (int i = 0; i < 2; ++i) waiting.push_back(wait_for_claim(driver, 2));
  await_waiting(driver, 5);
  EXPECT_TRUE(std::holds_alternative<Busy>(wait_for_claim(driver, 2).get().value()));
  EXPECT_EQ(driver.counts().waits_refused, 2U);
  ASSERT_TRUE(driver.run(claims::complete(kClaim, ticket, "7")).has_value());
  for (auto& answer : waiting) EXPECT_TRUE(std::holds_alternative<Done>(answer.get().value()));
  while (driver.counts().plans_waiting > 0) std::this_thread::yield();
}

TEST_F(ParkedPlansTest, WhoHangsUpWaitsNoLongerAndLeavesItsPlace) {
  BatchingDriver driver(*store_, {.max_waiting = 1}, clock_);
  const Ticket ticket = take(driver).ticket;
  Caller gone;
  Caller stays;
  std::future<Result<ClaimOutcome>> left = wait_for_claim(driver, 1, &gone);
  await_waiting(driver, 1);
  driver.cancel(stays);
  gone.hung_up = true;
  driver.cancel(gone);
  EXPECT_EQ(left.get().error().code, ErrorCode::unavailable);
  while (driver.counts().plans_waiting > 0) std::this_thread::yield();
  std::future<Result<ClaimOutcome>> next = wait_for_claim(driver, 1, &stays);
  await_waiting(driver, 1);
  ASSERT_TRUE(driver.run(claims::release(kClaim, ticket, "", Release::retryable)).has_value());
  EXPECT_TRUE(std::holds_alternative<Claimed>(next.get().value()));
}

TEST_F(ParkedPlansTest, WhoHangsUpFirstInTheLineLeavesAnotherToLook) {
  BatchingDriver driver(*store_, {}, clock_);
  take(driver, minutes(1));
  Caller gone;
  std::future<Result<ClaimOutcome>> first = wait_for_claim(driver, 1, &gone);
  await_waiting(driver, 1);
  std::future<Result<ClaimOutcome>> second = wait_for_claim(driver, 1);
  await_waiting(driver, 2);
  gone.hung_up = true;
  driver.cancel(gone);
  EXPECT_FALSE(first.get().has_value());
  // The second has its turn to look meanwhile. What it finds it must find before the lease is over.
  while (!clock_.is_waited_on()) std::this_thread::yield();
  clock_.advance(minutes(2));  // The lease is over, and nothing was written.
  EXPECT_TRUE(std::holds_alternative<Claimed>(second.get().value()));
}

TEST_F(ParkedPlansTest, ADriverThatStopsAnswersThoseWhoWait) {
  std::future<Result<ClaimOutcome>> waiting;
  {
    BatchingDriver driver(*store_, {}, clock_);
    take(driver);
    waiting = wait_for_claim(driver);
    await_waiting(driver, 1);
  }
  EXPECT_EQ(waiting.get().error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace once
