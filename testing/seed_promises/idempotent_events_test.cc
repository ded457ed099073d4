// docs/recipes.md#4-idempotent-events: its seven tests by name, the figures it states (how long a
// check takes is measured in bench/), its acceptance criteria and its future enhancements.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "once/claims.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/code_of.h"
#include "testing/manual_clock.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

class IdempotencyChecker : public ::testing::Test {
 protected:
  bool is_duplicate(const std::string& id) {
    const std::vector<std::string> ids = {id};
    return !claims_.seen(ids, kTtl).value().front();
  }
  bool exists(const std::string& id) { return claims_.show_seen(id).value().has_value(); }

  static constexpr Duration kTtl = 24h;
  ManualClock clock_;
  std::unique_ptr<MemoryStore> store_ = open_memory({}, clock_);
  LocalClaims claims_{*store_, "events", clock_};
};

// "Test Cases", 1 to 7.
TEST_F(IdempotencyChecker, FirstTime) { EXPECT_FALSE(is_duplicate("event-123")); }

TEST_F(IdempotencyChecker, Duplicate) {
  EXPECT_FALSE(is_duplicate("event-456"));
  EXPECT_TRUE(is_duplicate("event-456"));
}

TEST_F(IdempotencyChecker, ConcurrentAccess) {
  constexpr int kRacers = 100;
  std::atomic<int> winners = 0;
  std::barrier start(kRacers);
  {
    std::vector<std::jthread> racers;
    for (int i = 0; i < kRacers; ++i) {
      racers.emplace_back([&] {
        start.arrive_and_wait();
        if (!is_duplicate("event-789")) ++winners;
      });
    }
  }
  EXPECT_EQ(winners, 1);
}

TEST_F(IdempotencyChecker, RemoveOnFailure) {
  EXPECT_FALSE(is_duplicate("event-failed"));
  EXPECT_TRUE(is_duplicate("event-failed"));
  EXPECT_TRUE(claims_.forget_seen("event-failed").value());
  EXPECT_FALSE(is_duplicate("event-failed"));
}

TEST_F(IdempotencyChecker, Exists) {
  EXPECT_FALSE(exists("event-exists"));
  EXPECT_FALSE(is_duplicate("event-exists"));
  EXPECT_TRUE(exists("event-exists"));
}

TEST_F(IdempotencyChecker, TTLExpiration) {
  EXPECT_FALSE(is_duplicate("event-ttl"));
  EXPECT_TRUE(is_duplicate("event-ttl"));
  clock_.advance(kTtl);
  EXPECT_FALSE(is_duplicate("event-ttl"));
}

TEST_F(IdempotencyChecker, BackgroundCleanup) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(is_duplicate("event-" + std::to_string(i)));
  clock_.advance(kTtl + 1h);  // The fence is remembered an hour longer than the outcome.
  EXPECT_EQ(store_->sweep(1'000)->removed, 100U);
  EXPECT_EQ(store_->usage().items, 1U) << "the secret of the store stays";
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(exists("event-" + std::to_string(i)));
}

// "Success Metrics": memory, false positives, and more than 99 % of duplicates: all of them.
TEST_F(IdempotencyChecker, TenThousandEventsTakeLessThanTenMegabytes) {
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 10'000; ++i) is_duplicate("0193c1f0-5a7e-7c3e-9d4b-" + std::to_string(i));
  EXPECT_LT(mallinfo2().uordblks - before, 10U << 20);
  EXPECT_LT(store_->usage().bytes, 10U << 20);
}

TEST_F(IdempotencyChecker, NoFalsePositive) {
  for (int i = 0; i < 100'000; ++i) ASSERT_FALSE(is_duplicate("id-" + std::to_string(i)));
}

TEST_F(IdempotencyChecker, EveryDuplicateIsDetected) {
  for (int i = 0; i < 10'000; ++i) is_duplicate("id-" + std::to_string(i));
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(is_duplicate("id-" + std::to_string(i)));
}

// "Duplicate Detection Logic": a duplicate is logged with the original's time.
TEST_F(IdempotencyChecker, ADuplicateIsToldWhenTheOriginalWasProcessed) {
  const Time processed = clock_.now();
  EXPECT_FALSE(is_duplicate("event-1"));
  clock_.advance(1h);
  EXPECT_TRUE(is_duplicate("event-1"));
  EXPECT_EQ(claims_.show_seen("event-1").value().value().at, processed);
}

// "Error Handling": "continue processing if idempotency check fails".
TEST_F(IdempotencyChecker, AnEventIsProcessedWhenTheCheckItselfFails) {
  const auto down = inject_faults(*store_, {.fail_before = 1}, clock_);
  LocalClaims checker(*down, "events", clock_);
  const std::vector<std::string> ids = {"event-1"};
  EXPECT_EQ(code_of(checker.seen(ids, kTtl)), ErrorCode::unavailable);
  checker.set_if_store_down(IfStoreDown::proceed);
  EXPECT_TRUE(checker.seen(ids, kTtl).value().front());
}

// Where the design breaks: an event that fails validation stays marked, and a redelivery of one
// that is being processed is acknowledged.
TEST_F(IdempotencyChecker, AnEventThatFailsValidationMayComeAgainAndOneInFlightIsNoDuplicate) {
  const Claimed claimed = std::get<Claimed>(claims_.take("event-1", {}).value());
  EXPECT_TRUE(std::holds_alternative<Busy>(claims_.take("event-1", {}).value()));
  ASSERT_TRUE(claims_.release("event-1", claimed.ticket, "no type", Release::retryable));
  EXPECT_TRUE(std::holds_alternative<Claimed>(claims_.take("event-1", {}).value()));
}

// "When to Add Persistent Store": restarts, and several pods that share their state.
TEST_F(IdempotencyChecker, ARestartForgetsNothingThatTheStoreKeeps) {
  EXPECT_FALSE(is_duplicate("event-1"));
  LocalClaims another_instance(*store_, "events", clock_);
  const std::vector<std::string> ids = {"event-1"};
  EXPECT_FALSE(another_instance.seen(ids, kTtl).value().front());
}

// "Future Enhancements": a TTL per event type, a prefix per tenant, batches, a limit with LRU.
TEST_F(IdempotencyChecker, EachEventTypeHasItsOwnTtl) {
  const std::vector<std::string> build = {"build-1"};
  const std::vector<std::string> deploy = {"deploy-1"};
  ASSERT_TRUE(claims_.seen(build, 1h) && claims_.seen(deploy, 48h));
  clock_.advance(1h);
  EXPECT_TRUE(claims_.seen(build, 1h).value().front());
  EXPECT_FALSE(claims_.seen(deploy, 48h).value().front());
}

TEST_F(IdempotencyChecker, ABatchIsCheckedInOneCall) {
  const auto metered = meter(*store_);
  LocalClaims checker(*metered, "events", clock_);
  const std::vector<std::string> ids = {"a", "b", "a"};
  EXPECT_EQ(checker.seen(ids, kTtl).value(), std::vector<bool>({true, true, false}));
  EXPECT_EQ(metered->snapshot().commit_each.calls, 1U);
}

TEST_F(IdempotencyChecker, WhenFullTheLeastRecentlyUsedIsForgotten) {
  const auto small = open_memory({.max_bytes = 64U << 10}, clock_);
  LocalClaims checker(*small, "events", clock_);
  for (int i = 0; i < 10'000; ++i) {
    const std::vector<std::string> id = {"id-" + std::to_string(i)};
    ASSERT_TRUE(checker.seen(id, kTtl).value().front());
  }
  EXPECT_LE(small->usage().bytes, 64U << 10);
  EXPECT_TRUE(checker.show_seen("id-9999").value().has_value());
  EXPECT_FALSE(checker.show_seen("id-0").value().has_value());
}

TEST_F(IdempotencyChecker, TenantsDoNotShareIds) {
  LocalClaims tenant(*store_, "tenant-2", clock_);
  const std::vector<std::string> ids = {"event-1"};
  EXPECT_FALSE(is_duplicate("event-1"));
  EXPECT_TRUE(tenant.seen(ids, kTtl).value().front());
}

}  // namespace
}  // namespace once::testing
