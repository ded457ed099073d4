#include "once/memory_store.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "stores/memory/store_fixture.h"

namespace once::memory {
namespace {

using std::chrono::seconds;

std::vector<std::int64_t> sorts_of(MemoryStore& store, const ScanRequest& request) {
  std::vector<std::int64_t> sorts;
  const auto page = store.scan(request);
  EXPECT_TRUE(page.has_value());
  for (const Entry& entry : page->entries) sorts.push_back(entry.sort);
  return sorts;
}

using Sorts = std::vector<std::int64_t>;

TEST(MemoryStore, APartitionGoesFromOneItemToSeveralAndBack) {
  StoreFixture f;
  EXPECT_TRUE(f.put(key("p", 5), text("five")));
  EXPECT_FALSE(f.has(key("p", 4)));
  EXPECT_TRUE(f.put(key("p", 3), text("three")));
  EXPECT_TRUE(f.put(key("p", 0), text("zero")));
  EXPECT_EQ(sorts_of(f.store(), {.partition = {"p", ""}}), (Sorts{0, 3, 5}));
  EXPECT_TRUE(f.commits({erase(key("p", 3), anything())}));
  EXPECT_TRUE(f.commits({erase(key("p", 5), anything())}));
  EXPECT_EQ(sorts_of(f.store(), {.partition = {"p", ""}}), (Sorts{0}));
  EXPECT_EQ(f.value(key("p", 0)), text("zero"));
  EXPECT_FALSE(f.has(key("p", 5)));
  EXPECT_TRUE(f.commits({erase(key("p", 0), anything())}));
  EXPECT_TRUE(sorts_of(f.store(), {.partition = {"p", ""}}).empty());
  EXPECT_EQ(f.store().usage().items, 0U);
  EXPECT_EQ(f.store().usage().bytes, 0U);
}

TEST(MemoryStore, OneCommitWritesManyItemsOfOneNewPartition) {
  StoreFixture f;
  EXPECT_TRUE(f.put(key("p", 9), text("old")));
  EXPECT_TRUE(f.commits({erase(key("p", 9), anything()), put(key("p", 1), text("a"), absent()),
                         put(key("p", 2), text("b"), absent())}));
  EXPECT_EQ(sorts_of(f.store(), {.partition = {"p", ""}}), (Sorts{1, 2}));
}

TEST(MemoryStore, NumbersOfEveryLengthComeBack) {
  StoreFixture f;
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t beside : {0U, 1U, 2U}) {
      const auto number = static_cast<std::int64_t>((std::uint64_t{1} << bit) + beside - 1);
      for (const std::int64_t signed_number : {number, ~number}) {
        f.commits({put(key("n", bit), signed_number, anything())});
        EXPECT_EQ(f.value(key("n", bit)), Value(signed_number));
      }
    }
  }
}

TEST(MemoryStore, HomeAndPartAreNotOneText) {
  StoreFixture f;
  EXPECT_TRUE(f.put({{"ab", "c"}, 0}, text("1")));
  EXPECT_TRUE(f.put({{"a", "bc"}, 0}, text("2")));
  EXPECT_TRUE(f.put({{"abc", ""}, 0}, text("3")));
  EXPECT_EQ(f.value({{"ab", "c"}, 0}), text("1"));
  EXPECT_EQ(f.value({{"a", "bc"}, 0}), text("2"));
  EXPECT_EQ(f.store().usage().items, 3U);
}

TEST(MemoryStore, ScanEndsAtTheLimitOrTheBytesButGivesOneItem) {
  StoreFixture f;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(f.put(key("p", i), text(std::string(100, 'x'))));
  ScanRequest request{.partition = {"p", ""}, .first = 2, .last = 8, .limit = 3};
  EXPECT_EQ(sorts_of(f.store(), request), (Sorts{2, 3, 4}));
  request.direction = Direction::descending;
  EXPECT_EQ(sorts_of(f.store(), request), (Sorts{8, 7, 6}));
  EXPECT_TRUE(f.store().scan(request)->more);
  request.limit = 7;
  EXPECT_FALSE(f.store().scan(request)->more);
  request.max_bytes = 250;
  EXPECT_EQ(sorts_of(f.store(), request), (Sorts{8, 7}));
  request.max_bytes = 1;
  EXPECT_EQ(sorts_of(f.store(), request), (Sorts{8}));
  EXPECT_TRUE(f.store().scan(request)->more);
}

TEST(MemoryStore, ScanPassesOverExpiredItems) {
  StoreFixture f;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(f.put(key("p", i), std::int64_t{i}, i % 2 == 0 ? f.in(seconds(1)) : kNever));
  }
  f.clock().advance(seconds(1));
  EXPECT_EQ(sorts_of(f.store(), {.partition = {"p", ""}, .limit = 3}), (Sorts{1, 3, 5}));
  EXPECT_FALSE(f.store().scan({.partition = {"p", ""}, .limit = 3})->more);
}

TEST(MemoryStore, ALostGuardInTheMiddleOfALargeCommitWritesNothing) {
  StoreFixture f;
  EXPECT_TRUE(f.put(numbered(50), text("taken")));
  std::vector<Write> writes;
  for (int i = 0; i < 100; ++i) writes.push_back(put(numbered(i), text("new"), absent()));
  const auto outcome = f.commit(writes);
  ASSERT_TRUE(outcome && !committed(*outcome));
  const Lost& lost = std::get<Lost>(*outcome);
  EXPECT_EQ(lost.write, 50U);
  EXPECT_EQ(lost.current->value, text("taken"));
  EXPECT_EQ(f.store().usage().items, 1U);
}

TEST(MemoryStore, OverflowInTheLastWriteWritesNothing) {
  StoreFixture f;
  EXPECT_TRUE(f.put(key("n"), std::numeric_limits<std::int64_t>::max()));
  const auto outcome = f.commit({put(key("a"), text("x"), absent()), add(key("n"), 1)});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::invalid);
  EXPECT_FALSE(f.has(key("a")));
}

TEST(MemoryStore, ValuesOfEverySizeComeBackAsWritten) {
  StoreFixture f;
  for (const std::size_t size : {0, 1, 7, 8, 100, 1'999, 2'000, 2'048, 2'049, 5'000, 1 << 20}) {
    const Value value = text(std::string(size, static_cast<char>('a' + size % 26)));
    EXPECT_TRUE(f.put(key("one"), value));
    EXPECT_EQ(f.value(key("one")), value);
    EXPECT_TRUE(f.put(key("many", static_cast<std::int64_t>(size)), value));
  }
  EXPECT_EQ(f.value(key("many", 2'048)), text(std::string(2'048, 'a' + 2'048 % 26)));
  EXPECT_TRUE(f.put(key("one"), std::int64_t{-3}));
  EXPECT_EQ(f.value(key("one")), Value(std::int64_t{-3}));
}

TEST(MemoryStore, RandomCommitsLeaveWhatAMapWouldHold) {
  StoreFixture f;
  std::map<Key, std::string> model;
  std::mt19937 random(5);
  for (int step = 0; step < 20'000; ++step) {
    const Key at{{"home-" + std::to_string(random() % 40), random() % 2 == 0 ? "" : "part"},
                 static_cast<std::int64_t>(random() % 20)};
    if (random() % 3 != 0) {
      const std::string bytes(random() % (random() % 20 == 0 ? 3'000 : 60), 'v');
      EXPECT_TRUE(f.put(at, text(bytes)));
      model[at] = bytes;
    } else {
      EXPECT_TRUE(f.commits({erase(at, anything())}));
      model.erase(at);
    }
  }
  EXPECT_EQ(f.store().usage().items, model.size());
  for (const auto& [at, bytes] : model) EXPECT_EQ(f.value(at), text(bytes));
}

// Puts, adds and erasures of few keys under guards that hold or do not, in random order.
std::vector<Write> random_writes(std::mt19937& random, std::size_t count) {
  std::vector<Write> writes;
  for (std::size_t i = 0; i < count; ++i) {
    const Key at = key("home-" + std::to_string(random() % 300));
    const Guard guard = random() % 2 == 0 ? absent() : anything();
    switch (random() % 4) {
      case 0: writes.push_back(add(at, std::int64_t{1} << 62, guard)); break;
      case 1: writes.push_back(erase(at, anything())); break;
      default: writes.push_back(put(at, std::int64_t{5}, guard)); break;
    }
    writes.back().version = {i + 1};
  }
  return writes;
}

// What is compared of an answer: its kind, what it lost to, the number, the error.
using Told = std::tuple<int, std::optional<Value>, std::optional<std::int64_t>>;
Told told(const Result<CommitOutcome>& answer) {
  if (!answer) return {static_cast<int>(answer.error().code), std::nullopt, std::nullopt};
  if (const Lost* lost = std::get_if<Lost>(&*answer)) {
    return {-2, lost->current ? std::optional(lost->current->value) : std::nullopt, std::nullopt};
  }
  const auto& numbers = std::get<Committed>(*answer).numbers;
  return {-1, std::nullopt, numbers.empty() ? std::nullopt : numbers[0]};
}

TEST(MemoryStore, ALargeGroupOfSingleWritesEndsAsIfTheyWereCommittedOneByOne) {
  std::mt19937 random(7);
  StoreFixture grouped;
  StoreFixture single;
  const std::vector<Write> writes = random_writes(random, 5'000);
  std::vector<Transaction> transactions;
  for (const Write& write : writes) transactions.emplace_back(&write, 1);
  const auto answers = grouped.store().commit_each(transactions);
  ASSERT_EQ(answers.size(), writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    EXPECT_EQ(told(answers[i]), told(single.store().commit(transactions[i]))) << i;
  }
  for (const Write& write : writes) {
    EXPECT_EQ(grouped.value(write.key), single.value(write.key));
  }
}

TEST(MemoryStore, SaysThatItForgetsAndHowMuchItHolds) {
  EXPECT_EQ(StoreFixture().store().describe(), "memory, forgotten when the process ends");
  EXPECT_EQ(StoreFixture(1'000).store().describe(),
            "memory, forgotten when the process ends, at most 1000 bytes");
}

}  // namespace
}  // namespace once::memory
