// What each operation costs in requests, which is what DynamoDB is paid for.
#include <gtest/gtest.h>

#include "once/claims.h"
#include "once/documents.h"
#include "once/local.h"
#include "once/log.h"
#include "once/tallies.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"
#include "testing/stores/server_cases.h"

namespace once::testing {
namespace {

class DynamoDbRequests : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(DynamoDbLocal);
    table_.emplace();
    store_ = open_dynamodb(table_->options()).value();
    spent();
  }

  // Since the last time.
  std::uint64_t spent() {
    const DynamoDbCounts now = store_->counts();
    const std::uint64_t requests = now.requests - counted_.requests;
    units_ = now.read_units + now.write_units - counted_.read_units - counted_.write_units;
    counted_ = now;
    return requests;
  }

  std::optional<DynamoDbTable> table_;
  std::unique_ptr<DynamoDbStore> store_;
  DynamoDbCounts counted_;
  double units_ = 0;  // Of what was last spent.
};

TEST_F(DynamoDbRequests, AClaimItsDuplicateAndItsCompletionAreOneEach) {
  // The first claim of a process also reads the secret of the store's tickets.
  ASSERT_TRUE(LocalClaims(*store_).take("first", {.owner = "me"}).has_value());
  (void)spent();
  claim_and_complete(*store_, [&](ClaimStep step) {
    EXPECT_EQ(spent(), 1U);
    const bool writes = step == ClaimStep::taken || step == ClaimStep::completed;
    if (writes) {
      EXPECT_EQ(units_, 1);
    }
  });
}

TEST_F(DynamoDbRequests, SeenIdsAreOneRequestEach) {
  LocalClaims claims(*store_);
  // The first of a process also reads the store's secret, which says if there may be older marks.
  ASSERT_TRUE(claims.seen(std::vector<std::string>{"first"}, std::chrono::hours(1)).has_value());
  (void)spent();
  const std::vector<std::string> ids = {"a", "b", "c"};
  ASSERT_EQ(claims.seen(ids, std::chrono::hours(1)).value(), std::vector<bool>({true, true, true}));
  EXPECT_EQ(spent(), ids.size());
  ASSERT_EQ(claims.seen(ids, std::chrono::hours(1)).value(),
            std::vector<bool>({false, false, false}));
  EXPECT_EQ(spent(), ids.size());
}

TEST_F(DynamoDbRequests, AnAppendIsOne) {
  LocalLog log(*store_);
  ASSERT_TRUE(log.append("s", {{"a", std::nullopt}}).has_value());
  EXPECT_EQ(spent(), 3U) << "the first looks for the end, and of an empty log for its life";
  ASSERT_TRUE(log.append("s", {{"b", std::nullopt}}).has_value());
  EXPECT_EQ(spent(), 1U);
  EXPECT_EQ(units_, 1);
  ASSERT_TRUE(log.append("s", {{"c", std::nullopt}}, {.batch = "id"}).has_value());
  EXPECT_EQ(spent(), 1U) << "a transaction of the batch and its id";
}

TEST_F(DynamoDbRequests, AnUpdateOfADocumentIsTwo) {
  update_twice(*store_, [&] {
    EXPECT_EQ(spent(), 2U);
    EXPECT_LE(units_, 2);
    EXPECT_GE(units_, 1);
  });
}

TEST_F(DynamoDbRequests, AnAddAndAMaxAreOneRequestAndOneUnitOnceTheTallyIsKnown) {
  LocalTallies tallies(*store_);
  for (const TallyKind kind : {TallyKind::sum, TallyKind::max}) {
    const std::string name = kind == TallyKind::sum ? "sum" : "max";
    const auto merge = [&](std::int64_t input) {
      const auto merged = tallies.merge(name, {.shape = {.kind = kind}, .input = input});
      ASSERT_TRUE(merged && std::holds_alternative<Tallied>(*merged));
      EXPECT_TRUE(std::get<Tallied>(*merged).value.has_value());
    };
    merge(5);
    // The first fixes what the tally is, and checks that. Its transaction does not tell the sum.
    EXPECT_EQ(spent(), kind == TallyKind::sum ? 4U : 3U);
    for (const std::int64_t input : {7, 3}) {
      merge(input);
      EXPECT_EQ(spent(), 1U) << name << ' ' << input;
      EXPECT_EQ(units_, 1) << name << ' ' << input;
    }
    EXPECT_EQ(std::get<std::int64_t>(tallies.read(name).value()->value),
              kind == TallyKind::sum ? 15 : 7);
    spent();
  }
}

TEST_F(DynamoDbRequests, AnAddWithAnIdIsTwoWritesInOneTransaction) {
  LocalTallies tallies(*store_);
  const auto add = [&](const std::string& id) {
    const auto merged = tallies.merge("sum", {.input = std::int64_t{5}, .id = id});
    ASSERT_TRUE(merged && std::holds_alternative<Tallied>(*merged));
    EXPECT_TRUE(std::get<Tallied>(*merged).value.has_value());
  };
  add("first");
  (void)spent();
  add("second");
  EXPECT_EQ(spent(), 2U) << "the transaction, and the sum that it does not tell";
  EXPECT_EQ(units_, 5) << "4 writes, because in a transaction each counts twice, and 1 read";
  add("second");
  EXPECT_EQ(spent(), 2U);
  EXPECT_EQ(std::get<std::int64_t>(tallies.read("sum").value()->value), 10);
}

TEST_F(DynamoDbRequests, AnAddToWhatHasExpiredIsTwoAndStartsAgain) {
  Write first = add({{"h", ""}, 0}, 5, anything(), store_->now());
  first.version = {1};
  ASSERT_TRUE(store_->commit({&first, 1}).has_value());
  EXPECT_EQ(spent(), 1U);
  Write again = add({{"h", ""}, 0}, 2);
  again.version = {2};
  const auto outcome = store_->commit({&again, 1});
  ASSERT_TRUE(outcome && committed(*outcome));
  EXPECT_EQ(std::get<Committed>(*outcome).numbers.at(0), 2);
  EXPECT_EQ(spent(), 2U);
}

}  // namespace
}  // namespace once::testing
