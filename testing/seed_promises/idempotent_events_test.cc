// Document 4, idempotent events: its seven tests by name, and the figures it states.
#include <gtest/gtest.h>
#include <malloc.h>

#include <barrier>
#include <thread>

#include "once/claims.h"
#include "once/memory_store.h"
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
  bool exists(const std::string& id) { return claims_.show(id)->has_value(); }

  static constexpr Duration kTtl = 24h;
  ManualClock clock_;
  std::unique_ptr<MemoryStore> store_ = open_memory({}, clock_);
  Claims claims_{*store_, "events", clock_};
};

TEST_F(IdempotencyChecker, FirstTime) { EXPECT_FALSE(is_duplicate("event-123")); }

TEST_F(IdempotencyChecker, Duplicate) {
  EXPECT_FALSE(is_duplicate("event-456"));
  EXPECT_TRUE(is_duplicate("event-456"));
}

TEST_F(IdempotencyChecker, ConcurrentAccess) {
  constexpr int kRacers = 16;
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
  EXPECT_TRUE(claims_.forget("event-failed").value());
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
  EXPECT_EQ(store_->usage().items, 0U);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(exists("event-" + std::to_string(i)));
}

TEST_F(IdempotencyChecker, TenThousandEventsTakeLessThanTenMegabytes) {
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 10'000; ++i) is_duplicate("0193c1f0-5a7e-7c3e-9d4b-" + std::to_string(i));
  EXPECT_LT(mallinfo2().uordblks - before, 10U << 20);
  EXPECT_LT(store_->usage().bytes, 10U << 20);
}

TEST_F(IdempotencyChecker, NoFalsePositive) {
  for (int i = 0; i < 100'000; ++i) ASSERT_FALSE(is_duplicate("id-" + std::to_string(i)));
}

TEST_F(IdempotencyChecker, ARestartForgetsNothingThatTheStoreKeeps) {
  EXPECT_FALSE(is_duplicate("event-1"));
  Claims another_instance(*store_, "events", clock_);
  const std::vector<std::string> ids = {"event-1"};
  EXPECT_FALSE(another_instance.seen(ids, kTtl).value().front());
}

TEST_F(IdempotencyChecker, TenantsDoNotShareIds) {
  Claims tenant(*store_, "tenant-2", clock_);
  const std::vector<std::string> ids = {"event-1"};
  EXPECT_FALSE(is_duplicate("event-1"));
  EXPECT_TRUE(tenant.seen(ids, kTtl).value().front());
}

}  // namespace
}  // namespace once::testing
