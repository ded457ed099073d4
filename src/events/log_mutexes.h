// One mutex for each log, so that appends of events do not conflict at its end: waiting in line is
// faster than losing and retrying. Only for speed: after a second a waiter goes ahead without the
// mutex. Safe to share between threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace once::events {

class LogMutexes {
 public:
  // Waits for the mutex of the log and holds it as long as it lives.
  class Guard {
   public:
    Guard(LogMutexes& mutexes, std::string log) : mutexes_(mutexes), log_(std::move(log)) {
      mutexes_.lock(log_);
    }
    ~Guard() { mutexes_.unlock(log_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    LogMutexes& mutexes_;
    const std::string log_;
  };

 private:
  static constexpr std::chrono::seconds kPatience{1};

  void lock(const std::string& log) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    Lock lock(mutex_);
    while (holders_[log] > 0) {
      if (signal_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
    }
    ++holders_[log];
  }

  void unlock(const std::string& log) {
    {
      const Lock lock(mutex_);
      const auto found = holders_.find(log);
      if (--found->second == 0) holders_.erase(found);
    }
    signal_.notify_all();
  }

  Mutex mutex_;
  std::condition_variable signal_;
  std::map<std::string, std::size_t> holders_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::events
