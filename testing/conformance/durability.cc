// What is answered outlives the store that answered it.
#include <map>

#include "testing/conformance/store_conformance.h"

namespace once::testing {

TEST_P(DurableStoreConformance, ReopeningKeepsEveryItemWhole) {
  std::map<Key, Item> items;
  const std::vector<Value> values = {Bytes("text"), Bytes(), std::int64_t{-7},
                                     Bytes(100'000, '\xff'), Bytes(1, '\0')};
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const Time expiry : {kNever, far_off()}) {
      const Key at = key(expiry == kNever ? "never" : "far", static_cast<std::int64_t>(i));
      items[at] = seed(at, values[i], expiry);
    }
  }
  seed(key("erased"), Bytes("v"));
  remove(key("erased"));
  subject().reopen();
  for (const auto& [at, item] : items) EXPECT_EQ(read(at), item) << to_text(at);
  EXPECT_EQ(read(key("erased")), std::nullopt);
}

TEST_P(DurableStoreConformance, ReopeningKeepsWholeGroupsAndTheirOrder) {
  std::vector<Write> writes;
  for (int i = 0; i < 100; ++i) writes.push_back(fresh(add(key("sum", i % 3), 1)));
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  for (const auto& answer : store().commit_each(group)) EXPECT_TRUE(is_committed(answer));
  subject().reopen();
  EXPECT_EQ(read(key("sum", 0)), (Item{std::int64_t{34}, writes[99].version}));
  EXPECT_EQ(read(key("sum", 1)), (Item{std::int64_t{33}, writes[97].version}));
}

TEST_P(DurableStoreConformance, GuardsHoldAcrossReopening) {
  const Item item = seed(key("k"), Bytes("v"));
  subject().reopen();
  EXPECT_TRUE(is_lost(commit({fresh(put(key("k"), Bytes("w"), absent()))}), 0, item));
  EXPECT_TRUE(is_committed(commit({fresh(put(key("k"), Bytes("w"), unchanged(item.version)))})));
}

TEST_P(DurableStoreConformance, ItemsExpireAcrossReopening) {
  const Item item = seed(key("k"), Bytes("v"), soon());
  subject().reopen();
  subject().wait_until(item.expiry);
  EXPECT_EQ(read(key("k")), std::nullopt);
  EXPECT_TRUE(is_committed(commit({fresh(put(key("k"), Bytes("w"), absent()))})));
}

TEST_P(DurableStoreConformance, TimeDoesNotStepBackAcrossReopening) {
  wait_out();
  const Time before = store().now();
  seed(key("k"), Bytes("v"));
  subject().reopen();
  // Another process may have opened it; theirs is the same time within the clocks' error.
  EXPECT_GE(store().now() + limits().clock_error, before);
}

}  // namespace once::testing
