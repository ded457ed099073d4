// The files of the log of commits. One is appended to; the next one is made ready beforehand. A
// full one waits until the database has its contents in files of its own; then it is used again.
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

#include "base/mutex.h"
#include "stores/rocksdb/commit_replay.h"
#include "stores/rocksdb/segment_file.h"

namespace once {

// Numbers the groups of commits since the store was opened, from 1.
using GroupNumber = std::uint64_t;

class Segments {
 public:
  // `env` must outlive this.
  Segments(rocksdb::Env& env, std::string directory, AppendBy way)
      : env_(env), directory_(std::move(directory)), way_(way) {}

  // Continues after the replayed records. The database has them at sequence `applied`; if that is
  // empty it has them in its files, and they are removed.
  rocksdb::Status start(const Replayed& replayed, std::optional<rocksdb::SequenceNumber> applied);

  // These three by one thread at a time. `record` holds the groups up to `last`.
  rocksdb::Status append(std::string& record, GroupNumber last);
  void begin_sync();
  rocksdb::Status sync();

  // The database has all groups up to this one, and its sequence is `latest`.
  void applied(GroupNumber group, rocksdb::SequenceNumber latest);
  bool awaits_applied() const;

  // The database has all up to `sequence` in its files.
  void flushed(rocksdb::SequenceNumber sequence);

  // Work that commits do not wait for. One thread at a time calls upkeep(). It reports no failure:
  // the next append will meet it.
  bool wants_upkeep() const;
  void upkeep();

 private:
  struct Full {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    GroupNumber last = 0;
    std::optional<rocksdb::SequenceNumber> applied;  // The database has all of it at this sequence.
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
  const AppendBy way_;

  // Used by the appending thread alone.
  std::unique_ptr<SegmentFile> current_;
  std::uint64_t sequence_ = 1;
  std::uint64_t durable_ = 0;
  GroupNumber last_ = 0;

  mutable Mutex mutex_;
  std::uint64_t number_ ONCE_GUARDED_BY(mutex_) = 0;  // These three are of the current one.
  std::size_t bytes_ ONCE_GUARDED_BY(mutex_) = 0;
  bool half_full_ ONCE_GUARDED_BY(mutex_) = false;
  std::unique_ptr<SegmentFile> next_ ONCE_GUARDED_BY(mutex_);
  bool gave_up_ ONCE_GUARDED_BY(mutex_) = false;  // Making the next one failed.
  std::deque<Full> full_ ONCE_GUARDED_BY(mutex_);
  bool stuck_ ONCE_GUARDED_BY(mutex_) = false;  // The oldest could not be released, so none is.
  std::vector<Spare> spares_ ONCE_GUARDED_BY(mutex_);
  std::uint64_t spares_made_ ONCE_GUARDED_BY(mutex_) = 0;
  rocksdb::SequenceNumber flushed_ ONCE_GUARDED_BY(mutex_) = 0;
};

}  // namespace once
