#include "stores/rocksdb/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/mutex.h"
#include "stores/rocksdb/private_files.h"

namespace once {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> unusable(const fs::path& directory, const std::error_code& why) {
  return failure(ErrorCode::unavailable,
                 "cannot be written: " + directory.string() + ": " + why.message());
}

// Files that an interrupted opening may leave before the database exists.
bool left_by_opening(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNames = {"LOCK", "LOG", "IDENTITY"};
  return std::ranges::find(kNames, name) != kNames.end() || name.starts_with("LOG.old.") ||
         name.starts_with("MANIFEST-") || name.ends_with(".dbtmp");
}

Result<void> check_own(const fs::path& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (left_by_opening(entry.path().filename().string())) continue;
    // Checked last: another process may be creating the store now, and CURRENT is written before
    // anything that only a store has.
    if (fs::exists(directory / "CURRENT")) return {};
    return failure(ErrorCode::invalid,
                   "the directory is not empty and holds no store: " + directory.string());
  }
  if (error) return unusable(directory, error);
  return {};
}

// By process, because a process forked while a store was open has uses of its own.
using Uses = std::set<std::pair<pid_t, fs::path>>;

Mutex uses_mutex;
Uses& uses() ONCE_REQUIRES(uses_mutex) {
  static Uses uses;
  return uses;
}

}  // namespace

Result<void> prepare_directory(const fs::path& directory) {
  Result<void> ok = make_private_directory(directory);
  if (ok) ok = check_owner(directory);
  if (!ok) return ok;
  if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return unusable(directory, std::error_code(errno, std::generic_category()));
  }
  ok = check_own(directory);  // Before anything changes in a directory of something else.
  if (ok) ok = repair_permissions(directory);
  return ok;
}

Result<std::unique_ptr<DirectoryUse>> DirectoryUse::begin(const fs::path& directory) {
  std::error_code error;
  fs::path canonical = fs::canonical(directory, error);
  if (error) return unusable(directory, error);
  const Lock lock(uses_mutex);
  if (uses().contains({::getpid(), canonical})) {
    return failure(ErrorCode::unavailable, "already open in this process: " + directory.string());
  }
  const int file =
      ::open((canonical / "LOCK").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return unusable(directory, std::error_code(errno, std::generic_category()));
  uses().emplace(::getpid(), canonical);
  return std::unique_ptr<DirectoryUse>(new DirectoryUse(std::move(canonical), file));
}

DirectoryUse::~DirectoryUse() {
  const Lock lock(uses_mutex);
  ::close(lock_file_);
  uses().erase({::getpid(), directory_});
}

std::optional<pid_t> DirectoryUse::take_turn() {
  struct flock wanted{};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  if (::fcntl(lock_file_, F_SETLK, &wanted) == 0) return std::nullopt;
  const bool told = ::fcntl(lock_file_, F_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
  return told ? std::max<pid_t>(wanted.l_pid, 0) : 0;
}

}  // namespace once
