// list() and sweep().
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "stores/memory/store_fixture.h"

namespace once::memory {
namespace {

using std::chrono::seconds;

// Every key met on a walk; `between` is called after each page.
template <class Between>
std::multiset<Key> walk(MemoryStore& store, ListRequest request, Between between) {
  std::multiset<Key> met;
  do {
    const auto page = store.list(request);
    EXPECT_TRUE(page.has_value());
    for (const auto& listed : page->items) met.insert(listed.key);
    EXPECT_LE(page->items.size(), request.limit);
    request.cursor = page->cursor;
    between();
  } while (!request.cursor.empty());
  return met;
}

void fill(StoreFixture& f, int partitions, int sorts) {
  for (int i = 0; i < partitions; ++i) {
    for (int sort = 0; sort < sorts; ++sort) {
      EXPECT_TRUE(f.put(key("home-" + std::to_string(i), sort), text("v")));
    }
  }
}

TEST(MemoryList, MeetsEveryItemOnceWhenNothingChanges) {
  StoreFixture f;
  fill(f, 500, 1);
  fill(f, 20, 30);
  for (const std::size_t limit : {1, 7, 100, 10'000}) {
    const auto met = walk(f.store(), {.home_prefix = "", .limit = limit}, [] {});
    EXPECT_EQ(met.size(), 500U + 20 * 29);
    EXPECT_EQ(std::set<Key>(met.begin(), met.end()).size(), met.size());
  }
}

TEST(MemoryList, MeetsEveryItemThatStaysWhileTheTablesGrowAndShrink) {
  StoreFixture f;
  fill(f, 300, 1);
  fill(f, 10, 20);
  int added = 0;
  const auto met = walk(f.store(), {.home_prefix = "", .limit = 10}, [&] {
    for (int i = 0; i < 400; ++i)
      EXPECT_TRUE(f.put(key("more-" + std::to_string(added++)), text("x")));
    for (int i = added - 400; i < added - 10; ++i) {
      EXPECT_TRUE(f.commits({erase(key("more-" + std::to_string(i)), anything())}));
    }
  });
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(met.contains(key("home-" + std::to_string(i)))) << i;
  for (int sort = 0; sort < 20; ++sort) EXPECT_TRUE(met.contains(key("home-3", sort)));
}

TEST(MemoryList, MeetsEveryItemThatStaysWhileAnotherThreadWrites) {
  StoreFixture f;
  fill(f, 300, 1);
  const std::jthread writer([&](const std::stop_token& stop) {
    for (int i = 0; i < 100'000 && !stop.stop_requested(); ++i) {
      EXPECT_TRUE(f.put(key("more-" + std::to_string(i)), text("x")));
    }
  });
  // A foreign prefix examines the other thread's items too, but lists ours alone.
  const auto met = walk(f.store(), {.home_prefix = "home-", .limit = 100}, [] {});
  EXPECT_EQ(met.size(), 300U);
}

TEST(MemoryList, GoesOnAfterAnItemThatIsGone) {
  StoreFixture f;
  fill(f, 50, 1);
  fill(f, 2, 30);
  ListRequest request{.home_prefix = "", .limit = 1};
  std::size_t met = 0;
  while (true) {
    const auto page = f.store().list(request);
    ASSERT_TRUE(page.has_value());
    met += page->items.size();
    for (const auto& listed : page->items) EXPECT_TRUE(f.commits({erase(listed.key, anything())}));
    if (page->cursor.empty()) break;
    request.cursor = page->cursor;
  }
  EXPECT_EQ(met, 50U + 2 * 29);
  EXPECT_EQ(f.store().usage().items, 0U);
}

TEST(MemoryList, GivesOnlyThePrefixAskedForAndNothingExpired) {
  StoreFixture f;
  EXPECT_TRUE(f.put(key("a/1"), text("v")));
  EXPECT_TRUE(f.put(key("a/2"), text("v"), f.in(seconds(1))));
  EXPECT_TRUE(f.put(key("b/1"), text("v")));
  f.clock().advance(seconds(1));
  const auto met = walk(f.store(), {.home_prefix = "a/", .limit = 2}, [] {});
  EXPECT_EQ(met, (std::multiset<Key>{key("a/1")}));
}

TEST(MemoryList, AForeignCursorIsInvalid) {
  StoreFixture f;
  fill(f, 10, 1);
  std::string spoilt = f.store().list({.home_prefix = "", .limit = 1})->cursor;
  spoilt.back() = static_cast<char>(spoilt.back() ^ 1);
  for (const std::string& cursor : {std::string("garbage"), std::string(40, 'x'), spoilt}) {
    const auto page = f.store().list({.home_prefix = "", .cursor = cursor});
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code, ErrorCode::invalid);
  }
}

TEST(MemorySweep, RemovesWhatExpiredInBoundedSteps) {
  StoreFixture f;
  fill(f, 400, 1);
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(f.put(key("old", i), text("v"), f.in(seconds(1))));
  EXPECT_EQ(f.store().sweep(10'000)->removed, 0U);
  f.clock().advance(seconds(1));
  std::size_t removed = 0;
  std::size_t examined = 0;
  Swept swept;
  do {
    swept = *f.store().sweep(70);
    EXPECT_LE(swept.examined, 70U);
    removed += swept.removed;
    examined += swept.examined;
  } while (!swept.finished);
  EXPECT_EQ(removed, 600U);
  EXPECT_EQ(examined, 1'000U);
  EXPECT_EQ(f.store().usage().items, 400U);
}

TEST(MemorySweep, StartsOverOnceFinished) {
  StoreFixture f;
  EXPECT_TRUE(f.store().sweep(10)->finished);
  EXPECT_TRUE(f.put(key("a"), text("v"), f.in(seconds(1))));
  f.clock().advance(seconds(1));
  const Swept swept = *f.store().sweep(10);
  EXPECT_EQ(swept.removed, 1U);
  EXPECT_TRUE(swept.finished);
}

TEST(MemorySweep, AnItemWrittenAnewIsNotSwept) {
  StoreFixture f;
  EXPECT_TRUE(f.put(key("a"), text("v"), f.in(seconds(1))));
  f.clock().advance(seconds(1));
  EXPECT_TRUE(f.commits({put(key("a"), text("w"), absent(), f.in(seconds(9)))}));
  EXPECT_EQ(f.store().sweep(10)->removed, 0U);
  EXPECT_EQ(f.value(key("a")), text("w"));
}

}  // namespace
}  // namespace once::memory
