// What a script must not do half (docs/hazards.md#h27), and what is not ours.
#include <limits>
#include <thread>

#include "stores/redis/store_fixture.h"
#include "testing/code_of.h"

namespace once::testing {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kExact = std::int64_t{1} << 53;

class RedisDamage : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (server_) store_ = open();
  }

  std::unique_ptr<RedisStore> store_;
};

TEST_F(RedisDamage, H27_IntegersAreExactBeyondWhatADoubleHolds) {
  for (const std::int64_t sort : {0, 1}) {
    const Key key = key_at("n", sort);
    for (const std::int64_t start : {kExact + 1, -kExact - 1, kMost - 1, -kMost}) {
      ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key, start, anything())))));
      for (const std::int64_t step : {1, -1}) {
        const auto answer = commit_one(*store_, fresh(add(key, step)));
        ASSERT_TRUE(wins(answer));
        EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), step > 0 ? start + 1 : start);
      }
      const auto raised = commit_one(*store_, fresh(raise(key, start + 1)));
      EXPECT_EQ(std::get<Committed>(*raised).numbers.at(0), start + 1);
    }
  }
}

TEST_F(RedisDamage, H27_NothingIsWrittenWhenTheLastOfManyWritesCannotBe) {
  ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key_at("h", 0, "full"), kMost, anything())))));
  const std::vector<Write> writes = {fresh(put(key_at("h"), Bytes("v"), anything())),
                                     fresh(put(key_at("h", 7), Bytes("v"), absent())),
                                     fresh(add(key_at("h", 0, "sum"), 1)),
                                     fresh(add(key_at("h", 0, "full"), 1))};
  EXPECT_EQ(code_of(store_->commit(writes)), ErrorCode::invalid);
  EXPECT_EQ(server_->cli("dbsize"), "2") << "the format, and what was full";
}

TEST_F(RedisDamage, H27_ADamagedItemStopsACommitBeforeItWrites) {
  for (const std::int64_t sort : {0, 5}) {
    const Key key = key_at("h", sort, "bad");
    if (sort == 0) server_->cli("set 'once:{h}bad:0' rubbish");
    if (sort != 0) server_->cli("zadd 'once:{h}bad:n' 0 0000000000000005rubbish");
    const std::vector<Write> writes = {fresh(put(key_at("h"), Bytes("v"), anything())),
                                       fresh(add(key, 1))};
    EXPECT_EQ(code_of(store_->commit(writes)), ErrorCode::corrupt);
    EXPECT_EQ(code_of(store_->get(key)), ErrorCode::corrupt);
    EXPECT_EQ(store_->get(key_at("h")).value(), std::nullopt);
    EXPECT_EQ(code_of(store_->scan({.partition = key.partition})), ErrorCode::corrupt);
    EXPECT_EQ(code_of(store_->list({})), ErrorCode::corrupt);
  }
}

TEST_F(RedisDamage, AnotherProgramsDataUnderOurNamesIsCorrupt) {
  server_->cli("lpush 'once:{h}:0' rubbish");
  const std::vector<Write> writes = {fresh(put(key_at("h", 1), Bytes("v"), anything())),
                                     fresh(put(key_at("h"), Bytes("v"), absent()))};
  EXPECT_EQ(code_of(store_->commit(writes)), ErrorCode::corrupt);
  EXPECT_EQ(code_of(commit_one(*store_, writes[1])), ErrorCode::corrupt);
  EXPECT_EQ(code_of(store_->get(key_at("h"))), ErrorCode::corrupt);
  EXPECT_EQ(store_->get(key_at("h", 1)).value(), std::nullopt);
}

TEST_F(RedisDamage, AFullServerRefusesWholeCommits) {
  const auto hasty = open(server_->port(), std::chrono::seconds(1));
  server_->cli("config set maxmemory 1");
  const std::vector<Write> writes = {fresh(put(key_at("h"), Bytes("v"), anything())),
                                     fresh(put(key_at("h", 1), Bytes("v"), anything()))};
  EXPECT_EQ(code_of(hasty->commit(writes)), ErrorCode::unavailable);
  EXPECT_EQ(code_of(commit_one(*hasty, fresh(put(key_at("h"), Bytes("v"), absent())))),
            ErrorCode::unavailable);
  server_->cli("config set maxmemory 0");
  EXPECT_TRUE(wins(hasty->commit(writes)));
}

TEST_F(RedisDamage, RedisItselfRemovesWhatHasExpired) {
  const Time soon = store_->now() + Duration(20);
  ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key_at("a"), Bytes("v"), absent(), soon)))));
  ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key_at("b"), 1, anything(), soon)))));
  for (const std::int64_t sort : {1, 2}) {
    const Time expiry = soon + Duration(sort);
    ASSERT_TRUE(
        wins(commit_one(*store_, fresh(put(key_at("c", sort), Bytes("v"), absent(), expiry)))));
  }
  while (server_->cli("dbsize") != "1") {
    ASSERT_LT(store_->now(), soon + std::chrono::seconds(30));
  }
}

TEST_F(RedisDamage, ASetOfItemsThatExpireOneAfterAnotherDoesNotGrow) {
  const auto add_at = [&](std::int64_t sort, Time expiry) {
    ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key_at("t", sort), 1, anything(), expiry)))));
  };
  const Time late = store_->now() + std::chrono::hours(1);
  add_at(1'000, late);
  const Time soon = store_->now() + Duration(50);
  std::vector<Write> early;
  for (std::int64_t sort = 1; sort <= 20; ++sort) {
    early.push_back(fresh(add(key_at("t", sort), 1, anything(), soon)));
  }
  ASSERT_TRUE(wins(store_->commit(early)));
  while (store_->now() < soon) std::this_thread::yield();
  EXPECT_EQ(server_->cli("zcard 'once:{t}:n'"), "21");
  for (std::int64_t sort = 1'001; sort <= 1'010; ++sort) add_at(sort, late);
  EXPECT_EQ(server_->cli("zcard 'once:{t}:n'"), "11");
}

TEST_F(RedisDamage, SweepRemovesExpiredItemsFromSetsThatStay) {
  const Time start = store_->now();
  for (std::int64_t sort = 1; sort <= 50; ++sort) {
    const Time expiry = sort % 2 == 0 ? start : kNever;
    ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key_at("t", sort), 1, anything(), expiry)))));
  }
  const Swept swept = store_->sweep(10'000).value();
  EXPECT_EQ(swept.examined, 50U);
  EXPECT_EQ(swept.removed, 25U);
  EXPECT_TRUE(swept.finished);
  EXPECT_EQ(server_->cli("zcard 'once:{t}:n'"), "25");
}

}  // namespace
}  // namespace once::testing
