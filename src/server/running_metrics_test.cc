#include "server/running_metrics.h"

#include <gtest/gtest.h>

namespace once::server {
namespace {

TEST(RunningMetrics, NameTheEngineAndNotWhereItKeepsItsData) {
  EXPECT_EQ(engine_of("rocksdb /var/lib/once, synced before every answer"), "rocksdb");
  EXPECT_EQ(engine_of("memory, forgotten when the process ends"), "memory");
  EXPECT_EQ(engine_of("redis://127.0.0.1:6379/0; MAY LOSE CLAIMS"), "redis");
}

TEST(RunningMetrics, CommitsAloneAndInGroupsAreOneHistogram) {
  StoreMetrics counted;
  counted.commit.calls = 1;
  counted.commit.committed = 1;
  counted.commit.latency.buckets[0] = 1;
  counted.commit_each.calls = 2;
  counted.commit_each.committed = 7;
  counted.commit_each.lost = 3;
  counted.commit_each.errors[static_cast<std::size_t>(ErrorCode::unknown)] = 4;
  counted.commit_each.latency.buckets[3] = 2;
  counted.commit_each.latency.total = std::chrono::milliseconds(20);
  metrics::Exposition out;
  write_store(out, counted, "memory");
  const std::string text = out.take();
  for (const std::string_view line :
       {"once_store_calls_total{store=\"memory\",operation=\"commit_each\"} 2\n",
        "once_store_commits_total{store=\"memory\",result=\"committed\"} 8\n",
        "once_store_commits_total{store=\"memory\",result=\"lost\"} 3\n",
        "once_store_errors_total{store=\"memory\",code=\"unknown\"} 4\n",
        "once_store_errors_total{store=\"memory\",code=\"corrupt\"} 0\n",
        "once_store_commit_seconds_bucket{store=\"memory\",le=\"0.001\"} 1\n",
        "once_store_commit_seconds_bucket{store=\"memory\",le=\"0.01\"} 3\n",
        "once_store_commit_seconds_sum{store=\"memory\"} 0.02\n",
        "once_store_commit_seconds_count{store=\"memory\"} 3\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(RunningMetrics, TellsWhatTheServerOfAStoreChargesFor) {
  metrics::Exposition out;
  StoreMetrics counted;
  write_store(out, counted, "memory");
  counted.units = {{StoreOperation::commit, "request", 3}, {StoreOperation::get, "read", 0.5}};
  write_store(out, counted, "dynamodb");
  const std::string text = out.take();
  EXPECT_EQ(text.find("once_store_units_total{store=\"memory\""), std::string::npos);
  for (const std::string_view line :
       {"once_store_units_total{store=\"dynamodb\",operation=\"commit\",kind=\"request\"} 3\n",
        "once_store_units_total{store=\"dynamodb\",operation=\"get\",kind=\"read\"} 0.5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace once::server
