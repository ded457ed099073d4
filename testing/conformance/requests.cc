// Requests that are refused before anything is written.
#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

// Beyond this, a request that breaks the limit would cost more than the test is worth.
constexpr std::size_t kWorthTrying = 64U << 20;

void expect_refused(StoreConformance& test, ErrorCode code, const std::vector<Write>& writes) {
  EXPECT_TRUE(failed_as(code, test.commit(writes)));
  const std::vector<Transaction> group = {writes};
  EXPECT_TRUE(failed_as(code, test.store().commit_each(group)[0]));
}

}  // namespace

TEST_P(StoreConformance, ACommitWithoutWritesIsInvalid) {
  expect_refused(*this, ErrorCode::invalid, {});
}

TEST_P(StoreConformance, AWriteWithoutAVersionIsInvalid) {
  expect_refused(*this, ErrorCode::invalid, {put(key("k"), Bytes("v"), anything())});
  expect_refused(*this, ErrorCode::invalid, {add(key("k"), 1)});
  expect_refused(*this, ErrorCode::invalid, {raise(key("k"), 1)});
  EXPECT_EQ(read(key("k")), std::nullopt);
}

TEST_P(StoreConformance, AGuardThatNamesNoVersionIsInvalid) {
  expect_refused(*this, ErrorCode::invalid, {fresh(put(key("k"), Bytes("v"), unchanged({})))});
  expect_refused(*this, ErrorCode::invalid, {check(key("k"), unchanged({}))});
  EXPECT_EQ(read(key("k")), std::nullopt);
}

TEST_P(StoreConformance, ACheckOfAnythingIsInvalid) {
  expect_refused(*this, ErrorCode::invalid, {check(key("k"), anything())});
}

TEST_P(StoreConformance, AKeyTwiceInOneCommitIsRefusedAndNothingWritten) {
  const std::vector<Write> writes = {fresh(put(key("a"), Bytes("1"), anything())),
                                     fresh(put(key("b"), Bytes("2"), anything())),
                                     erase(key("a"), anything())};
  expect_refused(*this, takes(3) ? ErrorCode::invalid : ErrorCode::unsupported, writes);
  EXPECT_EQ(read(key("a")), std::nullopt);
  EXPECT_EQ(read(key("b")), std::nullopt);
}

TEST_P(StoreConformance, ANegativeSortIsInvalid) {
  expect_refused(*this, ErrorCode::invalid, {fresh(put(key("k", -1), Bytes("v"), anything()))});
  EXPECT_TRUE(failed_as(ErrorCode::invalid, store().get(key("k", -1))));
  EXPECT_TRUE(
      failed_as(ErrorCode::invalid, store().scan({.partition = {"home", "k"}, .first = -1})));
}

TEST_P(StoreConformance, AKeyWithoutAHomeIsInvalid) {
  const Key homeless{{"", "part"}, 0};
  expect_refused(*this, ErrorCode::invalid, {fresh(put(homeless, Bytes("v"), anything()))});
  EXPECT_TRUE(failed_as(ErrorCode::invalid, store().get(homeless)));
  for (const Direction direction : directions(limits())) {
    EXPECT_TRUE(failed_as(ErrorCode::invalid,
                          store().scan({.partition = homeless.partition, .direction = direction})));
  }
}

TEST_P(StoreConformance, AKeyTooLongIsRefusedAndNothingWritten) {
  ASSERT_GT(limits().partition_bytes, 0U);
  const std::size_t length = limits().partition_bytes;
  if (length > kWorthTrying) return;
  const Key longest{{std::string(length - length / 2, 'h'), std::string(length / 2, 'p')}, 0};
  Key longer = longest;
  longer.partition.part += 'p';
  expect_refused(*this, ErrorCode::invalid, {fresh(put(longer, Bytes("v"), anything()))});
  EXPECT_TRUE(failed_as(ErrorCode::invalid, store().get(longer)));
  const Item item = seed(longest, Bytes("fits"));
  EXPECT_EQ(read(longest), item);
}

TEST_P(StoreConformance, AValueTooLargeIsRefusedAndNothingWritten) {
  ASSERT_GT(limits().value_bytes, 0U);
  if (limits().value_bytes > kWorthTrying) return;
  const Item before = seed(key("k"), Bytes("before"));
  expect_refused(*this, ErrorCode::too_large,
                 {fresh(put(key("k"), Bytes(limits().value_bytes + 1, 'v'), anything()))});
  EXPECT_EQ(read(key("k")), before);
}

TEST_P(StoreConformance, TooManyWritesAreUnsupportedAndNothingIsWritten) {
  if (limits().writes_per_commit > 100'000) return;
  std::vector<Write> writes;
  for (std::size_t i = 0; i <= limits().writes_per_commit; ++i) {
    writes.push_back(fresh(put(key("p", static_cast<std::int64_t>(i)), Bytes("v"), absent())));
  }
  expect_refused(*this, ErrorCode::unsupported, writes);
  EXPECT_EQ(read(writes.front().key), std::nullopt);
  EXPECT_EQ(read(writes.back().key), std::nullopt);
}

TEST_P(StoreConformance, TooManyTransactionsInAGroupAreInvalidAndNothingIsWritten) {
  if (limits().commits_per_group > 100'000) return;
  const Write write = fresh(put(key("k"), Bytes("v"), anything()));
  const std::vector<Transaction> group(limits().commits_per_group + 1, Transaction(&write, 1));
  const auto answers = store().commit_each(group);
  ASSERT_EQ(answers.size(), group.size());
  for (const auto& answer : answers) ASSERT_TRUE(failed_as(ErrorCode::invalid, answer));
  EXPECT_EQ(read(key("k")), std::nullopt);
}

TEST_P(StoreConformance, TooManyKeysInAGetAreInvalid) {
  if (limits().keys_per_get > 100'000) return;
  const std::vector<Key> keys(limits().keys_per_get + 1, key("k"));
  EXPECT_TRUE(failed_as(ErrorCode::invalid, store().get(keys)));
}

TEST_P(StoreConformance, PagesAreBounded) {
  for (const std::size_t limit : {std::size_t{0}, kMaxPage + 1}) {
    const ScanRequest scan{
        .partition = {"home", ""}, .direction = directions(limits())[0], .limit = limit};
    EXPECT_TRUE(failed_as(ErrorCode::invalid, store().scan(scan)));
    EXPECT_TRUE(failed_as(ErrorCode::invalid, store().list({.limit = limit})));
  }
}

TEST_P(StoreConformance, ADirectionTheStoreCannotScanIsUnsupported) {
  for (const Direction direction : {Direction::ascending, Direction::descending}) {
    const bool able =
        direction == Direction::ascending ? limits().scans_ascending : limits().scans_descending;
    const auto page = store().scan({.partition = {"home", ""}, .direction = direction});
    if (able) {
      EXPECT_TRUE(page.has_value());
    }
    if (!able) {
      EXPECT_TRUE(failed_as(ErrorCode::unsupported, page));
    }
  }
}

}  // namespace once::testing
