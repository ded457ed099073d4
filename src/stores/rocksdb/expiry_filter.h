// Drops expired items when RocksDB rewrites its files, and nothing else: not the store's own
// records, and not what cannot be decoded, which stays to be reported as corrupt.
#pragma once

#include <rocksdb/compaction_filter.h>

#include <string>

#include "stores/rocksdb/store_time.h"

namespace once {

class ExpiryFilter final : public rocksdb::CompactionFilter {
 public:
  // `time` must outlive this.
  explicit ExpiryFilter(StoreTime& time) : time_(time) {}

  const char* Name() const override { return "once.expiry"; }
  bool Filter(int level, const rocksdb::Slice& key, const rocksdb::Slice& value,
              std::string* new_value, bool* value_changed) const override;

 private:
  StoreTime& time_;
};

}  // namespace once
