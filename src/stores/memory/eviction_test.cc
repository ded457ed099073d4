#include <gtest/gtest.h>

#include "stores/memory/store_fixture.h"

namespace once::memory {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const Value kValue = text(std::string(100, 'v'));

std::size_t bytes_of_one_item() {
  StoreFixture f(1 << 20);
  EXPECT_TRUE(f.put(numbered(10), kValue, f.in(hours(1))));
  return f.store().usage().bytes;
}

// Room for so many items like numbered(10) with kValue and an expiry.
StoreFixture store_for(std::size_t items) { return StoreFixture(items * bytes_of_one_item()); }

TEST(MemoryBound, H17_TheLeastRecentlyWrittenExpiringItemMakesWay) {
  StoreFixture f = store_for(10);
  for (int i = 10; i < 20; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  EXPECT_EQ(f.store().usage().evicted, 0U);
  for (int i = 20; i < 25; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  EXPECT_EQ(f.store().usage().evicted, 5U);
  for (int i = 10; i < 25; ++i) EXPECT_EQ(f.has(numbered(i)), i >= 15) << i;
}

TEST(MemoryBound, H17_ReadingScanningCheckingAndLosingCountAsUse) {
  StoreFixture f = store_for(10);
  for (int i = 10; i < 20; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  EXPECT_TRUE(f.has(numbered(10)));
  EXPECT_TRUE(f.store().scan({.partition = numbered(11).partition}));
  const Version version = (*f.store().get(numbered(12)))->version;
  EXPECT_TRUE(f.commits({check(numbered(12), unchanged(version))}));
  EXPECT_FALSE(f.commits({put(numbered(13), kValue, absent())}));
  EXPECT_TRUE(f.put(numbered(14), kValue, f.in(hours(2))));
  for (int i = 20; i < 25; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  for (int i = 10; i < 20; ++i) EXPECT_EQ(f.has(numbered(i)), i < 15) << i;
}

TEST(MemoryBound, H17_ItemsWithoutExpiryNeverMakeWay) {
  StoreFixture f = store_for(10);
  for (int i = 10; i < 15; ++i) EXPECT_TRUE(f.put(numbered(i), kValue));
  for (int i = 15; i < 99; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  for (int i = 10; i < 15; ++i) EXPECT_TRUE(f.has(numbered(i)));
}

TEST(MemoryBound, H17_FullOfItemsWithoutExpiryIsUnavailableAndWritesNothing) {
  StoreFixture f = store_for(10);
  int stored = 10;
  while (f.put(numbered(stored), kValue)) ++stored;
  const auto outcome = f.commit({put(numbered(98), kValue, absent())});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::unavailable);
  EXPECT_FALSE(f.has(numbered(98)));
  EXPECT_TRUE(f.commits({erase(numbered(10), anything())}));
  EXPECT_TRUE(f.put(numbered(98), kValue));
  EXPECT_EQ(f.store().usage().evicted, 0U);
}

TEST(MemoryBound, H17_ACommitThatCannotHaveRoomEvictsNobody) {
  StoreFixture f = store_for(10);
  for (int i = 10; i < 18; ++i) EXPECT_TRUE(f.put(numbered(i), kValue));
  EXPECT_TRUE(f.put(numbered(18), kValue, f.in(hours(1))));
  std::vector<Write> writes;
  for (int i = 20; i < 25; ++i) writes.push_back(put(numbered(i), kValue, absent()));
  const auto outcome = f.commit(writes);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(f.has(numbered(18)));
  EXPECT_EQ(f.store().usage().items, 9U);
}

TEST(MemoryBound, H17_ACommitNeverEvictsWhatItGuardsOrWrites) {
  StoreFixture f = store_for(10);
  for (int i = 10; i < 20; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  const Version oldest = (*f.store().get(numbered(10)))->version;
  for (int i = 11; i < 20; ++i) EXPECT_TRUE(f.has(numbered(i)));
  EXPECT_TRUE(f.commits({check(numbered(10), unchanged(oldest)),
                         put(numbered(11), text(std::string(150, 'w')), anything(), f.in(hours(1))),
                         put(numbered(30), kValue, absent(), f.in(hours(1)))}));
  EXPECT_TRUE(f.has(numbered(10)));
  EXPECT_EQ(f.value(numbered(11)), text(std::string(150, 'w')));
  EXPECT_TRUE(f.has(numbered(30)));
  EXPECT_FALSE(f.has(numbered(12)));
  EXPECT_FALSE(f.has(numbered(13)));
  EXPECT_TRUE(f.has(numbered(14)));
}

TEST(MemoryBound, H17_AnExpiringItemThatBecomesLastingIsKeptFromThenOn) {
  StoreFixture f = store_for(10);
  EXPECT_TRUE(f.put(numbered(10), kValue, f.in(hours(1))));
  EXPECT_TRUE(f.put(numbered(10), kValue));
  for (int i = 20; i < 60; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  EXPECT_TRUE(f.has(numbered(10)));
}

TEST(MemoryBound, TheBoundHoldsWhateverIsWritten) {
  constexpr std::size_t kBound = 50'000;
  StoreFixture f(kBound);
  for (int i = 0; i < 3'000; ++i) {
    const Value value = text(std::string(static_cast<std::size_t>(i * 37 % 4'000), 'v'));
    EXPECT_TRUE(f.put(key("p" + std::to_string(i % 7), i % 90), value, f.in(hours(1))));
    ASSERT_LE(f.store().usage().bytes, kBound);
  }
  EXPECT_GT(f.store().usage().evicted, 0U);
}

TEST(MemoryBound, WhatCanNeverFitIsInvalid) {
  StoreFixture f(10'000);
  const auto outcome = f.commit({put(key("a"), text(std::string(10'000, 'v')), absent())});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::invalid);
  EXPECT_EQ(f.store().usage().items, 0U);
}

TEST(MemoryBound, SweptAndErasedItemsLeaveTheirRoom) {
  StoreFixture f = store_for(10);
  for (int round = 0; round < 50; ++round) {
    for (int i = 10; i < 15; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(seconds(1))));
    for (int i = 15; i < 20; ++i) EXPECT_TRUE(f.put(numbered(i), kValue));
    f.clock().advance(seconds(2));
    EXPECT_EQ(f.store().sweep(100)->removed, 5U);
    for (int i = 15; i < 20; ++i) EXPECT_TRUE(f.commits({erase(numbered(i), anything())}));
  }
  EXPECT_EQ(f.store().usage().bytes, 0U);
  EXPECT_EQ(f.store().usage().evicted, 0U);
}

TEST(MemoryBound, ALostGuardKeepsNoRoom) {
  StoreFixture f = store_for(10);
  for (int i = 10; i < 20; ++i) EXPECT_TRUE(f.put(numbered(i), kValue, f.in(hours(1))));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(f.commits({put(numbered(10), kValue, absent())}));
  EXPECT_EQ(f.store().usage().evicted, 0U);
  EXPECT_TRUE(f.put(numbered(20), kValue, f.in(hours(1))));
  EXPECT_EQ(f.store().usage().evicted, 1U);
}

}  // namespace
}  // namespace once::memory
