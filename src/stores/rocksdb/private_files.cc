#include "stores/rocksdb/private_files.h"

#include <fcntl.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace once {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPrivateDirectory = 0700;
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPermissions = 07777;
constexpr mode_t kOfOthers = 0077;

std::string last_error() { return std::error_code(errno, std::generic_category()).message(); }

std::unexpected<Error> not_writable(const fs::path& path, const std::string& why) {
  return failure(ErrorCode::unavailable, "cannot be written: " + path.string() + ": " + why);
}

std::unexpected<Error> of_another_user(const fs::path& path, uid_t owner) {
  return not_writable(path, "it belongs to another user (uid " + std::to_string(owner) +
                                "), and a store is its owner's alone; run this as that user, or "
                                "change the owner of all files");
}

std::unexpected<Error> is_a_link(const fs::path& path) {
  return failure(
      ErrorCode::invalid,
      "a symbolic link in a store's directory is not followed; remove it: " + path.string());
}

// Root's commands work on the directories of services, whose users come and go.
bool may_be_of(uid_t owner, uid_t owner_of_directory) {
  const uid_t user = ::geteuid();
  return owner == user || (user == 0 && owner == owner_of_directory);
}

Result<void> take_from_others(const fs::path& path, const struct stat& found) {
  if ((found.st_mode & kOfOthers) == 0) return {};
  const mode_t left = found.st_mode & kPermissions & ~kOfOthers;
  if (::chmod(path.c_str(), left) == 0 || errno == ENOENT) return {};
  return not_writable(path, last_error());
}

// The files in `directory`. What is removed meanwhile, by the process that has the store, is fine.
Result<void> repair_files(const fs::path& directory, uid_t owner) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) continue;
    if (S_ISLNK(found.st_mode)) return is_a_link(path);
    if (!may_be_of(found.st_uid, owner)) return of_another_user(path, found.st_uid);
    if (!S_ISREG(found.st_mode)) continue;
    if (Result<void> ok = take_from_others(path, found); !ok) return ok;
  }
  if (error) return not_writable(directory, error.message());
  return {};
}

// Behind a directory that is closed already nothing can be open to others.
Result<void> repair_checkpoints(const fs::path& home) {
  struct stat found{};
  if (::lstat(home.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return {};
  if ((found.st_mode & kOfOthers) == 0) return {};
  std::error_code error;
  for (fs::directory_iterator at(home, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_directory(error) || at->is_symlink(error)) continue;
    if (Result<void> ok = repair_permissions(at->path()); !ok) return ok;
  }
  return take_from_others(home, found);
}

class PrivateFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit PrivateFiles(const std::shared_ptr<rocksdb::FileSystem>& files)
      : FileSystemWrapper(files) {}

  const char* Name() const override { return "once.private"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = make_file(name);
    if (status.ok()) status = FileSystemWrapper::NewWritableFile(name, options, file, dbg);
    return status;
  }

  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = make_file(name);
    if (status.ok()) status = FileSystemWrapper::ReopenWritableFile(name, options, file, dbg);
    return status;
  }

  rocksdb::IOStatus NewLogger(const std::string& name, const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* logger,
                              rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = make_file(name);
    if (status.ok()) status = FileSystemWrapper::NewLogger(name, options, logger, dbg);
    return status;
  }

  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions&,
                              rocksdb::IODebugContext*) override {
    if (::mkdir(name.c_str(), kPrivateDirectory) == 0) return rocksdb::IOStatus::OK();
    return rocksdb::IOStatus::IOError(name, last_error());
  }

  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions&,
                                       rocksdb::IODebugContext*) override {
    std::error_code error;
    if (::mkdir(name.c_str(), kPrivateDirectory) == 0) return rocksdb::IOStatus::OK();
    const std::string why = last_error();
    if (fs::is_directory(name, error)) return rocksdb::IOStatus::OK();
    return rocksdb::IOStatus::IOError(name, why);
  }

 private:
  // RocksDB opens what is there already, and leaves its mode as it is. It meets and reports every
  // failure but that of a link, which it would follow.
  static rocksdb::IOStatus make_file(const std::string& name) {
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                            kPrivateFile);
    if (file < 0 && errno == ELOOP) return rocksdb::IOStatus::IOError(name, "is a symbolic link");
    if (file >= 0) ::close(file);
    return rocksdb::IOStatus::OK();
  }
};

}  // namespace

Result<void> make_private_directory(const fs::path& directory) {
  // "a/b/" names the same directory as "a/b".
  const fs::path named = directory.has_filename() ? directory : directory.parent_path();
  std::error_code error;
  if (named.has_parent_path()) fs::create_directories(named.parent_path(), error);
  if (error) return not_writable(directory, error.message());
  if (::mkdir(named.c_str(), kPrivateDirectory) == 0) return {};
  const std::string why = last_error();
  if (fs::is_directory(named, error)) return {};
  return not_writable(directory, why);
}

Result<void> check_owner(const fs::path& directory) {
  const fs::path named = directory.has_filename() ? directory : directory.parent_path();
  struct stat found{};
  if (::lstat(named.c_str(), &found) != 0) return not_writable(directory, last_error());
  // Who runs a service may put its directory elsewhere; any other user might choose the target.
  if (S_ISLNK(found.st_mode)) {
    if (found.st_uid != 0 && found.st_uid != ::geteuid())
      return of_another_user(named, found.st_uid);
    if (::stat(named.c_str(), &found) != 0) return not_writable(directory, last_error());
  }
  if (!may_be_of(found.st_uid, found.st_uid)) return of_another_user(directory, found.st_uid);
  return {};
}

Result<void> repair_permissions(const fs::path& directory) {
  struct stat found{};
  if (::stat(directory.c_str(), &found) != 0) return not_writable(directory, last_error());
  // The directory first: then no other user can put anything into it meanwhile.
  Result<void> ok = take_from_others(directory, found);
  if (ok) ok = repair_files(directory, found.st_uid);
  if (ok) ok = repair_checkpoints(directory / "checkpoints");
  return ok;
}

std::unique_ptr<rocksdb::Env> private_files(rocksdb::Env& env) {
  return rocksdb::NewCompositeEnv(std::make_shared<PrivateFiles>(env.GetFileSystem()));
}

}  // namespace once
