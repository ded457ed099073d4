// Lets one at a time record to a log: those who meet at its end lose to one another, and pausing
// between tries is slower than standing in line. It is for speed alone: whoever waited long enough
// goes all the same. Safe to share between threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "kernel/mutex.h"

namespace once::events {

class Turns {
 public:
  // Held while it lives. Waits for it at first.
  class Turn {
   public:
    Turn(Turns& turns, std::string name) : turns_(turns), name_(std::move(name)) {
      turns_.take(name_);
    }
    ~Turn() { turns_.pass(name_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns& turns_;
    const std::string name_;
  };

 private:
  static constexpr std::chrono::seconds kPatience{1};

  void take(const std::string& name) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    Lock lock(mutex_);
    while (held_[name] > 0) {
      if (signal_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
    }
    ++held_[name];
  }

  void pass(const std::string& name) {
    {
      const Lock lock(mutex_);
      const auto found = held_.find(name);
      if (--found->second == 0) held_.erase(found);
    }
    signal_.notify_all();
  }

  Mutex mutex_;
  std::condition_variable signal_;
  std::map<std::string, std::size_t> held_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::events
