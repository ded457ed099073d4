// RocksDB with our table for new items, against a map.
#include "stores/rocksdb/write_table.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "testing/temp_dir.h"

namespace once {
namespace {

using Model = std::map<std::string, std::string>;

class WriteTableTest : public ::testing::Test {
 protected:
  void open(std::size_t bytes) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = bytes;
    options.memtable_factory = std::make_shared<WriteTableFactory>();
    options.allow_concurrent_memtable_write = false;
    rocksdb::DB* db = nullptr;
    const auto status = rocksdb::DB::Open(options, (dir_.path() / "db").string(), &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }

  void put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put(unlogged_, key, value).ok());
  }

  // Both ways, and from `key` on.
  void expect_same(const Model& model, const std::string& key, const rocksdb::ReadOptions& how) {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(how));
    at->SeekToFirst();
    for (const auto& [name, value] : model) {
      ASSERT_TRUE(at->Valid() && at->key() == name && at->value() == value) << name;
      at->Next();
    }
    ASSERT_FALSE(at->Valid());
    at->SeekToLast();
    for (auto one = model.rbegin(); one != model.rend(); ++one) {
      ASSERT_TRUE(at->Valid() && at->key() == one->first) << one->first;
      at->Prev();
    }
    ASSERT_FALSE(at->Valid());
    at->Seek(key);
    const auto from = model.lower_bound(key);
    ASSERT_EQ(at->Valid(), from != model.end());
    if (at->Valid()) {
      ASSERT_TRUE(at->key() == from->first);
    }
    at->SeekForPrev(key);
    const auto past = model.upper_bound(key);
    ASSERT_EQ(at->Valid(), past != model.begin());
    if (at->Valid()) {
      ASSERT_TRUE(at->key() == std::prev(past)->first);
    }
  }

  const testing::TempDir dir_;
  rocksdb::WriteOptions unlogged_ = [] {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    return options;
  }();
  std::unique_ptr<rocksdb::DB> db_;
};

// Small ones are written to files all the time; the large one holds everything.
TEST_F(WriteTableTest, AnswersWhatAMapAnswersAndSoDoSnapshots) {
  for (const std::size_t bytes : {64U << 10, 64U << 20}) {
    open(bytes);
    std::mt19937_64 random(bytes);
    Model model;
    Model then;
    const rocksdb::Snapshot* snapshot = db_->GetSnapshot();
    for (int i = 0; i < 6'000; ++i) {
      std::string key = "key" + std::to_string(random() % 700);
      if (random() % 20 == 0) key += std::string(random() % 300, 'x');
      const auto what = random() % 8;
      if (what < 5) {
        model[key] = std::string(random() % 200, static_cast<char>('a' + random() % 26));
        put(key, model[key]);
      } else if (what < 6) {
        model.erase(key);
        ASSERT_TRUE(db_->Delete(unlogged_, key).ok());
      } else {
        std::string value;
        const bool found = db_->Get({}, key, &value).ok();
        ASSERT_EQ(found, model.contains(key)) << key;
        ASSERT_EQ(value, found ? model[key] : "");
      }
      if (i % 500 != 499) continue;
      expect_same(model, key, {});
      rocksdb::ReadOptions before;
      before.snapshot = snapshot;
      expect_same(then, key, before);
      ASSERT_FALSE(HasFatalFailure()) << i;
      db_->ReleaseSnapshot(snapshot);
      snapshot = db_->GetSnapshot();
      then = model;
    }
    db_->ReleaseSnapshot(snapshot);
    db_.reset();
    std::filesystem::remove_all(dir_.path() / "db");
  }
}

TEST_F(WriteTableTest, ReadersMeetEveryAnsweredItemInOrderWhileAnotherIsWritten) {
  constexpr std::uint64_t kItems = 5'000;
  open(1U << 20);
  const auto name = [](std::uint64_t number) {
    return std::to_string(number * 0x9e3779b97f4a7c15U);
  };
  std::atomic<std::uint64_t> written = 0;
  std::atomic<bool> wrong = false;
  std::vector<std::thread> readers;
  for (std::uint64_t reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      std::mt19937_64 random(reader);
      while (written < kItems) {
        const std::uint64_t known = written;
        std::uint64_t met = 0;
        std::string last;
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
        for (at->SeekToFirst(); at->Valid(); at->Next(), ++met) {
          if (!(last < at->key().ToString())) wrong = true;
          last = at->key().ToString();
        }
        if (met < known) wrong = true;
        std::string value;
        if (known > 0 && !db_->Get({}, name(random() % known), &value).ok()) wrong = true;
      }
    });
  }
  for (std::uint64_t number = 0; number < kItems; ++number) {
    put(name(number), "value");
    written = number + 1;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace once
