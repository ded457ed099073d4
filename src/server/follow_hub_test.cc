#include "server/follow_hub.h"

#include <gtest/gtest.h>

#include <atomic>

#include "once/claims.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/counted_watch.h"
#include "testing/manual_clock.h"

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

  FollowHub::FollowerId follow(std::int64_t from) { return follow(LogStart{from}); }
  FollowHub::FollowerId follow(const LogStart& from) {
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

TEST_F(FollowHubTest, OneWhoBeginsAtATimeIsFedNothingThatIsOlder) {
  append(2);
  std::atomic<int> early = 0;
  const LogStart in_an_hour{.since = memory_->now() + 1h};
  hub_.follow("default", "s", in_an_hour, [&](const Chunk&) { ++early; });
  append(2);
  hub_.hint("default", "s");
  follow(LogStart{.since = memory_->now() - 1h});
  wait_for_feeds(1);
  hub_.stop();
  driver_.reset();  // Ends what is under way.
  EXPECT_EQ(early, 0);
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

// Nothing polls here but every hour.
TEST_F(FollowHubTest, AStreamIsWatchedWhileItIsFollowedAndFedWhenItsHomeIsWritten) {
  testing::CountedWatch watch;
  FollowHub watched(*driver_, system_clock(), 1h, &watch);
  const std::string home = logs::stream("default", "s").home;
  std::atomic<int> fed = 0;
  const auto count = [&](const Chunk&) {
    ++fed;
    fed.notify_all();
  };
  const auto first = watched.follow("default", "s", {1}, count);
  const auto second = watched.follow("default", "s", {1}, count);
  EXPECT_EQ(watch.count(home), 1);
  append(1);
  watched.hint_home("log/default/another");
  watched.hint_home(home);
  for (int now = fed; now < 2; now = fed) fed.wait(now);
  watched.unfollow(first);
  EXPECT_EQ(watch.count(home), 1);
  watched.unfollow(second);
  EXPECT_EQ(watch.count(home), 0);
  watched.hint_home(home);
  watched.stop();
}

TEST_F(FollowHubTest, WhatIsWatchedIsPolledLessOftenAndWhatIsNotAsOftenAsBefore) {
  testing::ManualClock clock;
  testing::CountedWatch watch;
  FollowHub watched(*driver_, clock, FollowHub::kPollShared, &watch);
  const auto id = watched.follow("default", "s", {1}, [](const Chunk&) {});
  const auto scans_within = [&](Duration length) {
    const std::uint64_t before = scans();
    for (Duration gone{0}; gone < length; gone += FollowHub::kPollShared) {
      clock.advance(FollowHub::kPollShared);
      while (!clock.is_waited_on()) std::this_thread::yield();
      for (int i = 0; i < 5; ++i)
        (void)driver_->run(claims::show(claims::claim_key("default", "c")));
    }
    return scans() - before;
  };
  (void)scans_within(2s);
  const std::uint64_t live = scans_within(20s);
  watch.live = false;
  const std::uint64_t not_live = scans_within(20s);
  EXPECT_GT(live, 0U);
  EXPECT_GT(not_live, 4 * live);
  watched.unfollow(id);
  watched.stop();
}

}  // namespace
}  // namespace once::server
