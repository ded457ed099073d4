// Copies of an embedded store, each in a directory of its own below the store's. One is made at a
// time, on a thread of its own, because it takes as long as the disk does. Safe to share between
// threads.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "kernel/mutex.h"
#include "once/error.h"
#include "once/time.h"

namespace once::api {

class Checkpoints {
 public:
  using Make = std::function<Result<void>(const std::filesystem::path& to)>;

  // One that is asked for. `outcome` is to be read once it is done.
  struct Job {
    std::filesystem::path directory;
    std::atomic<bool> done = false;
    Result<void> outcome;
  };

  // More are refused until some are removed, for each keeps files that the store has given up.
  static constexpr std::size_t kMost = 32;

  // They go to `store`/checkpoints.
  Checkpoints(const std::filesystem::path& store, Make make);
  ~Checkpoints();  // Waits for the one that is under way.
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Begins one that is named after `now`. Null while another is under way.
  std::shared_ptr<const Job> begin(Time now);

 private:
  Result<void> perform(const std::filesystem::path& to) const;

  const std::filesystem::path home_;
  const Make make_;
  Mutex mutex_;
  std::shared_ptr<Job> latest_ ONCE_GUARDED_BY(mutex_);
  std::thread thread_ ONCE_GUARDED_BY(mutex_);  // Of the latest.
};

}  // namespace once::api
