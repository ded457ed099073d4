// The one way into the database, through the log of commits. A batch is refused before anything is
// written, or written as durably as the store promises, or its outcome is unknown; then nothing is
// written any more until the store is opened again, because what failed may lie in the log and come
// back then (H10).
//
// A small batch goes into the database when it is in the log and, if the store promises that,
// synced. A large one goes into the database while the disk writes the log; its keys are locked
// meanwhile, and everybody else who reads calls await_durable() before telling what. So nobody is
// told what a crash could take away.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <string>

#include "kernel/mutex.h"
#include "once/rocksdb_store.h"
#include "stores/rocksdb/commit_log.h"
#include "stores/rocksdb/free_room.h"

namespace once {

class Writer {
 public:
  // `db`, `log` and `clock` must outlive this.
  Writer(rocksdb::DB& db, CommitLog& log, const RocksDbOptions& options, Clock& clock);

  // `unavailable` once a write has failed.
  Result<void> check_open() const;

  // For commits. `unavailable` or `invalid`: nothing was written.
  Result<void> write(rocksdb::WriteBatch& batch);

  // For upkeep that does no harm if power loss undoes it, and that must go on when room is short.
  Result<void> write_unsynced(rocksdb::WriteBatch& batch);

  // Whatever was written before the call now survives power loss.
  Result<void> sync();

  // Whatever was read before the call now survives power loss, if the store promises that.
  // `unavailable`: it is not known to, because its write failed.
  Result<void> await_durable();

 private:
  Result<void> perform(rocksdb::WriteBatch& batch, bool synced);
  rocksdb::Status log_and_apply(rocksdb::WriteBatch& batch, bool synced);
  rocksdb::Status apply(rocksdb::WriteBatch& batch);
  std::unexpected<Error> close_after(const rocksdb::Status& status);

  rocksdb::DB& db_;
  CommitLog& log_;
  const bool syncs_commits_;
  FreeRoom room_;
  std::atomic<bool> unsynced_ = false;
  std::atomic<bool> closed_ = false;
  mutable Mutex mutex_;
  std::string reason_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once
