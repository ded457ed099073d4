#include "server/follow_hub.h"

#include <gtest/gtest.h>

#include <atomic>

#include "once/memory_store.h"
#include "once/metered_store.h"

namespace once::server {
namespace {

using namespace std::chrono_literals;

// How much of the stream each follower was fed.
class FollowHubTest : public ::testing::Test {
 protected:
  ~FollowHubTest() override {
    hub_.stop();
    driver_.reset();
  }

  void append(int events) {
    std::vector<LogEvent> batch(static_cast<std::size_t>(events), LogEvent{"1", {}});
    const auto appended =
        driver_->run(logs::append(logs::stream("default", "s"), std::move(batch), AppendRequest{}));
    ASSERT_TRUE(appended.has_value());
  }

  FollowHub::FollowerId follow(std::int64_t from) {
    return hub_.follow("default", "s", from, [this](const Chunk& chunk) {
      fed_ += chunk->size();
      ++feeds_;
      feeds_.notify_all();
    });
  }

  void wait_for_feeds(int wanted) {
    for (int now = feeds_; now < wanted; now = feeds_) feeds_.wait(now);
  }
  std::uint64_t scans() const { return metered_->snapshot().scan.calls; }

  std::unique_ptr<MemoryStore> memory_ = open_memory();
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<BatchingDriver> driver_ = std::make_unique<BatchingDriver>(*metered_);
  FollowHub hub_{*driver_, system_clock(), 1h};  // Never polls by itself here.
  std::atomic<std::size_t> fed_ = 0;
  std::atomic<int> feeds_ = 0;
};

TEST_F(FollowHubTest, H6_AThousandFollowersCostOneReadABatch) {
  std::vector<FollowHub::FollowerId> ids;
  for (int i = 0; i < 1'000; ++i) ids.push_back(follow(1));
  for (int batch = 1; batch <= 5; ++batch) {
    append(3);
    const std::uint64_t before = scans();
    hub_.hint("default", "s");
    wait_for_feeds(1'000 * batch);
    const std::uint64_t once = scans() - before;
    for (const FollowHub::FollowerId id : ids) hub_.ready(id);
    EXPECT_LE(once, 3U) << batch;  // A read of a log is at most that many scans.
  }
}

TEST_F(FollowHubTest, H6_IsFedByTheStoreAloneInIndexOrder) {
  const auto id = follow(1);
  append(2);
  hub_.hint("default", "s");
  wait_for_feeds(1);
  const std::size_t once = fed_;
  hub_.hint("default", "s");  // Nothing is fed that was not asked for,
  hub_.ready(id);             // and nothing twice.
  append(2);
  hub_.hint("default", "s");
  wait_for_feeds(2);
  EXPECT_EQ(fed_, 2 * once);
}

TEST_F(FollowHubTest, OneWhoComesLateCatchesUpByItself) {
  append(2'500);
  const auto id = follow(1);
  wait_for_feeds(1);
  hub_.ready(id);
  wait_for_feeds(2);
  hub_.ready(id);
  wait_for_feeds(3);
}

TEST_F(FollowHubTest, WhoLeavesIsFedNoMore) {
  const auto gone = follow(1);
  hub_.unfollow(gone);
  follow(1);
  append(1);
  hub_.hint("default", "s");
  wait_for_feeds(1);
  EXPECT_EQ(feeds_, 1);
}

}  // namespace
}  // namespace once::server
