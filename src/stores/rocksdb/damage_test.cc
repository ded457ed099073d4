// A flipped byte is reported, wherever it is; never a wrong value, never a missing one.
#include "kernel/format.h"
#include "stores/rocksdb/store_fixture.h"

namespace once {
namespace {

using Damaged = RocksDbTest;

std::string encoded(const Key& key) {
  std::string out;
  format::encode_key(key, out);
  return out;
}

TEST_F(Damaged, AFlippedByteInATableFileIsCorrupt) {
  constexpr std::int64_t kItems = 2'000;
  options_.durability = Durability::relaxed;
  open();
  for (std::int64_t i = 0; i < kItems; ++i) {
    ASSERT_TRUE(commit(put(key_of("home", i), "value " + std::to_string(i), absent())));
  }
  close();
  ASSERT_TRUE(open_bare()->Flush({}).ok());
  const auto tables = files(".sst");
  ASSERT_FALSE(tables.empty());
  const auto size = [](const auto& file) { return std::filesystem::file_size(file); };
  const auto table = *std::ranges::max_element(tables, {}, size);  // Another has the format.
  flip_byte(table, size(table) / 3);
  open();
  std::int64_t corrupt = 0;
  for (std::int64_t i = 0; i < kItems; ++i) {
    const auto item = store_->get(key_of("home", i));
    if (item) {
      ASSERT_TRUE(item->has_value());
      EXPECT_EQ((*item)->value, Value("value " + std::to_string(i)));
    } else {
      EXPECT_EQ(item.error().code, ErrorCode::corrupt);
      EXPECT_EQ(commit_error(put(key_of("home", i), "new", absent())), ErrorCode::corrupt);
      ++corrupt;
    }
  }
  EXPECT_GT(corrupt, 0);
  EXPECT_EQ(store_->scan({.partition = {"home", ""}, .limit = kMaxPage}).error().code,
            ErrorCode::corrupt);
}

TEST_F(Damaged, AFlippedByteInAValueIsCorruptForWhoeverNeedsIt) {
  open();
  ASSERT_TRUE(commit(put(key_of("bad"), "value", absent())));
  ASSERT_TRUE(commit(put(key_of("good"), "value", absent())));
  close();
  {
    const auto db = open_bare();
    std::string bytes;
    ASSERT_TRUE(db->Get({}, encoded(key_of("bad")), &bytes).ok());
    bytes[20] = static_cast<char>(bytes[20] ^ 1);
    ASSERT_TRUE(db->Put({}, encoded(key_of("bad")), bytes).ok());
  }
  open();
  EXPECT_EQ(store_->get(key_of("bad")).error().code, ErrorCode::corrupt);
  EXPECT_EQ(store_->scan({.partition = {"bad", ""}}).error().code, ErrorCode::corrupt);
  EXPECT_EQ(store_->list({}).error().code, ErrorCode::corrupt);
  EXPECT_EQ(commit_error(add(key_of("bad"), 1)), ErrorCode::corrupt);
  EXPECT_TRUE(has(key_of("good")));
  ASSERT_TRUE(store_->sweep(100));
  EXPECT_EQ(store_->get(key_of("bad")).error().code, ErrorCode::corrupt);
}

TEST_F(Damaged, ACorruptItemFailsOnlyItsOwnTransactionOfAGroupAndCanBeReplaced) {
  open();
  close();
  ASSERT_TRUE(open_bare()->Put({}, encoded(key_of("bad")), "rubbish").ok());
  open();
  const std::vector<Write> writes = {
      versioned(add(key_of("bad"), 1)), versioned(add(key_of("good"), 1)),
      versioned(put(key_of("bad"), std::int64_t{5}, anything())), versioned(add(key_of("bad"), 1))};
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  const auto answers = store_->commit_each(group);
  EXPECT_EQ(answers[0].error().code, ErrorCode::corrupt);
  EXPECT_TRUE(committed(answers[1].value()));
  EXPECT_TRUE(committed(answers[2].value()));
  EXPECT_EQ(std::get<Committed>(answers[3].value()).numbers[0], 6);
  EXPECT_EQ(store_->get(key_of("bad")).value()->value, Value(std::int64_t{6}));
}

TEST_F(Damaged, AFlippedByteInsideTheLogIsCorruptNotForgotten) {
  open();
  for (std::int64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(commit(put(key_of("home", i), Bytes(100, 'v'), absent())));
  }
  close();
  const auto [log, end] = log_and_end();
  flip_byte(log, (kSegmentHeaderBytes + end) / 2);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt) << opened.error().message;
  EXPECT_NE(opened.error().message.find(log.string()), std::string::npos);
}

TEST_F(Damaged, ABadCursorIsInvalid) {
  open();
  ASSERT_TRUE(commit(put(key_of("home"), "value", absent())));
  EXPECT_EQ(store_->list({.cursor = "rubbish"}).error().code, ErrorCode::invalid);
  EXPECT_EQ(store_->list({.home_prefix = "a", .cursor = encoded(key_of("home"))}).error().code,
            ErrorCode::invalid);
}

}  // namespace
}  // namespace once
