// Writes batches to the log of commits and to the database. A batch is refused before anything is
// written, or written as durably as the store promises, or its outcome is unknown. After an unknown
// outcome nothing is written until the store is opened again, because the failed batch may be in
// the log and come back then (docs/hazards.md#h10).
//
// A small batch goes into the database once it is in the log and, if the store promises that,
// synced. A large one goes into the database while the disk writes the log. Its keys are locked
// meanwhile, and every reader calls await_durable() before it answers: so no answer contains what a
// crash could undo.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/mutex.h"
#include "once/error.h"
#include "once/rocksdb_store.h"
#include "once/time.h"
#include "stores/rocksdb/commit_log.h"

namespace once {

// Refuses a commit before it begins if the disk is nearly full: a write that fails in the middle
// leaves it unknown what was written.
class FreeRoom {
 public:
  // `env` and `clock` must outlive this.
  FreeRoom(rocksdb::Env& env, std::string directory, std::size_t keep_free_bytes, Clock& clock)
      : env_(env),
        directory_(std::move(directory)),
        keep_free_bytes_(keep_free_bytes),
        clock_(clock) {}

  // `unavailable` if writing `bytes` would leave less than keep_free_bytes. Asks the file system
  // only every kLookEvery or kLookBytes, and each time while space is short.
  Result<void> check(std::size_t bytes);

 private:
  static constexpr Duration kLookEvery = std::chrono::milliseconds(100);
  static constexpr std::int64_t kLookBytes = 1 << 20;

  rocksdb::Env& env_;
  const std::string directory_;
  const std::size_t keep_free_bytes_;
  Clock& clock_;
  std::atomic<std::int64_t> bytes_until_look_ = 0;
  std::atomic<Time> next_look_ = Time::min();
};

class Writer {
 public:
  // `db`, `log` and `clock` must outlive this.
  Writer(rocksdb::DB& db, CommitLog& log, const RocksDbOptions& options, Clock& clock);

  // `unavailable` once a write has failed.
  Result<void> check_open() const;

  // For commits. `unavailable` or `invalid`: nothing was written.
  Result<void> write(rocksdb::WriteBatch& batch);

  // For housekeeping that power loss may undo, and that must work when space is short.
  Result<void> write_unsynced(rocksdb::WriteBatch& batch);

  // Afterwards everything written before the call survives power loss.
  Result<void> sync();

  // Afterwards everything read before the call survives power loss, if the store promises that.
  // `unavailable`: a write failed, so this is not known.
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
