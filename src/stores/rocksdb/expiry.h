// Expiry in an embedded store: the time that counts, and the filter that drops expired items.
#pragma once

#include <rocksdb/compaction_filter.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "once/time.h"

namespace once {

// The clock's time. If that is below the time recorded when the store was last closed, it runs
// ahead by the difference, and so never goes back (docs/hazards.md#h15).
class StoreTime {
 public:
  explicit StoreTime(Clock& clock) : clock_(clock) {}

  Time now() { return clock_.now() + Duration(ahead_.load(std::memory_order_relaxed)); }

  // Call once, before any caller sees a time.
  void start_no_earlier_than(Time floor) {
    const Time now = clock_.now();
    if (floor > now) ahead_.store((floor - now).count(), std::memory_order_relaxed);
  }

 private:
  Clock& clock_;
  std::atomic<std::int64_t> ahead_ = 0;
};

// Drops expired items when RocksDB rewrites its files. Keeps the store's own records, and items
// that cannot be decoded, so that a read reports them as corrupt.
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
