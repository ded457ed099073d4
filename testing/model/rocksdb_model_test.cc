#include <gtest/gtest.h>

#include "once/rocksdb_store.h"
#include "testing/model/check_model.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

// Opening a store takes longer than a sequence, so all of them share one.
void empty(Store& store) {
  for (std::string cursor;;) {
    const Result<ListPage> page = store.list({.cursor = cursor});
    ASSERT_TRUE(page.has_value());
    for (const ListPage::Listed& listed : page->items) {
      const Write gone = erase(listed.key, anything());
      ASSERT_TRUE(store.commit({&gone, 1}).has_value());
    }
    cursor = page->cursor;
    if (cursor.empty()) break;
  }
  for (bool finished = false; !finished;) {
    const Result<Swept> swept = store.sweep(kMaxPage);
    ASSERT_TRUE(swept.has_value());
    finished = swept->finished;
  }
}

TEST(StoreModel, RocksDbDoesWhatAPlainMapDoes) {
  ManualClock clock;
  const TempDir directory;
  auto opened = open_rocksdb({.directory = directory.path(),
                              .durability = Durability::relaxed,
                              .keep_free_bytes = 0,
                              .cache_bytes = 1U << 20,
                              .memtable_bytes = 1U << 20,
                              .sweep_every = Duration::zero()},
                             clock);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const std::shared_ptr<Store> store = std::move(*opened);
  check_model(1'000, clock, [&] {
    empty(*store);
    return store;
  });
}

}  // namespace
}  // namespace once::testing
