#include "stores/rocksdb/commit_log.h"

#include <algorithm>
#include <utility>

namespace once {
namespace {

// A record's length has 32 bits, and a batch at most 30.
constexpr std::size_t kMaxWaiting = std::size_t{1} << 30;

// The memory of a larger record is freed.
constexpr std::size_t kMaxSpent = 4U << 20;

void raise_to(std::atomic<GroupNumber>& least, GroupNumber group) {
  GroupNumber known = least.load();
  while (known < group && !least.compare_exchange_weak(known, group)) {
  }
}

}  // namespace

GroupNumber CommitLog::enqueue(std::string_view batch) {
  Lock lock(mutex_);
  while (waiting_.size() > kMaxWaiting && failed_.ok()) {
    if (leading_) {
      changed_.wait(lock.native());
    } else {
      lead(lock, Reach::written);
    }
  }
  if (waiting_.empty()) {
    waiting_ = std::move(spent_);
    begin_record(waiting_);
  }
  add_batch(batch, waiting_);
  under_way_.insert(under_way_.end(), ++last_);
  return last_;
}

rocksdb::Status CommitLog::reach(GroupNumber group, Reach reach) {
  Lock lock(mutex_);
  while ((reach == Reach::synced ? synced_.load() : written_) < group) {
    if (!failed_.ok()) return failed_;
    if (leading_) {
      changed_.wait(lock.native());
    } else {
      lead(lock, reach);
    }
  }
  return {};
}

rocksdb::Status CommitLog::sync() {
  GroupNumber group = 0;
  {
    const Lock lock(mutex_);
    group = last_;
  }
  return reach(group, Reach::synced);
}

// Writes all waiting groups as one record, and has it come as far as `reach`.
void CommitLog::lead(Lock& lock, Reach reach) {
  leading_ = true;
  std::string record = std::exchange(waiting_, {});
  const GroupNumber last = last_;
  lock.native().unlock();
  rocksdb::Status status;
  if (!record.empty()) status = segments_.append(record, last);
  if (status.ok() && reach == Reach::syncing) segments_.begin_sync();
  if (status.ok() && reach == Reach::synced) status = segments_.sync();
  const bool upkeep = segments_.wants_upkeep();
  lock.native().lock();
  leading_ = false;
  if (record.capacity() <= kMaxSpent) spent_ = std::move(record);
  if (!status.ok() && failed_.ok()) failed_ = status;
  if (failed_.ok()) {
    written_ = last;
    if (reach == Reach::synced) synced_.store(last);
  }
  if (upkeep) {
    upkeep_ = true;
    wake_worker();
  }
  changed_.notify_all();
}

void CommitLog::applied(GroupNumber group, rocksdb::DB& db) {
  GroupNumber all = 0;
  {
    const Lock lock(mutex_);
    under_way_.erase(group);
    all = under_way_.empty() ? last_ : *under_way_.begin() - 1;
  }
  // Read after the groups are known, so that it is not below any of theirs.
  if (segments_.awaits_applied()) segments_.applied(all, db.GetLatestSequenceNumber());
}

void CommitLog::show(GroupNumber group) { raise_to(shown_, group); }

rocksdb::Status CommitLog::await_shown() {
  const GroupNumber shown = shown_.load();
  if (synced_.load() >= shown) return {};
  return reach(shown, Reach::synced);
}

void CommitLog::before_flush() {
  {
    const Lock lock(mutex_);
    if (stopping_) return;
  }
  if (sync().ok()) return;
  Lock lock(mutex_);
  while (!stopping_) changed_.wait(lock.native());
}

void CommitLog::flushed(rocksdb::SequenceNumber sequence) {
  segments_.flushed(sequence);
  if (!segments_.wants_upkeep()) return;
  const Lock lock(mutex_);
  upkeep_ = true;
  wake_worker();
}

void CommitLog::wake_worker() {
  if (stopping_) return;
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  given_.notify_one();
}

void CommitLog::stop() {
  std::thread worker;
  {
    const Lock lock(mutex_);
    stopping_ = true;
    worker = std::move(worker_);
    given_.notify_one();
    changed_.notify_all();
  }
  if (worker.joinable()) worker.join();
}

void CommitLog::work() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (upkeep_ && failed_.ok()) {
      upkeep_ = false;
      lock.native().unlock();
      segments_.upkeep();
      const bool more = segments_.wants_upkeep();
      lock.native().lock();
      upkeep_ = upkeep_ || more;
    } else {
      given_.wait(lock.native());
    }
  }
}

}  // namespace once
