// Expiry in an embedded store: the time that counts, and the two ways in which expired items go.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "once/store.h"
#include "once/time.h"
#include "stores/rocksdb/group.h"
#include "stores/rocksdb/writer.h"

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

// Walks the items again and again, and removes the expired ones.
class Sweeper {
 public:
  // All must outlive this.
  Sweeper(rocksdb::DB& db, Stripes& stripes, Writer& writer, StoreTime& time)
      : db_(db), stripes_(stripes), writer_(writer), time_(time) {}

  // Continues where the last call ended. Keeps items that cannot be decoded, so that a read reports
  // them.
  Result<Swept> sweep(std::size_t limit);

 private:
  Result<std::vector<std::string>> find_expired(std::size_t limit, Swept& swept)
      ONCE_REQUIRES(mutex_);
  Result<std::size_t> remove(std::span<const std::string> keys);

  rocksdb::DB& db_;
  Stripes& stripes_;
  Writer& writer_;
  StoreTime& time_;
  Mutex mutex_;
  std::string next_ ONCE_GUARDED_BY(mutex_);  // Empty: from the start.
};

}  // namespace once
