#include "stores/rocksdb/writer.h"

namespace once {
namespace {

// Well below the 4 GiB at which RocksDB's own lengths end.
constexpr std::size_t kMaxBatchBytes = 1U << 30;

// For a batch of this size, the database's work takes longer than starting the disk's.
constexpr std::size_t kLargeBatchBytes = 2'048;

}  // namespace

Result<void> FreeRoom::check(std::size_t bytes) {
  const auto wanted = static_cast<std::int64_t>(bytes);
  const Time now = clock_.now();
  if (bytes_until_look_.fetch_sub(wanted, std::memory_order_relaxed) > wanted &&
      now < next_look_.load(std::memory_order_relaxed)) {
    return {};
  }
  std::uint64_t room = 0;
  // If the free space is not known, the write itself will fail.
  if (env_.GetFreeSpace(directory_, &room).ok() && room < keep_free_bytes_ + bytes) {
    bytes_until_look_ = 0;
    return failure(ErrorCode::unavailable, "the disk has " + std::to_string(room >> 20) +
                                               " MiB free and " +
                                               std::to_string(keep_free_bytes_ >> 20) +
                                               " MiB are to be kept free: " + directory_);
  }
  bytes_until_look_ = kLookBytes;
  next_look_ = later(now, kLookEvery);
  return {};
}

Writer::Writer(rocksdb::DB& db, CommitLog& log, const RocksDbOptions& options, Clock& clock)
    : db_(db),
      log_(log),
      syncs_commits_(options.durability == Durability::synced),
      room_(*db.GetEnv(), options.directory.string(), options.keep_free_bytes, clock) {}

Result<void> Writer::check_open() const {
  if (!closed_.load(std::memory_order_acquire)) return {};
  const Lock lock(mutex_);
  return failure(
      ErrorCode::unavailable,
      "closed for writes until the store is opened again, because one failed: " + reason_);
}

Result<void> Writer::check_writable() {
  if (Result<void> open = check_open(); !open) return open;
  return room_.check(kLargeBatchBytes);
}

Result<void> Writer::write(rocksdb::WriteBatch& batch) {
  if (batch.GetDataSize() > kMaxBatchBytes) {
    return failure(ErrorCode::invalid, "more than 1 GiB in one group of commits");
  }
  if (Result<void> room = room_.check(batch.GetDataSize()); !room) return room;
  return perform(batch, syncs_commits_);
}

Result<void> Writer::write_unsynced(rocksdb::WriteBatch& batch) { return perform(batch, false); }

Result<void> Writer::perform(rocksdb::WriteBatch& batch, bool synced) {
  if (Result<void> open = check_open(); !open) return open;
  const rocksdb::Status status = log_and_apply(batch, synced);
  if (!status.ok()) return close_after(status);
  if (!synced) unsynced_.store(true, std::memory_order_release);
  return {};
}

rocksdb::Status Writer::log_and_apply(rocksdb::WriteBatch& batch, bool synced) {
  const bool overlaps = synced && batch.GetDataSize() >= kLargeBatchBytes;
  const GroupNumber group = log_.enqueue(batch.Data());
  rocksdb::Status status;
  if (overlaps) {
    status = log_.reach(group, Reach::syncing);
    if (!status.ok()) return status;
    log_.show(group);
    status = apply(batch);
  }
  if (status.ok()) status = log_.reach(group, synced ? Reach::synced : Reach::written);
  if (status.ok() && !overlaps) status = apply(batch);
  if (status.ok()) log_.applied(group, db_);
  return status;
}

rocksdb::Status Writer::apply(rocksdb::WriteBatch& batch) {
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  return db_.Write(unlogged, &batch);
}

Result<void> Writer::sync() {
  if (Result<void> open = check_open(); !open) return open;
  if (!unsynced_.exchange(false)) return {};
  const rocksdb::Status status = log_.sync();
  if (!status.ok()) return close_after(status);
  return {};
}

Result<void> Writer::await_durable() {
  const rocksdb::Status status = log_.await_shown();
  if (status.ok()) return {};
  return failure(ErrorCode::unavailable,
                 "a write failed, and what it left cannot be told from what is durable until the "
                 "store is opened again: " +
                     status.ToString());
}

std::unexpected<Error> Writer::close_after(const rocksdb::Status& status) {
  const Lock lock(mutex_);
  if (reason_.empty()) reason_ = status.ToString();
  closed_.store(true, std::memory_order_release);
  return failure(ErrorCode::unknown,
                 "the write failed and may or may not be in the log: " + status.ToString());
}

}  // namespace once
