// The store's log of commits. RocksDB's own is off: this one syncs into files of written zeros, and
// it lets the database take a group while the group is still being synced.
//
//   ticket = log.enqueue(batch);
//   log.reach(ticket, false);                    (for a group that is worth it:
//   log.show(ticket);                             the database takes it while
//   write the batch to the database;              the disk writes)
//   log.reach(ticket, synced);
//   write the batch to the database;             (for any other)
//   log.applied(ticket, database);
//
// All groups that wait when a record is written are in that record, and one sync is for all that
// was written. Whoever waits does the work unless somebody is at it.
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

#include "kernel/mutex.h"
#include "stores/rocksdb/segments.h"

namespace once {

class CommitLog {
 public:
  // `env` must outlive this.
  CommitLog(rocksdb::Env& env, std::string directory) : segments_(env, std::move(directory)) {}
  ~CommitLog() { stop(); }

  // Once, before all else. As Segments::start().
  rocksdb::Status start(const Replayed& replayed, std::optional<rocksdb::SequenceNumber> applied) {
    return segments_.start(replayed, applied);
  }

  // Nothing touches the directory any more, and nothing more is called but before_flush(), which
  // does nothing, and flushed().
  void stop();

  // From now on the group is under way until applied() ends that; a group that fails stays so, and
  // the segments that it may be in are never used again.
  Ticket enqueue(std::string_view batch);

  // Until the group is in the file or, if `synced`, survives power loss. Once it has failed it
  // fails for good.
  rocksdb::Status reach(Ticket ticket, bool synced);

  // Everything that was enqueued survives power loss.
  rocksdb::Status sync();

  // `db` has the group.
  void applied(Ticket ticket, rocksdb::DB& db);

  // The group becomes visible before it is synced. Whoever reads then waits for all that was shown
  // when it had read.
  void show(Ticket ticket);
  rocksdb::Status await_shown();

  // The database is about to write groups to its files; back when the log has them for good. If the
  // log lacked one that the database's files have, a replay would undo the part of it that older
  // groups wrote, too, and leave the rest. Where the log has failed it is back only after stop().
  void before_flush();
  void flushed(rocksdb::SequenceNumber sequence);

 private:
  void lead(Lock& lock, bool syncs) ONCE_REQUIRES(mutex_);
  void wake_worker() ONCE_REQUIRES(mutex_);
  void work();

  Segments segments_;
  std::atomic<Ticket> shown_ = 0;
  std::atomic<Ticket> synced_ = 0;

  Mutex mutex_;
  std::condition_variable changed_;              // Somebody's work is done, or all is.
  std::condition_variable given_;                // The worker has upkeep to do.
  std::string waiting_ ONCE_GUARDED_BY(mutex_);  // The next record, not sealed; or empty.
  std::string spent_ ONCE_GUARDED_BY(mutex_);    // The room of the record before.
  Ticket last_ ONCE_GUARDED_BY(mutex_) = 0;
  Ticket written_ ONCE_GUARDED_BY(mutex_) = 0;
  bool leading_ ONCE_GUARDED_BY(mutex_) = false;
  rocksdb::Status failed_ ONCE_GUARDED_BY(mutex_);
  std::set<Ticket> under_way_ ONCE_GUARDED_BY(mutex_);
  bool upkeep_ ONCE_GUARDED_BY(mutex_) = false;
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  std::thread worker_ ONCE_GUARDED_BY(mutex_);  // Begun when first needed.
};

// Tells a log what the database has written to its files. The log is set before anything is
// written, and outlives the database.
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
