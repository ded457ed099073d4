// Many threads on the same keys.
#include <array>
#include <atomic>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

constexpr std::size_t kThreads = 16;

std::int64_t number_at(StoreConformance& test, const Key& key) {
  const std::optional<Item> item = test.read(key);
  return item ? std::get<std::int64_t>(item->value) : 0;
}

}  // namespace

TEST_P(StoreConformance, OfManyPutIfAbsentsOneWinsEachKey) {
  constexpr std::size_t kKeys = 20;
  std::array<std::atomic<int>, kKeys> wins = {};
  std::array<std::atomic<std::uint64_t>, kKeys> winner = {};
  in_parallel(kThreads, [&](std::size_t) {
    for (std::size_t i = 0; i < kKeys; ++i) {
      const Write write =
          fresh(put(key("k", static_cast<std::int64_t>(i)), Bytes("same"), absent()));
      const auto answer = commit({write});
      ASSERT_TRUE(answer.has_value()) << answer.error().message;
      if (!committed(*answer)) {
        EXPECT_TRUE(std::get<Lost>(*answer).current.has_value());
        continue;
      }
      ++wins[i];
      winner[i] = write.version.number;
    }
  });
  for (std::size_t i = 0; i < kKeys; ++i) {
    EXPECT_EQ(wins[i], 1);
    EXPECT_EQ(read(key("k", static_cast<std::int64_t>(i)))->version.number, winner[i]);
  }
}

TEST_P(StoreConformance, OfManyPutIfAbsentsInGroupsOneWinsEachKey) {
  constexpr std::size_t kKeys = 20;
  std::array<std::atomic<int>, kKeys> wins = {};
  in_parallel(kThreads, [&](std::size_t) {
    std::vector<Write> writes;
    for (std::size_t i = 0; i < kKeys; ++i) {
      writes.push_back(fresh(put(key("k", static_cast<std::int64_t>(i)), Bytes("same"), absent())));
    }
    std::vector<Transaction> group;
    for (const Write& write : writes) group.emplace_back(&write, 1);
    const auto answers = store().commit_each(group);
    for (std::size_t i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(answers[i].has_value()) << answers[i].error().message;
      if (committed(*answers[i])) ++wins[i];
    }
  });
  for (const std::atomic<int>& count : wins) EXPECT_EQ(count, 1);
}

TEST_P(StoreConformance, AddsFromManyThreadsAreExact) {
  constexpr int kAdds = 20;
  in_parallel(kThreads, [&](std::size_t thread) {
    for (int i = 0; i < kAdds; ++i) {
      const std::int64_t amount = thread % 2 == 0 ? 3 : -1;
      EXPECT_TRUE(is_committed(commit({fresh(add(key("sum"), amount))})));
    }
  });
  EXPECT_EQ(number_at(*this, key("sum")), kThreads / 2 * kAdds * (3 - 1));
}

TEST_P(StoreConformance, RaisesFromManyThreadsKeepTheLargest) {
  in_parallel(kThreads, [&](std::size_t thread) {
    for (std::int64_t i = 0; i < 10; ++i) {
      const auto value = static_cast<std::int64_t>(thread) * 100 + i;
      EXPECT_TRUE(is_committed(commit({fresh(raise(key("max"), value))})));
    }
  });
  EXPECT_EQ(number_at(*this, key("max")), 1'509);
}

TEST_P(StoreConformance, OfManyUpdatesFromOneVersionOneWins) {
  Version version = seed(key("k"), std::int64_t{0}).version;
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> wins = 0;
    in_parallel(kThreads, [&](std::size_t thread) {
      const Write write =
          fresh(put(key("k"), static_cast<std::int64_t>(thread), unchanged(version)));
      const auto answer = commit({write});
      ASSERT_TRUE(answer.has_value()) << answer.error().message;
      if (committed(*answer)) ++wins;
    });
    EXPECT_EQ(wins, 1);
    version = read(key("k"))->version;
  }
}

// Each transfer reads two accounts and writes both under unchanged(): money is neither made nor
// lost, and no transfer sees half of another.
TEST_P(StoreConformance, ConcurrentTransfersKeepTheSum) {
  constexpr std::int64_t kAccounts = 4;
  constexpr std::int64_t kEach = 100;
  for (std::int64_t i = 0; i < kAccounts; ++i) seed(key("account", i), kEach);
  if (!takes(2)) {
    const std::vector<Write> both = {fresh(add(key("account", 0), -1)),
                                     fresh(add(key("account", 1), 1))};
    EXPECT_TRUE(failed_as(ErrorCode::unsupported, commit(both)));
    EXPECT_EQ(number_at(*this, key("account", 0)), kEach);
    return;
  }
  in_parallel(8, [&](std::size_t thread) {
    for (std::int64_t i = 0; i < 10; ++i) {
      const std::int64_t from = (static_cast<std::int64_t>(thread) + i) % kAccounts;
      const std::array keys = {key("account", from),
                               key("account", (from + 1 + i % 2) % kAccounts)};
      for (bool done = false; !done;) {
        const auto read = store().get(keys);
        ASSERT_TRUE(read.has_value()) << read.error().message;
        std::vector<Write> writes;
        for (std::size_t side = 0; side < 2; ++side) {
          const Item& item = *(*read)[side];
          const std::int64_t balance = std::get<std::int64_t>(item.value) + (side == 0 ? -7 : 7);
          writes.push_back(fresh(put(keys[side], balance, unchanged(item.version))));
        }
        const auto answer = commit(writes);
        ASSERT_TRUE(answer.has_value()) << answer.error().message;
        done = committed(*answer);
      }
    }
  });
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kAccounts; ++i) sum += number_at(*this, key("account", i));
  EXPECT_EQ(sum, kAccounts * kEach);
}

// Two keys written together by every commit are never seen apart by a commit that checks both.
TEST_P(StoreConformance, ACommitNeverSeesHalfOfAnother) {
  if (!takes(2)) {
    const std::vector<Write> both = {fresh(add(key("a"), 1)), fresh(add(key("b"), 1))};
    EXPECT_TRUE(failed_as(ErrorCode::unsupported, commit(both)));
    EXPECT_EQ(read(key("a")), std::nullopt);
    return;
  }
  in_parallel(8, [&](std::size_t) {
    for (int i = 0; i < 20; ++i) {
      // Written in both orders, which must not stop them dead.
      const std::vector<Write> both = {fresh(add(key(i % 2 == 0 ? "a" : "b"), 1)),
                                       fresh(add(key(i % 2 == 0 ? "b" : "a"), 1))};
      const auto answer = commit(both);
      ASSERT_TRUE(is_committed(answer));
      if (!GetParam().tells_numbers) continue;
      const auto& numbers = std::get<Committed>(*answer).numbers;
      EXPECT_EQ(numbers.at(0), numbers.at(1));
    }
  });
  EXPECT_EQ(number_at(*this, key("a")), 160);
  EXPECT_EQ(number_at(*this, key("b")), 160);
}

}  // namespace once::testing
