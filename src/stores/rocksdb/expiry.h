// Expiry in an embedded store: the time that counts, and the two ways in which expired items go.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "once/store.h"
#include "once/time.h"
#include "stores/rocksdb/group.h"
#include "stores/rocksdb/writer.h"

namespace once {

// The clock's time. If that is below the time recorded when the store was last closed, it runs
// ahead by the difference, and so never goes back (docs/hazards.md#h15).
//
// A time far beyond the recorded one is believed: the store may have been closed for long. But it
// may also be a wall clock that is wrong for a moment, which must not move the store for good. So
// it is recorded only after it has lasted (docs/hazards.md#h36).
class StoreTime {
 public:
  // How far the clock is ahead of the wall clock.
  using Lead = std::function<Duration()>;

  explicit StoreTime(Clock& clock, Lead lead = nullptr);

  Time now() { return clock_.now() + ahead(); }

  // Call once, before any caller sees a time. Time::min() for a new store.
  void start_no_earlier_than(Time recorded);

  // What may be recorded: now() once the store has been open for ten minutes and the wall clock
  // agrees; before that at most ten minutes more than has passed since the last record.
  Time to_record();

  // How far it runs ahead of the clock.
  Duration ahead() const { return Duration(ahead_.load(std::memory_order_relaxed)); }

 private:
  Clock& clock_;
  const Lead lead_;
  std::atomic<std::int64_t> ahead_ = 0;
  Time recorded_;  // Constant after the start, as the next one.
  Time opened_;
  std::atomic<bool> has_lasted_ = false;
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

// Walks the items again and again, and removes the expired ones. After a walk that removed at least
// half of what there was, the files are compacted on a thread of its own, so that they become small
// again although nothing more is written.
class Sweeper {
 public:
  // All must outlive this.
  Sweeper(rocksdb::DB& db, Stripes& stripes, Writer& writer, StoreTime& time)
      : db_(db), stripes_(stripes), writer_(writer), time_(time) {}
  ~Sweeper() { cancelled_ = true; }
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  // Continues where the last call ended. Keeps items that cannot be decoded, so that a read reports
  // them.
  Result<Swept> sweep(std::size_t limit);

 private:
  Result<std::vector<std::string>> find_expired(std::size_t limit, Swept& swept)
      ONCE_REQUIRES(mutex_);
  Result<std::size_t> remove(std::span<const std::string> keys);
  void count(const Swept& swept) ONCE_REQUIRES(mutex_);
  void compact();

  rocksdb::DB& db_;
  Stripes& stripes_;
  Writer& writer_;
  StoreTime& time_;
  Mutex mutex_;
  std::string next_ ONCE_GUARDED_BY(mutex_);  // Empty: from the start.
  Swept walk_ ONCE_GUARDED_BY(mutex_);        // Since then.
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> compacting_ = false;
  std::jthread compaction_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once
