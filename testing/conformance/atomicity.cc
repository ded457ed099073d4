// Several writes in one commit: all or nothing, or refused where a store takes one only.
#include <limits>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

// On a store of single writes: refused, and nothing is written.
void expect_unsupported(StoreConformance& test, const std::vector<Write>& writes) {
  std::vector<std::optional<Item>> before;
  for (const Write& write : writes) before.push_back(test.read(write.key));
  EXPECT_TRUE(failed_as(ErrorCode::unsupported, test.commit(writes)));
  for (std::size_t i = 0; i < writes.size(); ++i) {
    EXPECT_EQ(test.read(writes[i].key), before[i]);
  }
}

void expect_nothing_written(StoreConformance& test, const std::vector<Write>& writes,
                            std::initializer_list<std::size_t> were_absent) {
  for (const std::size_t i : were_absent) EXPECT_EQ(test.read(writes[i].key), std::nullopt);
}

}  // namespace

TEST_P(StoreConformance, WritesOfEveryKindHappenTogether) {
  const Item old = seed(key("put"), Bytes("old"));
  const Item gone = seed(key("erase"), Bytes("gone"));
  seed(key("add"), std::int64_t{1});
  const Item kept = seed(key("raise"), std::int64_t{9}, far_off());
  const Item seen = seed(key("check"), Bytes("seen"));
  const std::vector<Write> writes = {fresh(put(key("put"), Bytes("new"), unchanged(old.version))),
                                     erase(key("erase"), unchanged(gone.version)),
                                     fresh(add(key("add"), 2)), fresh(raise(key("raise"), 3)),
                                     check(key("check"), unchanged(seen.version))};
  if (!takes(writes.size())) return expect_unsupported(*this, writes);
  const auto answer = commit(writes);
  ASSERT_TRUE(is_committed(answer));
  const auto& numbers = std::get<Committed>(*answer).numbers;
  ASSERT_EQ(numbers.size(), writes.size());
  EXPECT_EQ(numbers[0], std::nullopt);
  if (GetParam().tells_numbers) {
    EXPECT_EQ(numbers[2], 3);
  }
  if (GetParam().tells_numbers) {
    EXPECT_EQ(numbers[3], 9);
  }
  EXPECT_EQ(read(key("put")), item_of(writes[0]));
  EXPECT_EQ(read(key("erase")), std::nullopt);
  EXPECT_EQ(read(key("add")), (Item{std::int64_t{3}, writes[2].version}));
  EXPECT_EQ(read(key("raise")), kept);
  EXPECT_EQ(read(key("check")), seen);
}

TEST_P(StoreConformance, OneLostGuardUndoesAllWritesWhereverItStands) {
  const Item taken = seed(key("taken"), Bytes("theirs"), far_off());
  for (std::size_t at = 0; at < 3; ++at) {
    std::vector<Write> writes = {fresh(put(key("a"), Bytes("a"), absent())),
                                 fresh(add(key("b"), 1))};
    writes.insert(writes.begin() + static_cast<std::ptrdiff_t>(at),
                  fresh(put(key("taken"), Bytes("ours"), absent())));
    if (!takes(writes.size())) return expect_unsupported(*this, writes);
    EXPECT_TRUE(is_lost(commit(writes), at, taken));
    EXPECT_EQ(read(key("a")), std::nullopt);
    EXPECT_EQ(read(key("b")), std::nullopt);
    EXPECT_EQ(read(key("taken")), taken);
  }
}

TEST_P(StoreConformance, ACheckGuardsTheWritesBesideIt) {
  const Version old = seed(key("fence"), std::int64_t{1}).version;
  const Item fence = seed(key("fence"), std::int64_t{2});
  const std::vector<Write> writes = {fresh(put(key("a"), Bytes("a"), absent())),
                                     check(key("fence"), unchanged(old))};
  if (!takes(writes.size())) return expect_unsupported(*this, writes);
  EXPECT_TRUE(is_lost(commit(writes), 1, fence));
  expect_nothing_written(*this, writes, {0});
}

TEST_P(StoreConformance, TheFirstLostGuardIsNamed) {
  const Item one = seed(key("one"), Bytes("1"));
  const Item two = seed(key("two"), Bytes("2"));
  const std::vector<Write> writes = {fresh(put(key("a"), Bytes("a"), absent())),
                                     fresh(put(key("one"), Bytes("x"), absent())),
                                     fresh(put(key("two"), Bytes("x"), absent()))};
  if (!takes(writes.size())) return expect_unsupported(*this, writes);
  const auto answer = commit(writes);
  if (GetParam().tells_first_lost) {
    EXPECT_TRUE(is_lost(answer, 1, one));
  } else {
    EXPECT_TRUE(is_lost(answer, 1, one) || is_lost(answer, 2, two));
  }
  expect_nothing_written(*this, writes, {0});
}

TEST_P(StoreConformance, AnOverflowUndoesTheWritesBeforeIt) {
  const Item full = seed(key("full"), kMax);
  const std::vector<Write> writes = {fresh(put(key("a"), Bytes("a"), absent())),
                                     fresh(add(key("full"), 1))};
  if (!takes(writes.size())) return expect_unsupported(*this, writes);
  EXPECT_TRUE(failed_as(ErrorCode::invalid, commit(writes)));
  expect_nothing_written(*this, writes, {0});
  EXPECT_EQ(read(key("full")), full);
}

TEST_P(StoreConformance, ALostGuardIsAnOutcomeAlsoBesideArithmeticOnBytes) {
  const Item text = seed(key("text"), Bytes("text"));
  const Item taken = seed(key("taken"), Bytes("theirs"));
  const std::vector<Write> writes = {fresh(put(key("taken"), Bytes("ours"), absent())),
                                     fresh(add(key("text"), 1))};
  if (!takes(writes.size())) return expect_unsupported(*this, writes);
  const auto answer = commit(writes);
  EXPECT_TRUE(is_lost(answer, 0, taken) || failed_as(ErrorCode::invalid, answer));
  EXPECT_EQ(read(key("text")), text);
  EXPECT_EQ(read(key("taken")), taken);
}

TEST_P(StoreConformance, WritesOfTwoHomesHappenTogetherOrAreRefused) {
  const std::vector<Write> writes = {fresh(put({{"home", "a"}, 0}, Bytes("1"), absent())),
                                     fresh(put({{"elsewhere", "a"}, 0}, Bytes("2"), absent()))};
  if (!takes(writes.size()) || limits().one_home_per_commit) {
    return expect_unsupported(*this, writes);
  }
  EXPECT_TRUE(is_committed(commit(writes)));
  for (const Write& write : writes) EXPECT_EQ(read(write.key), item_of(write));
}

TEST_P(StoreConformance, SortsOfOnePartitionAreKeysOfTheirOwn) {
  const std::vector<Write> writes = {fresh(put(key("p", 0), Bytes("0"), absent())),
                                     fresh(put(key("p", 1), Bytes("1"), absent()))};
  if (!takes(writes.size())) return expect_unsupported(*this, writes);
  EXPECT_TRUE(is_committed(commit(writes)));
  for (const Write& write : writes) EXPECT_EQ(read(write.key), item_of(write));
}

TEST_P(StoreConformance, ACommitOfAsManyWritesAsAllowedIsWhole) {
  const std::size_t count = std::min<std::size_t>(limits().writes_per_commit, 1'000);
  std::vector<Write> writes;
  for (std::size_t i = 0; i < count; ++i) {
    writes.push_back(fresh(put(key("p", static_cast<std::int64_t>(i)), Bytes("v"), absent())));
  }
  EXPECT_TRUE(is_committed(commit(writes)));
  for (const Write& write : writes) EXPECT_EQ(read(write.key), item_of(write));
}

}  // namespace once::testing
