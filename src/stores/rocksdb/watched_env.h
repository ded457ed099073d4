// The real file system with a window on it: a test sees the log being synced, lets that fail, and
// says how much room the disk has.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace once {

struct DiskState {
  std::atomic<bool> syncs_fail = false;
  std::atomic<std::uint64_t> room = std::uint64_t{1} << 40;

  void note_sync() {
    const std::lock_guard lock(mutex);
    ++syncs;
    changed.notify_all();
  }
  std::uint64_t log_syncs() {
    const std::lock_guard lock(mutex);
    return syncs;
  }
  void wait_for_log_syncs(std::uint64_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return syncs >= count; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t syncs = 0;
};

class WatchedLog final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedLog(std::unique_ptr<rocksdb::FSWritableFile> file, DiskState& disk)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk) {}

  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus status = disk_.syncs_fail
                                         ? rocksdb::IOStatus::IOError("the disk is gone")
                                         : FSWritableFileWrapper::Sync(options, dbg);
    disk_.note_sync();
    return status;
  }

 private:
  DiskState& disk_;
};

class WatchedFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit WatchedFiles(DiskState& disk)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(disk) {}

  const char* Name() const override { return "once.watched"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, dbg);
    if (status.ok() && name.ends_with(".log")) {
      *file = std::make_unique<WatchedLog>(std::move(*file), disk_);
    }
    return status;
  }

  rocksdb::IOStatus GetFreeSpace(const std::string&, const rocksdb::IOOptions&, std::uint64_t* room,
                                 rocksdb::IODebugContext*) override {
    *room = disk_.room;
    return rocksdb::IOStatus::OK();
  }

 private:
  DiskState& disk_;
};

struct WatchedEnv {
  DiskState disk;
  std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::make_shared<WatchedFiles>(disk));
};

}  // namespace once
