// What the tests of the embedded store share.
#pragma once

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "once/entropy.h"
#include "once/rocksdb_store.h"
#include "stores/rocksdb/engine_options.h"
#include "stores/rocksdb/expiry_filter.h"
#include "stores/rocksdb/rocksdb_store.h"
#include "testing/child_process.h"
#include "testing/manual_clock.h"
#include "testing/temp_dir.h"

namespace once {

inline Key key_of(std::string home, std::int64_t sort = 0) { return {{std::move(home), ""}, sort}; }

inline Write versioned(Write write) {
  write.version = system_entropy().version();
  return write;
}

class RocksDbTest : public ::testing::Test {
 protected:
  RocksDbTest() { options_.directory = dir_.path() / "store"; }

  Result<std::unique_ptr<Store>> try_open() {
    return open_rocksdb_on(*rocksdb::Env::Default(), options_, clock_);
  }

  void open() {
    store_.reset();
    auto opened = try_open();
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }
  void close() { store_.reset(); }

  bool commit(Write write) {
    write = versioned(std::move(write));
    const Result<CommitOutcome> outcome = store_->commit({&write, 1});
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome && committed(*outcome);
  }

  ErrorCode commit_error(Write write) {
    write = versioned(std::move(write));
    const Result<CommitOutcome> outcome = store_->commit({&write, 1});
    EXPECT_FALSE(outcome);
    return outcome ? ErrorCode::invalid : outcome.error().code;
  }

  bool has(const Key& key) {
    const auto item = store_->get(key);
    EXPECT_TRUE(item) << item.error().message;
    return item && item->has_value();
  }

  // The closed store's database, opened past the store.
  std::unique_ptr<rocksdb::DB> open_bare() {
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::Open(engine_options(options_, *rocksdb::Env::Default(), filter_),
                          options_.directory.string(), &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::unique_ptr<rocksdb::DB>(db);
  }

  std::vector<std::filesystem::path> files(std::string_view extension) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory)) {
      if (entry.path().extension() == extension) found.push_back(entry.path());
    }
    return found;
  }

  static void flip_byte(const std::filesystem::path& file, std::uintmax_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
    ASSERT_TRUE(stream.good());
  }

  testing::TempDir dir_;
  testing::ManualClock clock_;
  StoreTime time_{clock_};
  ExpiryFilter filter_{time_};
  RocksDbOptions options_;
  std::unique_ptr<Store> store_;
};

}  // namespace once
