#include "server/store_sweep.h"

#include <gtest/gtest.h>

#include "once/local.h"

#include "once/entropy.h"
#include "once/memory_store.h"
#include "server/abandoned_watch.h"
#include "testing/manual_clock.h"

namespace once::server {
namespace {

using namespace std::chrono_literals;

// Waits until the metrics show this, which a thread brings about.
bool shows(metrics::AnswerMetrics& metrics, std::string_view sample) {
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (std::chrono::steady_clock::now() < until) {
    if (metrics.registry().text().find(sample) != std::string::npos) return true;
    std::this_thread::yield();
  }
  return false;
}

// Time passes only while nothing is under way: a look that it jumps in would count as a long one.
void advance_at_rest(testing::ManualClock& clock, Duration length) {
  while (!clock.is_waited_on()) std::this_thread::yield();
  clock.advance(length);
}

TEST(StoreSweep, TellsWhatIsLeftAndWhatHadExpired) {
  testing::ManualClock clock;
  const auto store = open_memory({}, clock);
  for (int i = 0; i < 2'500; ++i) {
    const Time expiry = clock.now() + (i < 1'200 ? Duration(1min) : Duration(24h));
    std::vector<Write> writes = {
        put(Key{{"k" + std::to_string(i), ""}, 0}, Bytes("v"), absent(), expiry)};
    writes[0].version = system_entropy().version();
    ASSERT_TRUE(store->commit(writes).has_value());
  }
  metrics::AnswerMetrics metrics;
  const StoreSweep sweep(*store, metrics, clock, 5min);
  advance_at_rest(clock, 1s);
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"total\"} 2500\n"));
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"expired\"} 0\n"));
  advance_at_rest(clock, 6min);
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"total\"} 1300\n"));
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"expired\"} 1200\n"));
  EXPECT_TRUE(shows(metrics, "idempotency_cache_operations_total{operation=\"cleanup\"} 1200\n"));
  EXPECT_EQ(store->usage().items, 1'300U);
}

TEST(AbandonedWatch, CountsAbandonedClaimsAndWritesALineForEachOnce) {
  testing::ManualClock clock;
  const auto store = open_memory({}, clock);
  LocalClaims claims(*store, "team", clock);
  ASSERT_TRUE(claims.take("stuck", {.owner = "me", .lease = 1min}).has_value());
  ASSERT_TRUE(claims.take("held", {.lease = 24h}).has_value());
  Mutex mutex;
  std::string lines;
  Journal journal({.write =
                       [&](std::string_view line) {
                         const Lock lock(mutex);
                         lines += line;
                         return true;
                       }},
                  clock);
  metrics::AnswerMetrics metrics;
  const AbandonedWatch watch(*store, journal, metrics.registry(), clock);
  advance_at_rest(clock, 1s);
  EXPECT_TRUE(shows(metrics, "once_claims_abandoned 0\n"));
  advance_at_rest(clock, 10min);
  EXPECT_TRUE(shows(metrics, "once_claims_abandoned 1\n"));
  EXPECT_TRUE(shows(metrics, "once_claims_oldest_lease_seconds 541\n"));
  advance_at_rest(clock, 10min);
  EXPECT_TRUE(shows(metrics, "once_claims_oldest_lease_seconds 1141\n"));
  ASSERT_TRUE(claims.forget("stuck").has_value());
  advance_at_rest(clock, 10min);
  EXPECT_TRUE(shows(metrics, "once_claims_abandoned 0\n"));
  const Lock lock(mutex);
  const std::size_t first = lines.find("claim_abandoned");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(lines.find("claim_abandoned", first + 1), std::string::npos) << lines;
  EXPECT_NE(lines.find("stuck"), std::string::npos) << lines;
}

}  // namespace
}  // namespace once::server
