// The store's log of commits, in place of RocksDB's own. It syncs into files that are already
// filled with zeros, and lets the database take a group while the group is still being synced.
//
//   group = log.enqueue(batch);
//   log.reach(group, Reach::syncing);            (for a large group:
//   log.show(group);                              the database takes it while
//   write the batch to the database;              the disk writes)
//   log.reach(group, Reach::synced);
//   write the batch to the database;             (for any other)
//   log.applied(group, database);
//
// A record holds all groups that wait when it is written, and one sync covers all that was written.
// A waiting thread does the work itself unless another one is doing it.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/status.h>

#include <atomic>
#include <condition_variable>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "stores/rocksdb/segments.h"

namespace once {

// How far a group has come. In the file, it survives the end of the process; synced, that of the
// machine.
enum class Reach { written, syncing, synced };

class CommitLog {
 public:
  // `env` must outlive this.
  CommitLog(rocksdb::Env& env, std::string directory, AppendBy way)
      : segments_(env, std::move(directory), way) {}
  ~CommitLog() { stop(); }

  // Once, before all else. As Segments::start().
  rocksdb::Status start(const Replayed& replayed, std::optional<rocksdb::SequenceNumber> applied) {
    return segments_.start(replayed, applied);
  }

  // From now on the directory is not touched, and only before_flush(), which does nothing, and
  // flushed() are called.
  void stop();

  // The group is under way until applied(). One that fails stays under way, and the segments that
  // may hold it are never used again.
  GroupNumber enqueue(std::string_view batch);

  // Blocks until the group has come so far. `syncing` promises no more than `written`. After one
  // failure every call fails.
  rocksdb::Status reach(GroupNumber group, Reach reach);

  // Everything that was enqueued survives power loss.
  rocksdb::Status sync();

  // `db` has the group.
  void applied(GroupNumber group, rocksdb::DB& db);

  // The group becomes visible before it is synced. A reader calls await_shown() before it answers.
  void show(GroupNumber group);
  rocksdb::Status await_shown();

  // The database is about to write groups to its files. Returns when they are synced in the log. If
  // the log lacked a group that the database's files have, a replay would undo a part of it and
  // leave the rest. Once the log has failed, returns only after stop().
  void before_flush();
  void flushed(rocksdb::SequenceNumber sequence);

 private:
  void lead(Lock& lock, Reach reach) ONCE_REQUIRES(mutex_);
  void wake_worker() ONCE_REQUIRES(mutex_);
  void work();

  Segments segments_;
  std::atomic<GroupNumber> shown_ = 0;
  std::atomic<GroupNumber> synced_ = 0;

  Mutex mutex_;
  std::condition_variable changed_;  // A thread has done its work, or stop() was called.
  std::condition_variable given_;    // The worker has upkeep to do.
  std::string waiting_ ONCE_GUARDED_BY(mutex_);  // The next record, not sealed; or empty.
  std::string spent_ ONCE_GUARDED_BY(mutex_);    // The record before, for its memory.
  GroupNumber last_ ONCE_GUARDED_BY(mutex_) = 0;
  GroupNumber written_ ONCE_GUARDED_BY(mutex_) = 0;
  bool leading_ ONCE_GUARDED_BY(mutex_) = false;
  rocksdb::Status failed_ ONCE_GUARDED_BY(mutex_);
  std::set<GroupNumber> under_way_ ONCE_GUARDED_BY(mutex_);
  bool upkeep_ ONCE_GUARDED_BY(mutex_) = false;
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  std::thread worker_ ONCE_GUARDED_BY(mutex_);  // Begun when first needed.
};

// Tells the log what the database writes to its files. The log is set before anything is written,
// and outlives the database.
class FlushWatch final : public rocksdb::EventListener {
 public:
  void watch_for(CommitLog& log) { log_.store(&log); }

  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    if (CommitLog* const log = log_.load()) log->before_flush();
  }
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& flush) override {
    if (CommitLog* const log = log_.load()) log->flushed(flush.largest_seqno);
  }

 private:
  std::atomic<CommitLog*> log_ = nullptr;
};

}  // namespace once
