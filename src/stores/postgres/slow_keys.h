// Keys that another transaction held for longer than a group waits. For a while each has a place of
// its own, so that it holds up no other key.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "base/mutex.h"

namespace once::postgres {

// Safe to share between threads.
class SlowKeys {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // `key` is a hash of it.
  void add(std::uint64_t key, Instant now) ONCE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    std::erase_if(until_, [&](const auto& entry) { return entry.second <= now; });
    if (until_.size() < kMost) until_[key] = now + kWhile;
    count_ = until_.size();
  }

  bool contains(std::uint64_t key, Instant now) const ONCE_EXCLUDES(mutex_) {
    if (count_ == 0) return false;
    const Lock lock(mutex_);
    const auto found = until_.find(key);
    return found != until_.end() && found->second > now;
  }

 private:
  static constexpr std::size_t kMost = 1'000;
  static constexpr std::chrono::seconds kWhile{30};

  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, Instant> until_ ONCE_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace once::postgres
