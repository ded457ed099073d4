// list: every item is met, in bounded pages.
#include <map>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

using Found = std::map<Key, Item>;

Found walk(StoreConformance& test, std::string prefix, std::size_t limit) {
  Found found;
  ListRequest request{.home_prefix = std::move(prefix), .limit = limit};
  for (int pages = 0; pages < 10'000; ++pages) {
    const Result<ListPage> page = test.store().list(request);
    if (!page) {
      ADD_FAILURE() << page.error().message;
      return found;
    }
    EXPECT_LE(page->items.size(), limit);
    for (const ListPage::Listed& listed : page->items) found[listed.key] = listed.item;
    if (page->cursor.empty()) return found;
    request.cursor = page->cursor;
  }
  ADD_FAILURE() << "the walk does not end";
  return found;
}

Found seed_some(StoreConformance& test) {
  Found seeded;
  for (const char* home : {"a", "ab", "abc", "b", "\xff", "\xff\xff"}) {
    for (const std::string& part : {std::string(), std::string("p"), std::string("\0/", 2)}) {
      for (const std::int64_t sort : {0, 1, 300}) {
        const Key key{{home, part}, sort};
        seeded[key] = test.seed(key, Bytes(home), test.far_off());
      }
    }
  }
  return seeded;
}

}  // namespace

TEST_P(StoreConformance, ListOfAnEmptyStoreEnds) { EXPECT_EQ(walk(*this, "", 10), Found{}); }

TEST_P(StoreConformance, ListMeetsEveryItemWholeWithPagesOfAnySize) {
  const Found seeded = seed_some(*this);
  for (const std::size_t limit : {1U, 2U, 7U, 54U, 1'000U}) {
    SCOPED_TRACE(limit);
    EXPECT_EQ(walk(*this, "", limit), seeded);
  }
}

TEST_P(StoreConformance, ListKeepsToHomesThatStartWithThePrefix) {
  const Found seeded = seed_some(*this);
  for (const std::string prefix : {"a", "ab", "abc", "abcd", "b", "\xff", "\xff\xff", "c"}) {
    SCOPED_TRACE(prefix);
    Found expected;
    for (const auto& [key, item] : seeded) {
      if (key.partition.home.starts_with(prefix)) expected[key] = item;
    }
    EXPECT_EQ(walk(*this, prefix, 4), expected);
  }
}

TEST_P(StoreConformance, ListLeavesOutWhatHasExpiredOrWasErased) {
  seed(key("expired"), Bytes("v"), soon());
  seed(key("erased"), Bytes("v"));
  remove(key("erased"));
  const Item left = seed(key("left"), Bytes("v"));
  wait_out();
  EXPECT_EQ(walk(*this, "", 1), (Found{{key("left"), left}}));
}

TEST_P(StoreConformance, AListedItemThatStaysIsMetAlthoughOthersComeAndGo) {
  Found stay;
  for (std::int64_t sort = 0; sort < 30; ++sort) {
    const Item item = seed(key("p", sort), Bytes("v"));
    if (sort % 2 == 0) stay[key("p", sort)] = item;
  }
  Found met;
  ListRequest request{.limit = 3};
  for (std::int64_t sort = 1;; sort = sort + 2) {
    const Result<ListPage> page = store().list(request);
    ASSERT_TRUE(page.has_value());
    for (const auto& listed : page->items) met[listed.key] = listed.item;
    if (page->cursor.empty()) break;
    request.cursor = page->cursor;
    if (sort < 30) remove(key("p", sort));
    seed(key("new", sort), Bytes("new"));
  }
  for (const auto& [key, item] : stay) EXPECT_EQ(met[key], item);
}

TEST_P(StoreConformance, ACursorThatIsNoneIsInvalid) {
  seed_some(*this);
  EXPECT_TRUE(failed_as(ErrorCode::invalid, store().list({.cursor = "\x01garbage\xff"})));
}

}  // namespace once::testing
