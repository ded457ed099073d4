// commit_each: as if committed one by one in this order.
#include <limits>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

using Answers = std::vector<Result<CommitOutcome>>;

Answers commit_each(StoreConformance& test, const std::vector<std::vector<Write>>& group) {
  std::vector<Transaction> transactions(group.begin(), group.end());
  Answers answers = test.store().commit_each(transactions);
  EXPECT_EQ(answers.size(), group.size());
  return answers;
}

}  // namespace

TEST_P(StoreConformance, AnEmptyGroupHasNoAnswers) { EXPECT_TRUE(store().commit_each({}).empty()); }

TEST_P(StoreConformance, EachTransactionOfAGroupHasItsOwnAnswer) {
  const Item taken = seed(key("taken"), Bytes("theirs"));
  const Write first = fresh(put(key("a"), Bytes("a"), absent()));
  const Write last = fresh(put(key("b"), Bytes("b"), absent()));
  const Answers answers =
      commit_each(*this, {{first}, {fresh(put(key("taken"), Bytes("ours"), absent()))}, {last}});
  EXPECT_TRUE(is_committed(answers[0]));
  EXPECT_TRUE(is_lost(answers[1], 0, taken));
  EXPECT_TRUE(is_committed(answers[2]));
  EXPECT_EQ(read(key("a")), item_of(first));
  EXPECT_EQ(read(key("b")), item_of(last));
}

TEST_P(StoreConformance, H26_TwoPutIfAbsentsOfOneGroupHaveOneWinner) {
  const Write first = fresh(put(key("k"), Bytes("same"), absent()));
  const Write second = fresh(put(key("k"), Bytes("same"), absent()));
  const Answers answers = commit_each(*this, {{first}, {second}});
  EXPECT_TRUE(is_committed(answers[0]));
  EXPECT_TRUE(is_lost(answers[1], 0, item_of(first)));
  EXPECT_EQ(read(key("k")), item_of(first));
}

TEST_P(StoreConformance, H26_TheSameKeyInOneGroupSeesWhatCameBefore) {
  const Write made = fresh(put(key("k"), std::int64_t{1}, absent()));
  const Write replaced = fresh(put(key("k"), std::int64_t{2}, unchanged(made.version)));
  const Write stale = fresh(put(key("k"), std::int64_t{3}, unchanged(made.version)));
  const Write added = fresh(add(key("k"), 5, unchanged(replaced.version)));
  const Write again = fresh(put(key("k"), Bytes("again"), absent()));
  const Answers answers = commit_each(*this, {{made},
                                              {replaced},
                                              {stale},
                                              {added},
                                              {erase(key("k"), unchanged(added.version))},
                                              {check(key("k"), absent())},
                                              {again}});
  for (const std::size_t i : {0, 1, 3, 4, 5, 6}) EXPECT_TRUE(is_committed(answers[i])) << i;
  EXPECT_TRUE(is_lost(answers[2], 0, item_of(replaced)));
  if (GetParam().tells_numbers) {
    EXPECT_EQ(std::get<Committed>(*answers[3]).numbers.at(0), 7);
  }
  EXPECT_EQ(read(key("k")), item_of(again));
}

TEST_P(StoreConformance, H26_AddsToOneKeyInOneGroupAllCount) {
  std::vector<std::vector<Write>> group;
  for (int i = 0; i < 20; ++i) group.push_back({fresh(add(key("k"), 1))});
  const Answers answers = commit_each(*this, group);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(is_committed(answers[i]));
    if (!GetParam().tells_numbers) continue;
    EXPECT_EQ(std::get<Committed>(*answers[i]).numbers.at(0), static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(read(key("k")), (Item{std::int64_t{20}, group.back()[0].version}));
}

TEST_P(StoreConformance, H26_ARaiseThatDoesNotRaiseShowsTheEarlierOneOfItsGroup) {
  const Write high = fresh(raise(key("k"), 9));
  const Write low = fresh(raise(key("k"), 4));
  const Write next = fresh(put(key("k"), Bytes("seen"), unchanged(high.version)));
  const Answers answers = commit_each(*this, {{high}, {low}, {next}});
  for (const auto& answer : answers) EXPECT_TRUE(is_committed(answer));
  EXPECT_EQ(read(key("k")), item_of(next));
}

TEST_P(StoreConformance, H26_ALostTransactionLeavesNoTraceForLaterOnes) {
  const Item taken = seed(key("taken"), Bytes("theirs"));
  const std::vector<Write> loser = {fresh(put(key("k"), Bytes("lost"), absent())),
                                    fresh(put(key("taken"), Bytes("lost"), absent()))};
  const Write later = fresh(put(key("k"), Bytes("later"), absent()));
  const Answers answers = commit_each(*this, {loser, {later}});
  if (takes(2)) {
    EXPECT_TRUE(is_lost(answers[0], 1, taken));
  } else {
    EXPECT_TRUE(failed_as(ErrorCode::unsupported, answers[0]));
  }
  EXPECT_TRUE(is_committed(answers[1]));
  EXPECT_EQ(read(key("k")), item_of(later));
}

TEST_P(StoreConformance, H26_AnErringTransactionLeavesNoTraceForLaterOnes) {
  const Item full = seed(key("full"), kMax);
  const std::vector<Write> erring = {fresh(put(key("k"), Bytes("erred"), absent())),
                                     fresh(add(key("full"), 1))};
  const Write later = fresh(put(key("k"), Bytes("later"), absent()));
  const Answers answers =
      commit_each(*this, {erring, {later}, {check(key("full"), unchanged(full.version))}});
  EXPECT_TRUE(failed_as(takes(2) ? ErrorCode::invalid : ErrorCode::unsupported, answers[0]));
  EXPECT_TRUE(is_committed(answers[1]));
  EXPECT_TRUE(is_committed(answers[2]));
  EXPECT_EQ(read(key("k")), item_of(later));
}

TEST_P(StoreConformance, AMalformedTransactionHarmsNoOtherOfItsGroup) {
  const Write first = fresh(put(key("a"), Bytes("a"), absent()));
  const Write last = fresh(put(key("b"), Bytes("b"), absent()));
  const Answers answers = commit_each(*this, {{first},
                                              {},
                                              {put(key("c"), Bytes("no version"), absent())},
                                              {fresh(put(key("d", -1), Bytes("d"), absent()))},
                                              {last}});
  EXPECT_TRUE(is_committed(answers[0]));
  for (const std::size_t i : {1, 2, 3}) EXPECT_TRUE(failed_as(ErrorCode::invalid, answers[i]));
  EXPECT_TRUE(is_committed(answers[4]));
  EXPECT_EQ(read(key("c")), std::nullopt);
  EXPECT_EQ(read(key("b")), item_of(last));
}

TEST_P(StoreConformance, AGroupStartsFromWhatStandsAndWhatHasExpired) {
  seed_expired(key("old"), std::int64_t{40});
  const Item current = seed(key("now"), std::int64_t{40});
  const Write revived = fresh(add(key("old"), 2));
  const Write grown = fresh(add(key("now"), 2, unchanged(current.version)));
  const Answers answers = commit_each(*this, {{revived}, {grown}});
  for (const auto& answer : answers) EXPECT_TRUE(is_committed(answer));
  EXPECT_EQ(read(key("old")), (Item{std::int64_t{2}, revived.version}));
  EXPECT_EQ(read(key("now")), (Item{std::int64_t{42}, grown.version}));
}

TEST_P(StoreConformance, AnItemThatExpiresAtOnceIsAbsentForTheRestOfItsGroup) {
  const Write stillborn = fresh(put(key("k"), Bytes("old"), absent(), store().now()));
  const Write next = fresh(put(key("k"), Bytes("next"), absent()));
  const Answers answers = commit_each(*this, {{stillborn}, {next}});
  for (const auto& answer : answers) EXPECT_TRUE(is_committed(answer));
  EXPECT_EQ(read(key("k")), item_of(next));
}

TEST_P(StoreConformance, ALargeGroupIsAnsweredWhole) {
  std::vector<std::vector<Write>> group;
  for (std::int64_t i = 0; i < 500; ++i) {
    group.push_back({fresh(put(key("p", i % 250), Bytes("v"), absent()))});
  }
  const Answers answers = commit_each(*this, group);
  for (std::size_t i = 0; i < 250; ++i) {
    EXPECT_TRUE(is_committed(answers[i]));
    EXPECT_TRUE(is_lost(answers[i + 250], 0, item_of(group[i][0])));
  }
}

}  // namespace once::testing
