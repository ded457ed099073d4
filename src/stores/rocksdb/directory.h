// The directory of a store: made, recognised, and held by one store at a time.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "once/error.h"

namespace once {

// Creates the directory if missing; fails unless it can be written, belongs to this user and is
// empty or holds a RocksDB database. Then it is closed to other users.
Result<void> prepare_directory(const std::filesystem::path& directory);

// Marks a directory as used by this process, while it lives. A second one in the same process is
// `unavailable`.
class DirectoryUse {
 public:
  static Result<std::unique_ptr<DirectoryUse>> begin(const std::filesystem::path& directory);
  ~DirectoryUse();

  // Takes RocksDB's lock file before RocksDB does, because RocksDB removes old log files before it
  // takes the lock, and two processes that do so at once fail. The lock belongs to the process, so
  // RocksDB can take it again. Empty if it was taken; otherwise the process that holds it, or 0 if
  // the system does not tell.
  std::optional<pid_t> take_turn();

 private:
  DirectoryUse(std::filesystem::path directory, int lock_file)
      : directory_(std::move(directory)), lock_file_(lock_file) {}

  const std::filesystem::path directory_;
  const int lock_file_;  // The only descriptor: closing any of them drops the lock.
};

}  // namespace once
