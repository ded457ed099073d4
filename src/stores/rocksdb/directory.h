// The directory of a store: made, recognised, and held by one store at a time.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "once/error.h"

namespace once {

// There is a directory that can be written and that holds a RocksDB database, or nothing yet.
Result<void> prepare_directory(const std::filesystem::path& directory);

// This process's use of a directory, while it lives. `unavailable` for the second in one process.
class DirectoryUse {
 public:
  static Result<std::unique_ptr<DirectoryUse>> begin(const std::filesystem::path& directory);
  ~DirectoryUse();

  // Takes the lock that RocksDB takes, before RocksDB does: it tidies up its log files while it
  // still finds out whether it may, and two that do so at once trip each other up. The lock is the
  // process's, so RocksDB is not kept out. Otherwise the process that has it; 0 where the system
  // does not tell.
  std::optional<pid_t> take_turn();

 private:
  DirectoryUse(std::filesystem::path directory, int lock_file)
      : directory_(std::move(directory)), lock_file_(lock_file) {}

  const std::filesystem::path directory_;
  const int lock_file_;  // Closing any descriptor of it drops the lock, so this is the only one.
};

}  // namespace once
