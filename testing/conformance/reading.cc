// get and scan.
#include <algorithm>
#include <limits>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

constexpr std::int64_t kLastSort = std::numeric_limits<std::int64_t>::max();

using Sorts = std::vector<std::int64_t>;

ScanPage scan(StoreConformance& test, const ScanRequest& request) {
  Result<ScanPage> page = test.store().scan(request);
  if (page) return std::move(*page);
  ADD_FAILURE() << page.error().message;
  return {};
}

Sorts sorts_of(const ScanPage& page) {
  Sorts sorts;
  for (const Entry& entry : page.entries) sorts.push_back(entry.sort);
  return sorts;
}

// The whole range, page by page; a page that promises more is never empty.
Sorts walk(StoreConformance& test, ScanRequest request) {
  Sorts all;
  for (;;) {
    const ScanPage page = scan(test, request);
    EXPECT_LE(page.entries.size(), request.limit);
    for (const Entry& entry : page.entries) all.push_back(entry.sort);
    if (!page.more) return all;
    if (page.entries.empty()) {
      ADD_FAILURE() << "more is promised, but nothing to go on from";
      return all;
    }
    const std::int64_t at = page.entries.back().sort;
    const bool ascending = request.direction == Direction::ascending;
    if (at == (ascending ? request.last : request.first)) return all;
    (ascending ? request.first : request.last) = ascending ? at + 1 : at - 1;
  }
}

Sorts ordered(Sorts sorts, Direction direction) {
  std::ranges::sort(sorts);
  if (direction == Direction::descending) std::ranges::reverse(sorts);
  return sorts;
}

const Sorts kSorts = {0, 1, 2, 9, 10, 255, 256, 65'536, kLastSort - 1, kLastSort};

}  // namespace

TEST_P(StoreConformance, GetAnswersInTheOrderAskedWithRepeats) {
  const Item a = seed(key("a"), Bytes("a"));
  const Item b = seed(key("b", 7), std::int64_t{-1}, far_off());
  const std::vector<Key> keys = {key("b", 7), key("none"), key("a"),
                                 key("a"),    key("b"),    key("b", 7)};
  const auto items = store().get(keys);
  ASSERT_TRUE(items.has_value());
  const std::vector<std::optional<Item>> expected = {b, std::nullopt, a, a, std::nullopt, b};
  EXPECT_EQ(*items, expected);
}

TEST_P(StoreConformance, GetOfNoKeysIsEmpty) {
  const auto items = store().get(std::span<const Key>());
  ASSERT_TRUE(items.has_value());
  EXPECT_TRUE(items->empty());
}

TEST_P(StoreConformance, GetTakesManyKeysAtOnce) {
  std::vector<Key> keys;
  for (std::int64_t i = 0; i < 300; ++i) keys.push_back(key("p", i));
  const Item first = seed(keys.front(), Bytes("first"));
  const Item last = seed(keys.back(), Bytes("last"));
  const auto items = store().get(keys);
  ASSERT_TRUE(items.has_value());
  ASSERT_EQ(items->size(), keys.size());
  EXPECT_EQ(items->front(), first);
  EXPECT_EQ(items->back(), last);
  EXPECT_EQ(std::ranges::count(*items, std::optional<Item>()), 298);
}

TEST_P(StoreConformance, ScanOfAnEmptyPartitionIsEmpty) {
  for (const Direction direction : directions(limits())) {
    const ScanPage page = scan(*this, {.partition = {"nobody", ""}, .direction = direction});
    EXPECT_TRUE(page.entries.empty());
    EXPECT_FALSE(page.more);
  }
}

TEST_P(StoreConformance, ScanGivesItemsWholeAndInOrder) {
  std::vector<Item> items;
  for (const std::int64_t sort : kSorts) {
    items.push_back(seed(key("p", sort), "value " + std::to_string(sort), far_off()));
  }
  for (const Direction direction : directions(limits())) {
    const ScanPage page = scan(*this, {.partition = {"home", "p"}, .direction = direction});
    EXPECT_FALSE(page.more);
    ASSERT_EQ(sorts_of(page), ordered(kSorts, direction));
    for (const Entry& entry : page.entries) {
      const auto at = std::ranges::find(kSorts, entry.sort) - kSorts.begin();
      EXPECT_EQ(entry.item, items[static_cast<std::size_t>(at)]);
    }
  }
}

TEST_P(StoreConformance, ScanKeepsToItsBoundsBothIncluded) {
  for (const std::int64_t sort : kSorts) seed(key("p", sort), Bytes("v"));
  struct Case {
    std::int64_t first, last;
    Sorts expected;
  };
  const std::vector<Case> cases = {{1, 10, {1, 2, 9, 10}},
                                   {3, 8, {}},
                                   {10, 10, {10}},
                                   {0, 0, {0}},
                                   {kLastSort, kLastSort, {kLastSort}},
                                   {11, 254, {}},
                                   {10, 2, {}},
                                   {255, kLastSort - 1, {255, 256, 65'536, kLastSort - 1}}};
  for (const Direction direction : directions(limits())) {
    for (const Case& one : cases) {
      SCOPED_TRACE(std::to_string(one.first) + " to " + std::to_string(one.last));
      const ScanPage page = scan(*this, {.partition = {"home", "p"},
                                         .first = one.first,
                                         .last = one.last,
                                         .direction = direction});
      EXPECT_EQ(sorts_of(page), ordered(one.expected, direction));
      EXPECT_FALSE(page.more);
    }
  }
}

TEST_P(StoreConformance, ScanPagesAreCutByLimitAndWalkedToTheEnd) {
  for (const std::int64_t sort : kSorts) seed(key("p", sort), Bytes("v"));
  for (const Direction direction : directions(limits())) {
    for (const std::size_t limit : {1U, 3U, 9U, 10U, 11U}) {
      SCOPED_TRACE(limit);
      const ScanRequest request{.partition = {"home", "p"}, .direction = direction, .limit = limit};
      const ScanPage page = scan(*this, request);
      EXPECT_EQ(page.entries.size(), std::min(limit, kSorts.size()));
      if (limit < kSorts.size()) {
        EXPECT_TRUE(page.more);
      }
      if (limit > kSorts.size()) {
        EXPECT_FALSE(page.more);
      }
      EXPECT_EQ(walk(*this, request), ordered(kSorts, direction));
    }
  }
}

TEST_P(StoreConformance, ScanPagesAreCutByBytesButHoldAtLeastOneItem) {
  Sorts sorts;
  for (std::int64_t sort = 0; sort < 20; ++sort) {
    seed(key("p", sort), Bytes(1'000, 'v'));
    sorts.push_back(sort);
  }
  for (const Direction direction : directions(limits())) {
    ScanRequest request{.partition = {"home", "p"}, .direction = direction, .max_bytes = 1};
    EXPECT_EQ(scan(*this, request).entries.size(), 1U);
    EXPECT_EQ(walk(*this, request), ordered(sorts, direction));
    request.max_bytes = 5'000;
    const ScanPage page = scan(*this, request);
    EXPECT_TRUE(page.more);
    EXPECT_GE(page.entries.size(), 2U);
    EXPECT_LE(page.entries.size(), 10U);
    EXPECT_EQ(walk(*this, request), ordered(sorts, direction));
  }
}

TEST_P(StoreConformance, ScanPassesOverExpiredAndErasedItems) {
  for (std::int64_t sort = 0; sort < 20; ++sort) {
    seed(key("p", sort), Bytes("v"), sort % 3 == 0 ? soon() : kNever);
  }
  remove(key("p", 4));
  wait_out();
  const Sorts left = {1, 2, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19};
  for (const Direction direction : directions(limits())) {
    for (const std::size_t limit : {1U, 4U, 100U}) {
      EXPECT_EQ(walk(*this, {.partition = {"home", "p"}, .direction = direction, .limit = limit}),
                ordered(left, direction));
    }
  }
}

TEST_P(StoreConformance, ScanStaysOutOfNeighbouringPartitions) {
  const std::vector<Partition> neighbours = {{"a", ""},     {"a", "b"},
                                             {"a", "bc"},   {"ab", "c"},
                                             {"abc", ""},   {"a", std::string("b\0", 2)},
                                             {"a", "\xff"}, {std::string("a\0", 2), "b"},
                                             {"b", ""},     {"aa", ""}};
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    seed({neighbours[i], static_cast<std::int64_t>(i)}, Bytes("v"));
  }
  for (const Direction direction : directions(limits())) {
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const ScanPage page = scan(*this, {.partition = neighbours[i], .direction = direction});
      EXPECT_EQ(sorts_of(page), Sorts{static_cast<std::int64_t>(i)});
    }
  }
}

}  // namespace once::testing
