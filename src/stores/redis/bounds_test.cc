// However much there is, no script, page, cursor or answer takes more than its bound.
#include <set>

#include "stores/redis/store_fixture.h"
#include "testing/manual_clock.h"

namespace once::testing {
namespace {

constexpr std::size_t kMiB = 1U << 20;

class RedisBounds : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (server_) store_ = open();
  }
  std::vector<std::string> arguments() override { return {"--appendonly", "no"}; }

  void put_all(std::int64_t first, std::int64_t last, std::size_t size, Time expiry = kNever) {
    for (std::int64_t sort = first; sort <= last; ++sort) {
      const Write write = fresh(put(key_at("t", sort), Bytes(size, 'v'), anything(), expiry));
      ASSERT_TRUE(wins(commit_one(*store_, write)));
    }
  }

  // What scripts hold, with what they have left behind.
  std::size_t script_bytes() const {
    const std::string info = server_->cli("info memory");
    const std::string name = "used_memory_vm_eval:";
    return std::stoul(info.substr(info.find(name) + name.size()));
  }

  std::uint64_t trips() {
    const std::uint64_t now = store_->counts().round_trips;
    return now - std::exchange(trips_, now);
  }

  std::unique_ptr<RedisStore> store_;
  std::uint64_t trips_ = 0;
};

TEST_F(RedisBounds, AScanThatComesFromSmallItemsToLargeOnesDoesNotReadThemAll) {
  put_all(1, 300, 1);
  put_all(301, 324, kMiB);
  store_ = open();
  server_->cli("script flush sync");  // What writing left behind goes with it.
  const ScanPage page = store_->scan({.partition = {"t", ""}, .max_bytes = kMiB}).value();
  EXPECT_EQ(page.entries.size(), 301U);
  EXPECT_TRUE(page.more);
  EXPECT_LT(script_bytes(), 12 * kMiB);
}

TEST_F(RedisBounds, AScanOverMuchThatHasExpiredLetsOthersInBetween) {
  put_all(1, 1, 1);
  put_all(2, 19, kMiB, store_->now());
  put_all(20, 21, 1);
  for (const Direction direction : {Direction::ascending, Direction::descending}) {
    for (const std::size_t limit : {std::size_t{2}, std::size_t{3}}) {
      trips();
      const ScanPage page =
          store_->scan({.partition = {"t", ""}, .direction = direction, .limit = limit}).value();
      std::vector<std::int64_t> sorts;
      for (const Entry& entry : page.entries) sorts.push_back(entry.sort);
      std::vector<std::int64_t> wanted = {1, 20, 21};
      if (direction == Direction::descending) wanted = {21, 20, 1};
      EXPECT_EQ(page.more, limit < 3);
      wanted.resize(std::min<std::size_t>(limit, 3));
      EXPECT_EQ(sorts, wanted);
      if (limit > 2) {
        EXPECT_GE(trips(), 3U);
      }
    }
  }
}

TEST_F(RedisBounds, ASweepReadsLargeItemsAFewAtATime) {
  put_all(1, 16, kMiB);
  put_all(17, 24, kMiB, store_->now());
  put_all(25, 300, 1, store_->now());
  store_ = open();
  server_->cli("script flush sync");
  trips();
  Swept all;
  while (!all.finished) {
    const Swept swept = store_->sweep(1'000).value();
    all.examined += swept.examined;
    all.removed += swept.removed;
    all.finished = swept.finished;
  }
  EXPECT_EQ(all.examined, 300U);
  EXPECT_EQ(all.removed, 284U);
  EXPECT_GE(trips(), 6U);
  EXPECT_LT(script_bytes(), 12 * kMiB);
}

TEST_F(RedisBounds, ManyItemsAreReadInPiecesByTheirSize) {
  std::vector<Key> keys;
  for (int i = 0; i < 600; ++i) {
    keys.push_back(key_at("k" + std::to_string(i)));
    const Write write = fresh(put(keys.back(), Bytes(i % 2 == 0 ? kMiB / 8 : 1, 'v'), absent()));
    ASSERT_TRUE(wins(commit_one(*store_, write)));
  }
  trips();
  const auto items = store_->get(keys).value();
  EXPECT_GE(trips(), 4U);
  ASSERT_EQ(items.size(), keys.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_TRUE(items[i].has_value());
    EXPECT_EQ(std::get<Bytes>(items[i]->value).size(), i % 2 == 0 ? kMiB / 8 : 1);
  }
}

TEST_F(RedisBounds, APageOfLargeItemsEndsSoonAfterItIsFull) {
  for (int i = 0; i < 20; ++i) {
    const Write write = fresh(put(key_at("k" + std::to_string(i)), Bytes(kMiB, 'v'), absent()));
    ASSERT_TRUE(wins(commit_one(*store_, write)));
  }
  std::set<Key> met;
  ListRequest request;
  do {
    const ListPage page = store_->list(request).value();
    EXPECT_LE(page.items.size(), 8U);
    for (const auto& listed : page.items) met.insert(listed.key);
    request.cursor = page.cursor;
  } while (!request.cursor.empty());
  EXPECT_EQ(met.size(), 20U);
}

TEST_F(RedisBounds, ACursorFitsTheHeadOfARequestWhereverThePageEnds) {
  std::vector<Write> writes;
  // By their bytes a page ends in the middle of what the server tells at once.
  for (int i = 0; i < 1'500; ++i) {
    writes.push_back(fresh(put(key_at("k" + std::to_string(i)), Bytes(5'000, 'v'), absent())));
  }
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  for (const auto& answer : store_->commit_each(group)) ASSERT_TRUE(wins(answer));
  for (const std::size_t limit : {10'000U, 1'000U, 90U}) {
    std::set<Key> met;
    ListRequest request{.limit = limit};
    do {
      const ListPage page = store_->list(request).value();
      EXPECT_LE(page.items.size(), limit);
      for (const auto& listed : page.items) met.insert(listed.key);
      request.cursor = page.cursor;
      EXPECT_LT(request.cursor.size(), 4'096U);
    } while (!request.cursor.empty());
    EXPECT_EQ(met.size(), writes.size());
  }
}

TEST_F(RedisBounds, AConnectionThatWasIdleForLongIsNotUsedAgain) {
  ManualClock clock;
  store_ = open_redis({.port = server_->port()}, clock).value();
  const auto opened = [this] {
    const std::string info = server_->cli("info stats");
    const std::string name = "total_connections_received:";
    return std::stoul(info.substr(info.find(name) + name.size()));
  };
  for (const int seconds : {29, 31}) {
    const std::size_t before = opened();
    clock.advance(std::chrono::seconds(seconds));
    ASSERT_TRUE(store_->get(key_at("k")).has_value());
    EXPECT_EQ(opened() - before, seconds > 30 ? 2U : 1U) << "one is our own question";
  }
}

}  // namespace
}  // namespace once::testing
