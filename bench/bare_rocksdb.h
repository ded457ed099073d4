// RocksDB alone, with the options that our store gives it: the yardstick on a disk.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <memory>

#include "bench/harness.h"
#include "once/rocksdb_store.h"
#include "stores/rocksdb/engine.h"

namespace once::bench {

class BareRocksDb {
 public:
  explicit BareRocksDb(const RocksDbOptions& options) {
    rocksdb::DB* db = nullptr;
    const auto status =
        rocksdb::DB::Open(engine_options(options, *rocksdb::Env::Default(), filter_),
                          options.directory.string(), &db);
    insist(status.ok(), status.ToString());
    db_.reset(db);
    how_.sync = options.durability == Durability::synced;
  }

  rocksdb::DB& db() { return *db_; }

  void write(rocksdb::WriteBatch& batch) {
    insist(db_->Write(how_, &batch).ok(), "write on bare RocksDB");
  }
  void put(const std::string& key, const std::string& value) {
    insist(db_->Put(how_, key, value).ok(), "put on bare RocksDB");
  }

 private:
  // Removes nothing. It is here because our store has a filter.
  class KeepAll final : public rocksdb::CompactionFilter {
   public:
    const char* Name() const override { return "KeepAll"; }
  };

  KeepAll filter_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions how_;
};

}  // namespace once::bench
