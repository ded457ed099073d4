// What each kind of write leaves, beyond its guard.
#include <limits>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

void expect_number(StoreConformance& test, const Result<CommitOutcome>& answer,
                   std::int64_t expected) {
  ASSERT_TRUE(is_committed(answer));
  const auto& numbers = std::get<Committed>(*answer).numbers;
  ASSERT_EQ(numbers.size(), 1U);
  if (test.GetParam().tells_numbers) {
    EXPECT_TRUE(numbers[0].has_value());
  }
  if (numbers[0]) {
    EXPECT_EQ(*numbers[0], expected);
  }
}

void expect_refused_unchanged(StoreConformance& test, const Write& write) {
  const std::optional<Item> before = test.read(write.key);
  EXPECT_TRUE(failed_as(ErrorCode::invalid, test.commit({write})));
  EXPECT_EQ(test.read(write.key), before);
}

}  // namespace

TEST_P(StoreConformance, PutReplacesValueVersionAndExpiry) {
  seed(key("k"), Bytes("old"), far_off());
  const Write number = fresh(put(key("k"), std::int64_t{7}, anything(), far_off()));
  EXPECT_TRUE(is_committed(commit({number})));
  EXPECT_EQ(read(key("k")), item_of(number));
  const Write bytes = fresh(put(key("k"), Bytes("new"), anything()));
  EXPECT_TRUE(is_committed(commit({bytes})));
  EXPECT_EQ(read(key("k")), item_of(bytes));
}

TEST_P(StoreConformance, NumbersAreGivenOnlyWhereThereIsAnAddOrARaise) {
  const auto answer = commit({fresh(put(key("k"), std::int64_t{1}, anything()))});
  ASSERT_TRUE(is_committed(answer));
  EXPECT_TRUE(std::get<Committed>(*answer).numbers.empty());
}

TEST_P(StoreConformance, AddCountsFromZeroAndTellsTheSum) {
  expect_number(*this, commit({fresh(add(key("k"), 3))}), 3);
  expect_number(*this, commit({fresh(add(key("k"), -5))}), -2);
  const Write last = fresh(add(key("k"), 0, anything(), far_off()));
  expect_number(*this, commit({last}), -2);
  EXPECT_EQ(read(key("k")), (Item{std::int64_t{-2}, last.version, last.expiry}));
}

TEST_P(StoreConformance, AddReachesBothEndsOfTheRange) {
  seed(key("up"), kMax - 1);
  expect_number(*this, commit({fresh(add(key("up"), 1))}), kMax);
  seed(key("down"), kMin + 1);
  expect_number(*this, commit({fresh(add(key("down"), -1))}), kMin);
  expect_number(*this, commit({fresh(add(key("from zero"), kMin))}), kMin);
}

TEST_P(StoreConformance, AddIsExactBeyondWhatADoubleHolds) {
  seed(key("k"), (std::int64_t{1} << 53) + 1);
  expect_number(*this, commit({fresh(add(key("k"), 1))}), (std::int64_t{1} << 53) + 2);
}

TEST_P(StoreConformance, AddThatOverflowsUpwardsIsRefusedAndChangesNothing) {
  seed(key("k"), kMax, far_off());
  expect_refused_unchanged(*this, fresh(add(key("k"), 1)));
}

TEST_P(StoreConformance, AddThatOverflowsDownwardsIsRefusedAndChangesNothing) {
  seed(key("k"), kMin, far_off());
  expect_refused_unchanged(*this, fresh(add(key("k"), -1)));
}

TEST_P(StoreConformance, RaiseKeepsTheLarger) {
  expect_number(*this, commit({fresh(raise(key("k"), -3))}), -3);
  expect_number(*this, commit({fresh(raise(key("k"), 8))}), 8);
  expect_number(*this, commit({fresh(raise(key("k"), 7))}), 8);
  EXPECT_EQ(read(key("k"))->value, Value(std::int64_t{8}));
}

TEST_P(StoreConformance, RaiseThatDoesNotRaiseLeavesVersionAndExpiry) {
  const Item item = seed(key("k"), std::int64_t{8}, far_off());
  for (const std::int64_t operand : {std::int64_t{8}, std::int64_t{7}, kMin}) {
    expect_number(*this, commit({fresh(raise(key("k"), operand))}), 8);
    EXPECT_EQ(read(key("k")), item);
  }
}

TEST_P(StoreConformance, RaiseComparesAllDigits) {
  seed(key("k"), kMax - 1);
  expect_number(*this, commit({fresh(raise(key("k"), kMax - 2))}), kMax - 1);
  expect_number(*this, commit({fresh(raise(key("k"), kMax))}), kMax);
}

TEST_P(StoreConformance, AddAndRaiseOnBytesAreRefusedAndChangeNothing) {
  for (const Bytes& bytes : {Bytes("12"), Bytes(), Bytes("text")}) {
    seed(key("k"), bytes, far_off());
    expect_refused_unchanged(*this, fresh(add(key("k"), 1)));
    expect_refused_unchanged(*this, fresh(raise(key("k"), 1)));
  }
}

TEST_P(StoreConformance, AddOnExpiredBytesStartsFromZero) {
  seed_expired(key("k"), Bytes("text"));
  expect_number(*this, commit({fresh(add(key("k"), 4))}), 4);
}

TEST_P(StoreConformance, EraseOfNothingIsCommitted) {
  EXPECT_TRUE(is_committed(commit({erase(key("k"), anything())})));
  EXPECT_TRUE(is_committed(commit({erase(key("k"), absent())})));
  EXPECT_EQ(read(key("k")), std::nullopt);
}

TEST_P(StoreConformance, H24_EqualBytesFromTwoWritersAreToldApartByVersion) {
  const Write ours = fresh(put(key("k"), Bytes("same"), absent()));
  const Write theirs = fresh(put(key("k"), Bytes("same"), absent()));
  EXPECT_TRUE(is_committed(commit({theirs})));
  EXPECT_TRUE(is_lost(commit({ours}), 0, item_of(theirs)));
  EXPECT_NE(read(key("k"))->version, ours.version);
}

TEST_P(StoreConformance, H24_BytesThatReturnDoNotBringTheirVersionBack) {
  const Item first = seed(key("k"), Bytes("A"));
  seed(key("k"), Bytes("B"));
  const Item third = seed(key("k"), Bytes("A"));
  const Write stale = fresh(put(key("k"), Bytes("C"), unchanged(first.version)));
  EXPECT_TRUE(is_lost(commit({stale}), 0, third));
}

TEST_P(StoreConformance, H7_AfterALostReplyAnOverwrittenCommitShowsAForeignVersion) {
  const Item before = seed(key("k"), Bytes("0"));
  const Write ours = fresh(put(key("k"), Bytes("1"), unchanged(before.version)));
  EXPECT_TRUE(is_committed(commit({ours})));  // Its reply is what the caller never sees.
  const Item theirs = seed(key("k"), Bytes("2"));
  EXPECT_EQ(read(key("k")), theirs);
  EXPECT_TRUE(is_lost(commit({ours}), 0, theirs));
  EXPECT_EQ(read(key("k")), theirs);
}

TEST_P(StoreConformance, H7_ACommitSentTwiceFindsItsOwnVersion) {
  const Write ours = fresh(put(key("k"), Bytes("1"), absent_lasting()));
  EXPECT_TRUE(is_committed(commit({ours})));
  // Stores that a gateway may be before know it again (docs/hazards.md#h33).
  const auto again = commit({ours});
  EXPECT_TRUE(is_committed(again) || is_lost(again, 0, item_of(ours)));
}

}  // namespace once::testing
