// Time: what has expired is absent, swept or not.
#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

struct Total {
  std::size_t removed = 0;
  bool finished = false;
};

Total sweep_all(StoreConformance& test, std::size_t limit) {
  Total total;
  for (int round = 0; round < 1'000 && !total.finished; ++round) {
    const Result<Swept> swept = test.store().sweep(limit);
    if (!swept) {
      ADD_FAILURE() << swept.error().message;
      return total;
    }
    EXPECT_LE(swept->examined, limit);
    EXPECT_LE(swept->removed, swept->examined);
    total.removed += swept->removed;
    total.finished = swept->finished;
  }
  EXPECT_TRUE(total.finished);
  return total;
}

}  // namespace

TEST_P(StoreConformance, TimeNeverStepsBack) {
  in_parallel(4, [&](std::size_t) {
    Time last = store().now();
    for (int i = 0; i < 1'000; ++i) {
      const Time now = store().now();
      EXPECT_GE(now, last);
      last = now;
    }
  });
  const Time before = store().now();
  wait_out();
  EXPECT_GE(store().now(), before + GetParam().short_life);
}

TEST_P(StoreConformance, AnItemIsAbsentFromItsExpiryOn) {
  const Item item = seed_expired(key("k"), Bytes("v"));
  EXPECT_GE(store().now(), item.expiry);
  EXPECT_EQ(read(key("k")), std::nullopt);
}

TEST_P(StoreConformance, AnItemWrittenWithAPastExpiryIsAbsentAtOnce) {
  seed(key("k"), Bytes("before"));
  seed(key("k"), Bytes("past"), store().now());
  EXPECT_EQ(read(key("k")), std::nullopt);
  seed(key("k"), std::int64_t{1}, Time(Duration(1)));
  EXPECT_EQ(read(key("k")), std::nullopt);
  EXPECT_TRUE(is_committed(commit({fresh(put(key("k"), Bytes("after"), absent()))})));
}

TEST_P(StoreConformance, ExpiryIsKeptToTheMillisecond) {
  const Time expiry = far_off() + Duration(1);
  seed(key("k"), Bytes("v"), expiry);
  EXPECT_EQ(read(key("k"))->expiry, expiry);
  seed(key("k"), Bytes("v"), expiry + Duration(1));
  EXPECT_EQ(read(key("k"))->expiry, expiry + Duration(1));
}

TEST_P(StoreConformance, ALaterWriteTakesTheExpiryAway) {
  seed(key("put"), Bytes("v"), soon());
  seed(key("add"), std::int64_t{1}, soon());
  const Item put_item = seed(key("put"), Bytes("stays"));
  const Write added = fresh(add(key("add"), 1));
  EXPECT_TRUE(is_committed(commit({added})));
  wait_out();
  EXPECT_EQ(read(key("put")), put_item);
  EXPECT_EQ(read(key("add"))->version, added.version);
}

TEST_P(StoreConformance, ALaterWriteBringsAnExpiry) {
  seed(key("k"), std::int64_t{1});
  EXPECT_TRUE(is_committed(commit({fresh(add(key("k"), 1, anything(), soon()))})));
  wait_out();
  EXPECT_EQ(read(key("k")), std::nullopt);
}

TEST_P(StoreConformance, SweepRemovesOnlyWhatHasExpired) {
  std::vector<std::pair<Key, Item>> left;
  for (std::int64_t i = 0; i < 30; ++i) {
    if (i % 3 == 0) {
      seed(key("p", i), Bytes("expired"), soon());
      continue;
    }
    left.emplace_back(key("p", i),
                      seed(key("p", i), Bytes("left"), i % 3 == 1 ? kNever : far_off()));
  }
  wait_out();
  const Total total = sweep_all(*this, 1'000);
  if (GetParam().sweeps) {
    EXPECT_EQ(total.removed, 10U);
  }
  for (const auto& [key, item] : left) EXPECT_EQ(read(key), item);
  for (std::int64_t i = 0; i < 30; i += 3) EXPECT_EQ(read(key("p", i)), std::nullopt);
}

TEST_P(StoreConformance, SweepInSmallStepsComesToAnEnd) {
  for (std::int64_t i = 0; i < 30; ++i) seed(key("p", i), Bytes("v"), i % 2 == 0 ? soon() : kNever);
  wait_out();
  const Total total = sweep_all(*this, 4);
  if (GetParam().sweeps) {
    EXPECT_EQ(total.removed, 15U);
  }
  for (std::int64_t i = 1; i < 30; i += 2) EXPECT_TRUE(read(key("p", i)).has_value());
}

TEST_P(StoreConformance, AKeyIsUsableAfterItsItemWasSwept) {
  seed_expired(key("k"), Bytes("old"));
  sweep_all(*this, 100);
  const Write again = fresh(put(key("k"), Bytes("new"), absent()));
  EXPECT_TRUE(is_committed(commit({again})));
  EXPECT_EQ(read(key("k")), item_of(again));
}

}  // namespace once::testing
