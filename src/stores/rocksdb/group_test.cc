// A group is as if committed one by one.
#include <limits>

#include "stores/rocksdb/store_fixture.h"

namespace once {
namespace {

class Grouped : public RocksDbTest {
 protected:
  std::vector<Result<CommitOutcome>> commit_each(std::vector<std::vector<Write>>& transactions) {
    std::vector<Transaction> group;
    for (std::vector<Write>& writes : transactions) {
      for (Write& write : writes) write = versioned(std::move(write));
      group.emplace_back(writes);
    }
    return store_->commit_each(group);
  }
};

TEST_F(Grouped, H26_OfTwoPutIfAbsentsInOneGroupTheFirstWins) {
  open();
  std::vector<std::vector<Write>> group = {{put(key_of("home"), "first", absent())},
                                           {put(key_of("home"), "second", absent())}};
  const auto answers = commit_each(group);
  EXPECT_TRUE(committed(answers[0].value()));
  const Lost lost = std::get<Lost>(answers[1].value());
  EXPECT_EQ(lost.current, (Item{Bytes("first"), group[0][0].version, kNever}));
  open();
  EXPECT_EQ(store_->get(key_of("home")).value()->value, Value("first"));
}

TEST_F(Grouped, H26_EachSeesWhatItsPredecessorsLeave) {
  open();
  std::vector<std::vector<Write>> group = {
      {add(key_of("n"), 1)},
      {add(key_of("n"), 2), put(key_of("side"), "x", absent())},
      {erase(key_of("n"), anything())},
      {put(key_of("n"), std::int64_t{10}, absent())},
      {raise(key_of("n"), 5)},
      {add(key_of("n"), 7)},
      {check(key_of("side"), absent()), put(key_of("n"), "never", anything())}};
  const auto answers = commit_each(group);
  EXPECT_EQ(std::get<Committed>(answers[0].value()).numbers[0], 1);
  EXPECT_EQ(std::get<Committed>(answers[1].value()).numbers[0], 3);
  EXPECT_TRUE(committed(answers[2].value()));
  EXPECT_TRUE(committed(answers[3].value()));
  EXPECT_EQ(std::get<Committed>(answers[4].value()).numbers[0], 10);
  EXPECT_EQ(std::get<Committed>(answers[5].value()).numbers[0], 17);
  EXPECT_EQ(std::get<Lost>(answers[6].value()).write, 0U);
  EXPECT_EQ(store_->get(key_of("n")).value()->version, group[5][0].version);
}

TEST_F(Grouped, H26_AFailedTransactionLeavesNoTraceForItsSuccessors) {
  open();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  ASSERT_TRUE(commit(put(key_of("n"), kMost, absent())));
  ASSERT_TRUE(commit(put(key_of("bytes"), "x", absent())));
  std::vector<std::vector<Write>> group = {
      {put(key_of("a"), "overflow", absent()), add(key_of("n"), 1)},
      {put(key_of("a"), "bytes", absent()), add(key_of("bytes"), 1)},
      {put(key_of("a"), "good", absent())}};
  const auto answers = commit_each(group);
  EXPECT_EQ(answers[0].error().code, ErrorCode::invalid);
  EXPECT_EQ(answers[1].error().code, ErrorCode::invalid);
  EXPECT_TRUE(committed(answers[2].value()));
  EXPECT_EQ(store_->get(key_of("a")).value()->value, Value("good"));
}

TEST_F(Grouped, WhatIsWrittenExpiredIsAbsentForTheNext) {
  open();
  std::vector<std::vector<Write>> group = {{put(key_of("home"), "gone", anything(), clock_.now())},
                                           {put(key_of("home"), "here", absent())}};
  const auto answers = commit_each(group);
  EXPECT_TRUE(committed(answers[1].value()));
}

TEST_F(Grouped, WritingAnExpiredItemTakesAwayWhatStoodThere) {
  open();
  ASSERT_TRUE(commit(put(key_of("home"), "old", absent())));
  ASSERT_TRUE(commit(put(key_of("home"), "gone", anything(), clock_.now())));
  EXPECT_FALSE(has(key_of("home")));
}

TEST_F(Grouped, ManyKeysAndManyTransactionsKeepTheirAnswers) {
  open();
  std::vector<std::vector<Write>> group;
  for (std::int64_t i = 0; i < 3'000; ++i) {
    group.push_back({add(key_of("home", i % 1'000), i), add(key_of("all"), 1)});
  }
  const auto answers = commit_each(group);
  for (std::int64_t i = 0; i < 3'000; ++i) {
    const auto& numbers = std::get<Committed>(answers[static_cast<std::size_t>(i)].value()).numbers;
    const std::int64_t earlier = i / 1'000;
    EXPECT_EQ(numbers[0], (i % 1'000) * (earlier + 1) + 1'000 * earlier * (earlier + 1) / 2);
    EXPECT_EQ(numbers[1], i + 1);
  }
}

}  // namespace
}  // namespace once
