// docs/recipes.md#2-claimed-jobs: its flows and scenarios by name.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "once/claims.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "testing/process.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

class ClaimedJobs : public ::testing::Test {
 protected:
  Claimed claim(Claims& container, std::string_view id) {
    const auto outcome = container.take(id, {.owner = "container"});
    EXPECT_TRUE(std::holds_alternative<Claimed>(outcome.value()));
    return std::get<Claimed>(*outcome);
  }

  ManualClock clock_;
  std::unique_ptr<MemoryStore> store_ = open_memory({}, clock_);
  LocalClaims a_{*store_, "screenshots", clock_};
  LocalClaims b_{*store_, "screenshots", clock_};
};

// "Sequence Diagram: Normal Flow (No Conflict)".
TEST_F(ClaimedJobs, NormalFlowNoConflict) {
  const Claimed claimed = claim(a_, "shot-1");
  const auto settled = a_.complete("shot-1", claimed.ticket, "s3://screenshots/shot-1.png");
  EXPECT_TRUE(std::holds_alternative<Settled>(settled.value()));
}

// "Sequence Diagram: Race Condition (Protected)", and "Scenario C: Race Condition Caught": both see
// that it does not exist, one wins, and the other is not told that it succeeded.
TEST_F(ClaimedJobs, ScenarioC_OfTwoThatTryAtTheSameTimeOneWinsAndOneIsRejected) {
  const Key key = claims::claim_key("screenshots", "shot-1");
  std::vector<Plan<ClaimOutcome>> both;
  for (int i = 0; i < 2; ++i) both.push_back(claims::take(key, {.owner = "container"}));
  const auto outcomes = run_in_step(*store_, clock_, system_entropy(), std::move(both));
  EXPECT_TRUE(std::holds_alternative<Claimed>(outcomes[0].value()));
  EXPECT_TRUE(std::holds_alternative<Busy>(outcomes[1].value()));
}

// "Three Skip Scenarios": A and B.
TEST_F(ClaimedJobs, ScenarioA_AlreadySuccessReturnsWhatWasStored) {
  ASSERT_TRUE(a_.complete("shot-1", claim(a_, "shot-1").ticket, "s3://shot-1.png").has_value());
  EXPECT_EQ(std::get<Done>(b_.take("shot-1", {}).value()).result, "s3://shot-1.png");
}

TEST_F(ClaimedJobs, ScenarioB_CurrentlyProcessingIsNeverReportedAsSuccess) {
  const Claimed claimed = claim(a_, "shot-1");
  const Busy busy = std::get<Busy>(b_.take("shot-1", {}).value());
  EXPECT_EQ(busy.lease_until, claimed.lease_until);
}

TEST_F(ClaimedJobs, ScenarioB_AJobOfACrashedContainerIsTakenOver) {
  claim(a_, "shot-1");
  clock_.advance(30s);
  EXPECT_EQ(claim(b_, "shot-1").attempt, 2);
}

// Where the design breaks: a failed row can never be retried, and nothing is fenced.
TEST_F(ClaimedJobs, AFailedJobMayBeRetried) {
  const Claimed claimed = claim(a_, "shot-1");
  ASSERT_TRUE(a_.release("shot-1", claimed.ticket, "timed out", Release::retryable).has_value());
  EXPECT_EQ(claim(b_, "shot-1").attempt, 2);
}

TEST_F(ClaimedJobs, ASlowOldContainerCannotOverwriteTheNewOnesResult) {
  const Claimed slow = claim(a_, "shot-1");
  clock_.advance(30s);
  const Claimed next = claim(b_, "shot-1");
  ASSERT_TRUE(b_.complete("shot-1", next.ticket, "new").has_value());
  EXPECT_TRUE(std::holds_alternative<Fenced>(a_.complete("shot-1", slow.ticket, "old").value()));
  EXPECT_EQ(std::get<Done>(a_.take("shot-1", {}).value()).result, "new");
}

// "Scaling Behavior": 1, 2 and 5 containers and 1,000 messages, some of them twice; "Performance
// Impact": each is processed once. Containers are threads of their own.
class Scaling : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kMessages = 1'000;

  Scaling() {
    for (int i = 0; i < kMessages; ++i) {
      queue_.push_back(i);
      if (i % 3 == 0) queue_.push_back(i);  // A duplicate delivery.
    }
  }

  std::optional<int> receive() {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return std::nullopt;
    const int message = queue_.front();
    queue_.pop_front();
    return message;
  }
  void give_back(int message) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(message);
  }

  void run_container(Claims& claims) {
    while (const std::optional<int> message = receive()) {
      const std::string id = "shot-" + std::to_string(*message);
      const ClaimOutcome outcome = claims.take(id, {}).value();
      if (const auto* claimed = std::get_if<Claimed>(&outcome)) {
        ++processed_;
        ASSERT_TRUE(claims.complete(id, claimed->ticket, "s3://" + id).has_value());
      } else if (std::holds_alternative<Busy>(outcome)) {
        give_back(*message);
      }
    }
  }

  std::mutex mutex_;
  std::deque<int> queue_;
  std::atomic<int> processed_ = 0;
};

TEST_P(Scaling, EveryMessageIsProcessedByOneContainer) {
  const auto store = open_memory();
  LocalClaims claims(*store, "screenshots");
  {
    std::vector<std::jthread> containers;
    for (int i = 0; i < GetParam(); ++i) {
      containers.emplace_back([this, &claims] { run_container(claims); });
    }
  }
  EXPECT_EQ(processed_, kMessages);
  for (int i = 0; i < kMessages; ++i) {
    const std::string id = "shot-" + std::to_string(i);
    EXPECT_EQ(claims.show(id)->value().result, "s3://" + id);
  }
}

INSTANTIATE_TEST_SUITE_P(Containers, Scaling, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace once::testing
