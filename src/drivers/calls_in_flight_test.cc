// Stores that take several calls at once: what one key or server does to the others.
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "drivers/rounds.h"
#include "once/claims.h"
#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/limited_store.h"
#include "testing/manual_clock.h"
#include "testing/slow_key_store.h"
#include "testing/started_plan.h"

namespace once::detail {
namespace {

using namespace std::chrono_literals;
using testing::StartedPlan;

Key named(const std::string& name) { return {{name, ""}, 0}; }

Plan<bool> exists(Key key) {
  const std::optional<Item> item = co_await get(key);
  co_return item.has_value();
}

Plan<bool> exists_urgently(Key key) {
  co_await go_first();
  const std::optional<Item> item = co_await get(key);
  co_return item.has_value();
}

Plan<bool> mark(std::vector<Key> keys) {
  std::vector<Write> writes;
  for (const Key& key : keys) writes.push_back(put(key, Bytes("marked"), anything()));
  const CommitOutcome outcome = co_await commit(writes);
  co_return committed(outcome);
}

// The rounds on one thread: a call is performed when the test says so.
class CallsInFlightTest : public ::testing::Test {
 protected:
  using Answers = std::deque<std::optional<Result<bool>>>;

  std::optional<Result<bool>>& admit(Plan<bool> plan, Duration patience = kAttemptLife) {
    auto& answer = answers_.emplace_back();
    auto task = std::make_unique<PlanTask<bool>>(store_, entropy_, std::move(plan),
                                                 [&answer](Result<bool> given) { answer = given; });
    task->deadline = later(clock_.now(), patience);
    Rounds::begin(*task);
    rounds_.admit(std::move(task));
    rounds_.run_round();
    return answer;
  }

  void perform(std::size_t which, Duration took = Duration(0)) {
    StoreCall call = std::move(launched_[which]);
    launched_.erase(launched_.begin() + static_cast<std::ptrdiff_t>(which));
    call.perform(store_, entropy_);
    call.took = took;
    rounds_.finish(call);
    rounds_.run_round();
  }

  static Limits eight_calls(Limits limits) {
    limits.calls_in_flight = 8;
    return limits;
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);
  testing::LimitedStore store_{*faulty_, eight_calls(memory_->limits())};
  std::vector<StoreCall> launched_;
  Answers answers_;
  Rounds rounds_{store_, clock_, entropy_, 8, {.launch = [this](StoreCall call) {
                   launched_.push_back(std::move(call));
                 }}};
};

TEST_F(CallsInFlightTest, H37_AKeyThatIsNotAnsweredHoldsUpNoOther) {
  const auto& slow = admit(exists(named("slow")));
  const auto& other = admit(exists(named("other")));
  ASSERT_EQ(launched_.size(), 2U);
  perform(1);
  EXPECT_TRUE(other.has_value());
  EXPECT_FALSE(slow.has_value());
  perform(0);
  EXPECT_TRUE(slow.has_value());
}

TEST_F(CallsInFlightTest, H37_WhatWaitsForABusyPlaceSharesItsNextCall) {
  for (int i = 0; i < 8; ++i) admit(exists(named("slow")));
  ASSERT_EQ(launched_.size(), 1U);
  perform(0);
  ASSERT_EQ(launched_.size(), 1U);
  EXPECT_EQ(launched_[0].tasks.size(), 7U);
  perform(0);
  for (const auto& answer : answers_) EXPECT_TRUE(answer.has_value());
  EXPECT_EQ(metered_->snapshot().get.calls, 2U);
}

TEST_F(CallsInFlightTest, AReadSeesTheWriteToItsKeyThatWasAskedForBefore) {
  admit(mark({named("k")}));
  const auto& read = admit(exists(named("k")));
  admit(exists(named("other")));
  ASSERT_EQ(launched_.size(), 2U);
  perform(1);
  perform(0);
  ASSERT_EQ(launched_.size(), 1U);
  perform(0);
  ASSERT_TRUE(read && read->has_value());
  EXPECT_TRUE(**read);
}

TEST_F(CallsInFlightTest, H37_ACommitOfSeveralPlacesWaitsOnlyForThoseThatShareOne) {
  admit(mark({named("a"), named("slow")}));
  const auto& waits = admit(mark({named("b"), named("slow")}));
  const auto& apart = admit(mark({named("a"), named("c")}));
  const auto& free = admit(mark({named("d"), named("e")}));
  const auto& alone = admit(mark({named("a")}));
  ASSERT_EQ(launched_.size(), 3U);
  perform(2);
  perform(1);
  EXPECT_TRUE(alone && free);
  EXPECT_FALSE(waits || apart);
  perform(0);
  ASSERT_EQ(launched_.size(), 2U);
  perform(0);
  perform(0);
  EXPECT_TRUE(waits && apart);
}

TEST_F(CallsInFlightTest, H37_PlacesThatWereSlowLeaveHalfOfTheCallsToOthers) {
  for (int i = 0; i < 6; ++i) admit(exists(named("slow" + std::to_string(i))));
  ASSERT_EQ(launched_.size(), 6U);
  while (!launched_.empty()) perform(0, 5s);
  for (int i = 0; i < 6; ++i) admit(exists(named("slow" + std::to_string(i))));
  EXPECT_EQ(launched_.size(), 3U);
  admit(exists(named("other")));
  EXPECT_EQ(launched_.size(), 4U);
}

TEST_F(CallsInFlightTest, H37_UrgentStepsHaveCallsThatNothingElseUsesUp) {
  for (int i = 0; i < 20; ++i) admit(exists(named("slow" + std::to_string(i))));
  const std::size_t full = launched_.size();
  EXPECT_LT(full, 8U);
  const auto& urgent = admit(exists_urgently(named("slow0")));
  ASSERT_EQ(launched_.size(), full + 1);
  perform(full);
  EXPECT_TRUE(urgent.has_value());
}

TEST_F(CallsInFlightTest, H37_UrgentStepsGoFirst) {
  for (int i = 0; i < 20; ++i) admit(exists_urgently(named("lease" + std::to_string(i))));
  const std::size_t urgent = launched_.size();
  admit(exists(named("other")));
  ASSERT_EQ(launched_.size(), urgent + 1);
  perform(0);
  EXPECT_TRUE(launched_.back().urgent);
}

TEST_F(CallsInFlightTest, H37_AJointReadThatIsNotAvailableIsNotRepeatedOneByOne) {
  for (int i = 0; i < 9; ++i) admit(exists(named("slow")));
  perform(0);
  const std::vector<Fault> script = {Fault::fail_before};
  faulty_->script(script);
  perform(0);
  for (std::size_t i = 1; i < 9; ++i) {
    EXPECT_EQ(answers_[i]->error().code, ErrorCode::unavailable);
  }
}

TEST_F(CallsInFlightTest, H37_WhatWaitedBeyondItsPatienceIsNotSent) {
  admit(exists(named("slow")));
  const auto& late = admit(exists(named("slow")), Duration(50));
  clock_.advance(Duration(50));
  perform(0);
  EXPECT_TRUE(launched_.empty());
  EXPECT_EQ(late->error().code, ErrorCode::unavailable);
}

// The driver with its threads.
class SlowKeyTest : public ::testing::Test {
 protected:
  Claimed claim(const std::string& name) {
    return std::get<Claimed>(
        driver_.run(claims::take(claims::claim_key("", name), {.owner = "test"})).value());
  }

  std::unique_ptr<MemoryStore> memory_ = open_memory();
  testing::SlowKeyStore store_{*memory_, 8};
  BatchingDriver driver_{store_, {.max_plans = 64}};
};

TEST_F(SlowKeyTest, H37_AnotherKeyIsClaimedWhileOneHangs) {
  store_.hang(named("slow"));
  std::vector<StartedPlan<bool>> reads;
  for (int i = 0; i < 8; ++i) reads.emplace_back(driver_, exists(named("slow")));
  store_.await_hanging(1);
  claim("other");
  store_.let_go();
  for (auto& read : reads) EXPECT_TRUE(read.wait().has_value());
}

TEST_F(SlowKeyTest, H37_ALeaseIsRenewedWhileEverythingElseHangs) {
  const Claimed claimed = claim("job");
  std::vector<StartedPlan<bool>> reads;
  for (int i = 0;; ++i) {
    const Key key = named("slow" + std::to_string(i));
    store_.hang(key);
    StartedPlan<bool> read(driver_, exists(key));
    if (!read.started()) break;  // The driver has as many plans as it takes.
    reads.push_back(std::move(read));
  }
  EXPECT_GE(reads.size(), 60U);
  const Result<RenewOutcome> renewed =
      driver_.run(claims::renew(claims::claim_key("", "job"), claimed.ticket, 30s));
  EXPECT_TRUE(renewed && std::holds_alternative<Renewed>(*renewed));
  store_.let_go();
  for (auto& read : reads) EXPECT_TRUE(read.wait().has_value());
}

TEST_F(SlowKeyTest, StoppingWaitsForTheCallsUnderWayAndAnswersAll) {
  store_.hang(named("slow"));
  std::optional<StartedPlan<bool>> under_way;
  std::optional<StartedPlan<bool>> waiting;
  std::jthread opener;
  {
    BatchingDriver driver(store_);
    under_way.emplace(driver, exists(named("slow")));
    store_.await_hanging(1);
    waiting.emplace(driver, exists(named("slow")));
    opener = std::jthread([this] { store_.let_go(); });
  }
  EXPECT_TRUE(under_way->wait().has_value());
  EXPECT_TRUE(waiting->answered());
}

}  // namespace
}  // namespace once::detail
