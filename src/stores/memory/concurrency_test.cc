#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "once/entropy.h"
#include "stores/memory/store_fixture.h"

namespace once::memory {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 2'000;

Result<CommitOutcome> commit(Store& store, std::vector<Write> writes) {
  for (Write& write : writes) write.version = system_entropy().version();
  return store.commit(writes);
}

void in_parallel(auto body) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&body, i] { body(i); });
}

std::int64_t number_at(Store& store, const Key& at) {
  const auto item = store.get(at);
  return item && *item ? std::get<std::int64_t>((*item)->value) : 0;
}

TEST(MemoryConcurrency, CommitsOverManyShardsInAnyOrderNeitherHangNorTear) {
  StoreFixture f;
  constexpr int kAccounts = 12;
  in_parallel([&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (int round = 0; round < kRounds; ++round) {
      const int from = static_cast<int>(random() % kAccounts);
      const int to = (from + 1 + static_cast<int>(random() % (kAccounts - 1))) % kAccounts;
      const auto amount = static_cast<std::int64_t>(random() % 100);
      const auto done =
          commit(f.store(), {add(numbered(from), -amount), add(numbered(to), amount)});
      ASSERT_TRUE(done && committed(*done));
    }
  });
  std::int64_t sum = 0;
  for (int i = 0; i < kAccounts; ++i) sum += number_at(f.store(), numbered(i));
  EXPECT_EQ(sum, 0);
}

// Writers change both keys by one commit, so versions read one after the other and then checked by
// one commit must belong together whenever that commit is granted.
TEST(MemoryConcurrency, TwoKeysThatChangeTogetherAreNeverSeenApartByACommit) {
  StoreFixture f;
  const Key left = numbered(1);
  const Key right = numbered(2);
  ASSERT_TRUE(committed(*commit(f.store(), {add(left, 0), add(right, 0)})));
  in_parallel([&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      if (thread % 2 == 0) {
        ASSERT_TRUE(committed(*commit(f.store(), {add(right, 1), add(left, 1)})));
        continue;
      }
      const auto a = f.store().get(left);
      const auto b = f.store().get(right);
      const auto checked = commit(f.store(), {check(left, unchanged((*a)->version)),
                                              check(right, unchanged((*b)->version))});
      if (!committed(*checked)) continue;
      ASSERT_EQ((*a)->value, (*b)->value);
    }
  });
  const auto a = f.store().get(left);
  EXPECT_EQ((*a)->value, Value(std::int64_t{kThreads / 2 * kRounds}));
}

TEST(MemoryConcurrency, OfAllWhoPutAnAbsentKeyOneWins) {
  StoreFixture f;
  std::atomic<int> wins = 0;
  in_parallel([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      wins += committed(*commit(f.store(), {put(numbered(i), text("mine"), absent())})) ? 1 : 0;
    }
  });
  EXPECT_EQ(wins.load(), kRounds);
}

TEST(MemoryConcurrency, H17_TheBoundHoldsUnderManyWritersAndLastingItemsStay) {
  constexpr std::size_t kBound = 60'000;
  StoreFixture f(kBound);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(f.put(key("lasting", i), text(std::string(50, 'x'))));
  const Time expiry = f.in(std::chrono::hours(1));
  in_parallel([&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      const Key one = key("t" + std::to_string(thread), i);
      const Key two = numbered(i % 300);
      const auto size = static_cast<std::size_t>(i * 13 % 400);
      const auto done =
          commit(f.store(), {put(one, text(std::string(size, 'a')), anything(), expiry),
                             put(two, text(std::string(size, 'b')), anything(), expiry)});
      ASSERT_TRUE(done || done.error().code == ErrorCode::unavailable);
      if (i % 100 == 0) {
        ASSERT_LE(f.store().usage().bytes, kBound);
      }
    }
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(f.has(key("lasting", i)));
  EXPECT_GT(f.store().usage().evicted, 0U);
  EXPECT_LE(f.store().usage().bytes, kBound);
}

}  // namespace
}  // namespace once::memory
