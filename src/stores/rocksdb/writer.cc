#include "stores/rocksdb/writer.h"

namespace once {
namespace {

// Well below the 4 GiB at which RocksDB's own lengths end.
constexpr std::size_t kMaxBatchBytes = 1U << 30;

}  // namespace

Writer::Writer(rocksdb::DB& db, const RocksDbOptions& options, Clock& clock)
    : db_(db), room_(*db.GetEnv(), options.directory.string(), options.keep_free_bytes, clock) {
  commit_options_.sync = options.durability == Durability::synced;
}

Result<void> Writer::check_open() const {
  if (!closed_.load(std::memory_order_acquire)) return {};
  const Lock lock(mutex_);
  return failure(
      ErrorCode::unavailable,
      "closed for writes until the store is opened again, because one failed: " + reason_);
}

Result<void> Writer::write(rocksdb::WriteBatch& batch) {
  if (batch.GetDataSize() > kMaxBatchBytes) {
    return failure(ErrorCode::invalid, "more than 1 GiB in one group of commits");
  }
  if (Result<void> room = room_.check(batch.GetDataSize()); !room) return room;
  return perform(batch, commit_options_);
}

Result<void> Writer::write_unsynced(rocksdb::WriteBatch& batch) { return perform(batch, {}); }

Result<void> Writer::perform(rocksdb::WriteBatch& batch, const rocksdb::WriteOptions& how) {
  if (Result<void> open = check_open(); !open) return open;
  const rocksdb::Status status = db_.Write(how, &batch);
  if (!status.ok()) return close_after(status);
  if (!how.sync) unsynced_.store(true, std::memory_order_release);
  return {};
}

Result<void> Writer::sync() {
  if (Result<void> open = check_open(); !open) return open;
  if (!unsynced_.exchange(false)) return {};
  const rocksdb::Status status = db_.SyncWAL();
  if (!status.ok()) return close_after(status);
  return {};
}

std::unexpected<Error> Writer::close_after(const rocksdb::Status& status) {
  const Lock lock(mutex_);
  if (reason_.empty()) reason_ = status.ToString();
  closed_.store(true, std::memory_order_release);
  return failure(ErrorCode::unknown,
                 "the write failed and may or may not be in the log: " + status.ToString());
}

}  // namespace once
