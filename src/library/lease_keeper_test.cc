#include "library/lease_keeper.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "testing/manual_clock.h"

namespace once {
namespace {

using namespace std::chrono_literals;

// Answers renewals as a test says; with more to come, they succeed.
class LeaseKeeperTest : public ::testing::Test {
 protected:
  struct Answer {
    Result<RenewOutcome> outcome = Renewed{};
    Duration takes{0};
  };

  std::unique_ptr<LeaseKeeper> keep(Time asked, std::deque<Answer> answers = {}) {
    answers_ = std::move(answers);
    return std::make_unique<LeaseKeeper>(
        clock_, LeaseCountdown(asked, 30s), [this](Duration within) { return renew(within); },
        LeaseKeeper::Events{.kept = [this](Time) { ++kept_; }, .lost = [this] { ++lost_; }});
  }

  Result<RenewOutcome> renew(Duration within) {
    const Lock lock(mutex_);
    within_.push_back(within);
    if (answers_.empty()) return Renewed{};
    const Answer answer = answers_.front();
    answers_.pop_front();
    clock_.advance(answer.takes);
    return answer.outcome;
  }

  std::vector<Duration> within() {
    const Lock lock(mutex_);
    return within_;
  }

  static Answer down() { return {failure(ErrorCode::unavailable, "down")}; }

  // Waits, in real time but not for any certain time, until the keeper has done something.
  static void wait_until(const std::function<bool()>& holds) {
    while (!holds()) std::this_thread::yield();
  }

  testing::ManualClock clock_;
  std::atomic<int> kept_ = 0;
  std::atomic<int> lost_ = 0;
  Mutex mutex_;
  std::deque<Answer> answers_ ONCE_GUARDED_BY(mutex_);
  std::vector<Duration> within_ ONCE_GUARDED_BY(mutex_);
};

TEST_F(LeaseKeeperTest, RenewsThreeTimesALease) {
  const auto keeper = keep(clock_.now());
  for (int i = 1; i <= 6; ++i) {
    clock_.advance(10s);
    wait_until([&] { return kept_ == i; });
    EXPECT_EQ(within().back(), 20s);  // A renewal takes no longer than what is left.
  }
  EXPECT_FALSE(keeper->is_lost());
}

TEST_F(LeaseKeeperTest, TheLeaseIsCountedFromTheAskingOfTheClaim) {
  const Time asked = clock_.now();
  clock_.advance(25s);  // The answer was slow.
  const auto keeper = keep(asked);
  wait_until([&] { return kept_ == 1; });
  EXPECT_EQ(within(), std::vector<Duration>{5s});
}

TEST_F(LeaseKeeperTest, ALeaseThatIsOverWhenTheAnswerComesIsLostWithoutACall) {
  const Time asked = clock_.now();
  clock_.advance(30s);
  const auto keeper = keep(asked);
  wait_until([&] { return lost_ == 1; });
  EXPECT_TRUE(keeper->is_lost());
  EXPECT_TRUE(within().empty());
}

TEST_F(LeaseKeeperTest, ARenewalCountsFromItsAskingToo) {
  const auto keeper = keep(clock_.now(), {{.takes = 19s}, {}});
  clock_.advance(10s);
  wait_until([&] { return kept_ == 2; });
  EXPECT_EQ(within(), (std::vector<Duration>{20s, 11s}));
}

TEST_F(LeaseKeeperTest, AStoreThatIsDownForAMomentCostsATryAndNotTheLease) {
  const auto keeper = keep(clock_.now(), {down(), down(), {}});
  clock_.advance(10s);
  // Only while the keeper waits: time that ran on without it would end the lease.
  wait_until([&] {
    if (kept_ == 0 && clock_.is_waited_on()) clock_.advance(10ms);
    return kept_ == 1;
  });
  EXPECT_EQ(within().size(), 3U);
  EXPECT_FALSE(keeper->is_lost());
}

TEST_F(LeaseKeeperTest, AStoreThatStaysDownLosesTheLeaseAtItsEndAndSaysSoOnce) {
  const auto keeper = keep(clock_.now(), std::deque<Answer>(10'000, down()));
  clock_.advance(29s);
  wait_until([&] { return !within().empty(); });
  EXPECT_EQ(lost_, 0);
  clock_.advance(1s);
  wait_until([&] { return lost_ > 0; });
  clock_.advance(1h);
  keeper->stop();
  EXPECT_EQ(lost_, 1);
  EXPECT_EQ(kept_, 0);
}

TEST_F(LeaseKeeperTest, AClaimOfAnotherIsLostAtOnce) {
  const auto keeper = keep(clock_.now(), {{.outcome = Fenced{}}});
  clock_.advance(10s);
  wait_until([&] { return lost_ == 1; });
  EXPECT_TRUE(keeper->is_lost());
}

TEST_F(LeaseKeeperTest, WhatCannotPassIsNotTriedAgain) {
  const auto keeper = keep(clock_.now(), {{failure(ErrorCode::denied, "no")}});
  clock_.advance(10s);
  wait_until([&] { return lost_ == 1; });
  EXPECT_EQ(within().size(), 1U);
}

}  // namespace
}  // namespace once
