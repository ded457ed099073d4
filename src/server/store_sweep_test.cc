#include "server/store_sweep.h"

#include <gtest/gtest.h>

#include "once/entropy.h"
#include "once/memory_store.h"
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
  clock.advance(1s);
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"total\"} 2500\n"));
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"expired\"} 0\n"));
  clock.advance(6min);
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"total\"} 1300\n"));
  EXPECT_TRUE(shows(metrics, "idempotency_cache_size{status=\"expired\"} 1200\n"));
  EXPECT_TRUE(shows(metrics, "idempotency_cache_operations_total{operation=\"cleanup\"} 1200\n"));
  EXPECT_EQ(store->usage().items, 1'300U);
}

}  // namespace
}  // namespace once::server
