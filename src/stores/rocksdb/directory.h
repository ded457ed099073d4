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

  // The other process that has the database open; 0 where the system does not tell.
  std::optional<pid_t> other_process() const;

 private:
  explicit DirectoryUse(std::filesystem::path directory) : directory_(std::move(directory)) {}

  const std::filesystem::path directory_;
};

}  // namespace once
