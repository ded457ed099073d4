#include "primitives/listing.h"

#include <set>

#include "testing/store_under_test.h"

namespace once {
namespace {

class ListingTest : public testing::FaultyStoreTest {
 protected:
  void fill(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) {
      const Write one = put({{prefix + std::to_string(i), ""}, 0}, std::int64_t{i}, absent());
      Write named = one;
      named.version = {++version_};
      ASSERT_TRUE(memory_->commit({&named, 1}).has_value());
    }
  }

  struct Page {
    std::vector<std::string> homes;
    std::string cursor;
    std::size_t examined = 0;
  };
  // Finds the items whose number is a multiple of `every`.
  Page page(const std::string& cursor, std::size_t limit, std::int64_t every = 1) {
    Page found;
    const Result<std::string> next = driver_.run(
        walk({"x/", cursor, limit}, [&](ListPage::Listed& listed, Time) -> Result<bool> {
          ++found.examined;
          if (std::get<std::int64_t>(listed.item.value) % every != 0) return false;
          found.homes.push_back(listed.key.partition.home);
          return true;
        }));
    EXPECT_TRUE(next.has_value());
    found.cursor = next.value_or("");
    return found;
  }

  BlockingDriver driver_{*metered_, clock_, entropy_};
  std::uint64_t version_ = 0;
};

TEST_F(ListingTest, TheLimitCountsWhatIsFoundAndAllOfItIsFoundOnce) {
  const int count = static_cast<int>(testing::as_many_as(500, 60));
  fill("x/", count);
  fill("y/", count);
  std::multiset<std::string> found;
  std::string cursor;
  int pages = 0;
  do {
    const Page next = page(cursor, 3, 10);
    EXPECT_LE(next.homes.size(), 3U);
    EXPECT_TRUE(next.cursor.empty() || next.homes.size() == 3);
    found.insert(next.homes.begin(), next.homes.end());
    cursor = next.cursor;
    ASSERT_LT(++pages, count);
  } while (!cursor.empty());
  EXPECT_EQ(found.size(), static_cast<std::size_t>(count / 10));
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());
}

TEST_F(ListingTest, APageThatFindsNothingEndsAtTheBoundOfWhatItMayExamine) {
  if (memory_->limits().calls_in_flight > 1) GTEST_SKIP() << "many items: in memory only";
  fill("x/", 12'000);
  const Page first = page("", 2, 1'000'000);
  EXPECT_LE(first.examined, kMaxExamined);
  EXPECT_FALSE(first.cursor.empty());
  EXPECT_LT(calls(), 20U) << "it asks item by item";
  const Page second = page(first.cursor, 2, 1'000'000);
  EXPECT_TRUE(second.cursor.empty());
  EXPECT_EQ(first.homes.size() + second.homes.size(), 1U);
}

TEST_F(ListingTest, WhatExistsIsMetAlthoughTheItemThatAPageEndedWithIsGone) {
  fill("x/", 40);
  const Page first = page("", 5, 2);
  ASSERT_EQ(first.homes.size(), 5U);
  std::set<std::string> met(first.homes.begin(), first.homes.end());
  const Write gone = erase({{first.homes.back(), ""}, 0}, anything());
  ASSERT_TRUE(memory_->commit({&gone, 1}).has_value());
  for (std::string cursor = first.cursor; !cursor.empty();) {
    const Page next = page(cursor, 5, 2);
    met.insert(next.homes.begin(), next.homes.end());
    cursor = next.cursor;
  }
  EXPECT_EQ(met.size(), 20U);
}

TEST_F(ListingTest, ACursorThatIsNoneIsInvalid) {
  const auto never = [](ListPage::Listed&, Time) -> Result<bool> { return false; };
  const Result<std::string> next = driver_.run(walk({"x/", "garbage", 5}, never));
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().code, ErrorCode::invalid);
  EXPECT_EQ(driver_.run(walk({"x/", "", 0}, never)).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace once
