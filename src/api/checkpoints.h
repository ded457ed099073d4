// Makes copies of an embedded store, each in its own directory below the store's. One at a time, on
// a separate thread, because it takes as long as the disk needs. Safe to share between threads.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "once/error.h"
#include "once/time.h"

namespace once::api {

class Checkpoints {
 public:
  using Make = std::function<Result<void>(const std::filesystem::path& to)>;

  // `outcome` may be read once `done` is true.
  struct Job {
    std::filesystem::path directory;
    std::atomic<bool> done = false;
    Result<void> outcome;
  };

  // More are refused until some are removed: each keeps files that the store no longer needs.
  static constexpr std::size_t kMost = 32;

  // Copies go to `store`/checkpoints.
  Checkpoints(const std::filesystem::path& store, Make make);
  ~Checkpoints();  // Waits for the current one.
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Starts one, named after `now`. Null while another is being made.
  std::shared_ptr<const Job> begin(Time now);

 private:
  Result<void> perform(const std::filesystem::path& to) const;

  const std::filesystem::path home_;
  const Make make_;
  Mutex mutex_;
  std::shared_ptr<Job> latest_ ONCE_GUARDED_BY(mutex_);
  std::thread thread_ ONCE_GUARDED_BY(mutex_);  // Makes `latest_`.
};

}  // namespace once::api
