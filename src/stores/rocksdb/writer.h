// The one way to the database's log. A batch is refused before anything is written, or written as
// durably as the store promises, or its outcome is unknown; then nothing is written any more until
// the store is opened again, because what failed may lie in the log and come back then (H10).
//
// RocksDB publishes a batch to readers only after its log was written and, with `sync`, synced (its
// pipelined and unordered writes are left off). So a reader never sees what a crash could take
// away.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <string>

#include "kernel/mutex.h"
#include "once/rocksdb_store.h"
#include "stores/rocksdb/free_room.h"

namespace once {

class Writer {
 public:
  // `db` and `clock` must outlive this.
  Writer(rocksdb::DB& db, const RocksDbOptions& options, Clock& clock);

  // `unavailable` once a write has failed.
  Result<void> check_open() const;

  // For commits. `unavailable` or `invalid`: nothing was written.
  Result<void> write(rocksdb::WriteBatch& batch);

  // For upkeep that does no harm if power loss undoes it, and that must go on when room is short.
  Result<void> write_unsynced(rocksdb::WriteBatch& batch);

  // Whatever was written before the call now survives power loss.
  Result<void> sync();

 private:
  Result<void> perform(rocksdb::WriteBatch& batch, const rocksdb::WriteOptions& how);
  std::unexpected<Error> close_after(const rocksdb::Status& status);

  rocksdb::DB& db_;
  rocksdb::WriteOptions commit_options_;
  FreeRoom room_;
  std::atomic<bool> unsynced_ = false;
  std::atomic<bool> closed_ = false;
  mutable Mutex mutex_;
  std::string reason_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once
