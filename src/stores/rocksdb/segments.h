// The files of the log of commits: one is appended to, one more is made ready beforehand, and those
// that are full wait until the database has what they hold in files of its own. Then they are used
// again.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/mutex.h"
#include "stores/rocksdb/commit_replay.h"
#include "stores/rocksdb/segment_file.h"

namespace once {

// The place of a group of commits among all since the store was opened, from 1.
using Ticket = std::uint64_t;

class Segments {
 public:
  // `env` must outlive this.
  Segments(rocksdb::Env& env, std::string directory)
      : env_(env), directory_(std::move(directory)) {}

  // Goes on behind what was replayed, which the database has at `applied`; or, if that is empty,
  // has in its files already: then it is removed.
  rocksdb::Status start(const Replayed& replayed, std::optional<rocksdb::SequenceNumber> applied);

  // These two by one thread at a time. `record` holds groups up to ticket `last`.
  rocksdb::Status append(std::string& record, Ticket last);
  rocksdb::Status sync();

  // All up to this ticket is in the database, which stands at `latest`.
  void applied(Ticket ticket, rocksdb::SequenceNumber latest);
  bool awaits_applied() const;

  // The database has all up to `sequence` in its files.
  void flushed(rocksdb::SequenceNumber sequence);

  // What need not be done by those who commit. `upkeep` does one thing of it, by one thread at a
  // time. A failure is not told: whoever appends will meet it.
  bool wants_upkeep() const;
  void upkeep();

 private:
  struct Full {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    Ticket last = 0;
    std::optional<rocksdb::SequenceNumber> applied;  // The database has all of it from here on.
  };
  struct Spare {
    std::string path;
    std::size_t bytes = 0;
  };

  std::string path_of(const std::string& name) const;
  rocksdb::Status remove_left_overs(const Replayed& replayed, bool all);
  rocksdb::Status rotate(std::size_t bytes);
  rocksdb::Status make(std::uint64_t number, std::size_t bytes, std::unique_ptr<SegmentFile>& made);
  bool releasable() const ONCE_REQUIRES(mutex_);
  bool wants_next() const ONCE_REQUIRES(mutex_);
  void release();
  void prepare_next();
  std::optional<Spare> take_or_make_spare();

  rocksdb::Env& env_;
  const std::string directory_;

  // Of the thread that appends.
  std::unique_ptr<SegmentFile> current_;
  std::uint64_t sequence_ = 1;
  std::uint64_t durable_ = 0;
  Ticket last_ = 0;

  mutable Mutex mutex_;
  std::uint64_t number_ ONCE_GUARDED_BY(mutex_) = 0;  // Of the current one, as are these two.
  std::size_t bytes_ ONCE_GUARDED_BY(mutex_) = 0;
  bool half_full_ ONCE_GUARDED_BY(mutex_) = false;
  std::unique_ptr<SegmentFile> next_ ONCE_GUARDED_BY(mutex_);
  bool gave_up_ ONCE_GUARDED_BY(mutex_) = false;  // On making the next one.
  std::deque<Full> full_ ONCE_GUARDED_BY(mutex_);
  bool stuck_ ONCE_GUARDED_BY(mutex_) = false;  // The oldest could not be released; so none is.
  std::vector<Spare> spares_ ONCE_GUARDED_BY(mutex_);
  std::uint64_t spares_made_ ONCE_GUARDED_BY(mutex_) = 0;
  rocksdb::SequenceNumber flushed_ ONCE_GUARDED_BY(mutex_) = 0;
};

}  // namespace once
