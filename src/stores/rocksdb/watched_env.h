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

  // While it is closed a sync waits; await_visitor() until one does.
  void close_gate() {
    const std::lock_guard lock(mutex);
    gate_closed = true;
  }
  void open_gate() {
    const std::lock_guard lock(mutex);
    gate_closed = false;
    changed.notify_all();
  }
  void await_visitor() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return at_gate > 0; });
  }
  void pass_gate() {
    std::unique_lock lock(mutex);
    ++at_gate;
    changed.notify_all();
    changed.wait(lock, [&] { return !gate_closed; });
    --at_gate;
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool gate_closed = false;
  int at_gate = 0;
  std::uint64_t syncs = 0;
};

class WatchedLog final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  WatchedLog(std::unique_ptr<rocksdb::FSRandomRWFile> file, DiskState& disk)
      : FSRandomRWFileOwnerWrapper(std::move(file)), disk_(disk) {}

  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override {
    disk_.pass_gate();
    const rocksdb::IOStatus status = disk_.syncs_fail
                                         ? rocksdb::IOStatus::IOError("the disk is gone")
                                         : FSRandomRWFileWrapper::Sync(options, dbg);
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

  // Only the log of commits is written so.
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewRandomRWFile(name, options, file, dbg);
    if (status.ok()) *file = std::make_unique<WatchedLog>(std::move(*file), disk_);
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
