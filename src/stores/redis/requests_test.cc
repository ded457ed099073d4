// What each operation costs in requests and round trips.
#include "once/claims.h"
#include "once/documents.h"
#include "once/local.h"
#include "once/log.h"
#include "once/tallies.h"
#include "stores/redis/store_fixture.h"
#include "testing/manual_clock.h"
#include "testing/stores/server_cases.h"

namespace once::testing {
namespace {

class RedisRequests : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (!server_) return;
    // By this clock no time passes, so the server is not asked for its own.
    store_ = open_redis({.port = server_->port()}, clock_).value();
    spent();
  }

  // Requests since the last time; they were in so many round trips.
  std::uint64_t spent() {
    const RedisCounts now = store_->counts();
    const std::uint64_t requests = now.requests - counted_.requests;
    trips_ = now.round_trips - counted_.round_trips;
    counted_ = now;
    return requests;
  }

  ManualClock clock_;
  std::unique_ptr<RedisStore> store_;
  RedisCounts counted_;
  std::uint64_t trips_ = 0;
};

TEST_F(RedisRequests, AClaimItsDuplicateAndItsCompletionAreOneEach) {
  // The first claim of a process also reads the secret of the store's tickets.
  ASSERT_TRUE(LocalClaims(*store_).take("first", {.owner = "me"}).has_value());
  (void)spent();
  claim_and_complete(*store_, [&](ClaimStep) { EXPECT_EQ(spent(), 1U); });
}

TEST_F(RedisRequests, SeenIdsAreOneRequestEachInOneRoundTrip) {
  LocalClaims claims(*store_);
  // The first of a process also reads the store's secret, which says if there may be older marks.
  ASSERT_TRUE(claims.seen(std::vector<std::string>{"first"}, std::chrono::hours(1)).has_value());
  (void)spent();
  const std::vector<std::string> ids = {"a", "b", "c"};
  for (const bool first : {true, false}) {
    ASSERT_EQ(claims.seen(ids, std::chrono::hours(1)).value(), std::vector<bool>(3, first));
    EXPECT_EQ(spent(), ids.size());
    EXPECT_EQ(trips_, 1U);
  }
}

// Redis may lose what it answered, so what a process remembers of a log's end is not believed.
TEST_F(RedisRequests, AnAppendIsTwoBecauseTheEndIsLookedFor) {
  LocalLog log(*store_);
  ASSERT_TRUE(log.append("s", {{"a", std::nullopt}}).has_value());
  EXPECT_EQ(spent(), 3U) << "of an empty log, its life too";
  for (const char* const batch : {"", "", "id"}) {
    ASSERT_TRUE(log.append("s", {{"a", std::nullopt}}, {.batch = batch}).has_value());
    EXPECT_EQ(spent(), 2U);
  }
}

TEST_F(RedisRequests, AnAddIsTwoBecauseWhatTheTallyIsIsLookedFor) {
  LocalTallies tallies(*store_);
  const auto merge = [&] {
    const auto merged = tallies.merge("sum", {.input = std::int64_t{5}});
    ASSERT_TRUE(merged && std::holds_alternative<Tallied>(*merged));
  };
  merge();
  EXPECT_LE(spent(), 3U) << "the first fixes what the tally is";
  merge();
  EXPECT_EQ(spent(), 2U);
}

TEST_F(RedisRequests, AnUpdateOfADocumentIsTwo) {
  update_twice(*store_, [&] { EXPECT_EQ(spent(), 2U); });
}

TEST_F(RedisRequests, GroupsReadingsAndScansAreOneRoundTrip) {
  std::vector<Write> writes;
  std::vector<Key> keys;
  for (int i = 0; i < 100; ++i) {
    writes.push_back(fresh(add(key_at("g", i), 1)));
    keys.push_back(writes.back().key);
  }
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  for (const auto& answer : store_->commit_each(group)) ASSERT_TRUE(wins(answer));
  EXPECT_EQ(spent(), 100U);
  EXPECT_EQ(trips_, 1U);
  ASSERT_TRUE(wins(store_->commit(writes)));
  EXPECT_EQ(spent(), 1U);
  ASSERT_TRUE(store_->get(keys).has_value());
  EXPECT_EQ(spent(), 100U);
  EXPECT_EQ(trips_, 1U);
  ASSERT_EQ(store_->scan({.partition = {"g", ""}}).value().entries.size(), 100U);
  EXPECT_EQ(spent(), 1U);
}

}  // namespace
}  // namespace once::testing
