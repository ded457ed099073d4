#include "once/metered_store.h"

#include <thread>

#include "stores/decorators/decorator_fixture.h"

namespace once::testing {
namespace {

using std::chrono::nanoseconds;

class MeteredStoreTest : public Decorated {
 protected:
  // Each call takes what `next_` says.
  nanoseconds tick() {
    time_ += started_ ? next_ : nanoseconds(0);
    started_ = !started_;
    return time_;
  }

  nanoseconds time_{0}, next_{0};
  bool started_ = false;
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*memory_, {}, clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*faulty_, [this] { return tick(); });
};

TEST_F(MeteredStoreTest, CountsOutcomesOfCommits) {
  commit(*metered_, fresh(put(key("k"), Bytes("v"), absent())));
  commit(*metered_, fresh(put(key("k"), Bytes("v"), absent())));
  commit(*metered_, fresh(add(key("k"), 1)));
  faulty_->script(std::vector{Fault::fail_before, Fault::fail_after});
  commit(*metered_, fresh(add(key("n"), 1)));
  commit(*metered_, fresh(add(key("n"), 1)));
  const OperationMetrics metrics = metered_->snapshot().commit;
  EXPECT_EQ(metrics.calls, 5U);
  EXPECT_EQ(metrics.parts, 5U);
  EXPECT_EQ(metrics.committed, 1U);
  EXPECT_EQ(metrics.lost, 1U);
  EXPECT_EQ(metrics.failed(ErrorCode::invalid), 1U);
  EXPECT_EQ(metrics.failed(ErrorCode::unavailable), 1U);
  EXPECT_EQ(metrics.failed(ErrorCode::unknown), 1U);
  EXPECT_EQ(metrics.failed(ErrorCode::corrupt), 0U);
}

TEST_F(MeteredStoreTest, CountsEachTransactionOfAGroup) {
  const std::vector<Write> pair = {fresh(put(key("a"), Bytes("v"), absent())),
                                   fresh(put(key("b"), Bytes("v"), absent()))};
  const Write single = fresh(put(key("a"), Bytes("v"), absent()));
  const std::vector<Transaction> group = {pair, {&single, 1}};
  metered_->commit_each(group);
  const OperationMetrics metrics = metered_->snapshot().commit_each;
  EXPECT_EQ(metrics.calls, 1U);
  EXPECT_EQ(metrics.parts, 3U);
  EXPECT_EQ(metrics.committed, 1U);
  EXPECT_EQ(metrics.lost, 1U);
}

TEST_F(MeteredStoreTest, CountsReadsAndWhatTheyFound) {
  commit(*metered_, fresh(put(key("k"), Bytes("v"), absent())));
  metered_->get(std::vector{key("k"), key("none")});
  metered_->scan({.partition = key("k").partition});
  metered_->list({});
  faulty_->script(std::vector{Fault::fail_before});
  metered_->get(key("k"));
  const StoreMetrics metrics = metered_->snapshot();
  EXPECT_EQ(metrics.get.calls, 2U);
  EXPECT_EQ(metrics.get.parts, 3U);
  EXPECT_EQ(metrics.get.failed(ErrorCode::unavailable), 1U);
  EXPECT_EQ(metrics.scan.parts, 1U);
  EXPECT_EQ(metrics.list.parts, 1U);
}

TEST_F(MeteredStoreTest, TimesFallIntoTheirBuckets) {
  using namespace std::chrono_literals;
  for (const nanoseconds length :
       {0ns, 100'000ns, 100'001ns, 500'000ns, 1'000'000ns, 10'000'000ns, nanoseconds(100ms),
        nanoseconds(1s), nanoseconds(10s), nanoseconds(10s) + 1ns}) {
    next_ = length;
    metered_->get(key("k"));
  }
  const Latency latency = metered_->snapshot().get.latency;
  const std::array<std::uint64_t, 8> expected = {2, 2, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(latency.buckets, expected);
  EXPECT_EQ(latency.total, 1ns + 21s + 111ms + 700'001ns);
}

TEST_F(MeteredStoreTest, RefusedRequestsNeverReachTheStore) {
  commit(*metered_, put(key("k"), Bytes("no version"), absent()));
  EXPECT_EQ(metered_->snapshot().commit.calls, 0U);
}

TEST(MeteredStoreThreads, CountsAreExactFromManyThreads) {
  const auto memory = open_memory();
  const auto metered = meter(*memory);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          metered->get(Key{{"k", ""}, 0});
          metered->snapshot();
        }
      });
    }
  }
  const OperationMetrics metrics = metered->snapshot().get;
  EXPECT_EQ(metrics.calls, 4'000U);
  std::uint64_t timed = 0;
  for (const std::uint64_t bucket : metrics.latency.buckets) timed += bucket;
  EXPECT_EQ(timed, 4'000U);
}

}  // namespace
}  // namespace once::testing
