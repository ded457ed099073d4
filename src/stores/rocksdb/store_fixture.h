// What the tests of the embedded store share.
#pragma once

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <algorithm>
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
#include "stores/rocksdb/commit_replay.h"
#include "stores/rocksdb/engine.h"
#include "stores/rocksdb/expiry.h"
#include "stores/rocksdb/rocksdb_store.h"
#include "stores/rocksdb/segment_file.h"
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
    fold_log(*db);
    return std::unique_ptr<rocksdb::DB>(db);
  }

  // What the log of commits has is in the database's files, and the log is gone.
  void fold_log(rocksdb::DB& db) {
    const auto take = [&](std::string_view bytes) -> Result<void> {
      rocksdb::WriteBatch batch{std::string(bytes)};
      rocksdb::WriteOptions unlogged;
      unlogged.disableWAL = true;
      EXPECT_TRUE(db.Write(unlogged, &batch).ok());
      return {};
    };
    const auto replayed =
        replay_commits(*rocksdb::Env::Default(), options_.directory.string(), take);
    ASSERT_TRUE(replayed) << replayed.error().message;
    ASSERT_TRUE(db.Flush({}).ok());
    for (const auto& segment : segments()) std::filesystem::remove(segment);
  }

  // The files of the log of commits, oldest first.
  std::vector<std::filesystem::path> segments() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory)) {
      if (segment_number(entry.path().filename().string())) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }

  // The closed store's only segment, and where its records end.
  std::pair<std::filesystem::path, std::uintmax_t> log_and_end() {
    const auto replayed = replay_commits(*rocksdb::Env::Default(), options_.directory.string(),
                                         [](std::string_view) -> Result<void> { return {}; });
    if (!replayed || replayed->segments.size() != 1) throw std::runtime_error("not one segment");
    return {segments().at(0), replayed->segments[0].used};
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
