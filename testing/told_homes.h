// What a watch of homes has told, for tests to wait for.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "once/home_watch.h"

namespace once::testing {

class ToldHomes {
 public:
  HomeWatch::Listener listener() {
    return {
        .written = [this](const std::string& home) { note([&] { homes_.push_back(home); }); },
        .anything = [this] { note([&] { ++anything_; }); },
        .changed = [this](const Result<void>& state) { note([&] { states_.push_back(state); }); }};
  }

  // Waits until it was told of the home so many times in all.
  void await_written(const std::string& home, std::ptrdiff_t times) {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return std::ranges::count(homes_, home) >= times; });
  }
  void await_anything(int times) {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return anything_ >= times; });
  }
  Result<void> await_state(std::size_t number) {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return states_.size() > number; });
    return states_[number];
  }

  std::ptrdiff_t written(const std::string& home) {
    const std::lock_guard lock(mutex_);
    return std::ranges::count(homes_, home);
  }

 private:
  template <class Change>
  void note(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    told_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<std::string> homes_;
  int anything_ = 0;
  std::vector<Result<void>> states_;
};

}  // namespace once::testing
