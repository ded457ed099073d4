// A clock that moves only when a test moves it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "once/time.h"

namespace once::testing {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = Time(std::chrono::days(20'000))) : now_(start) {}

  Time now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  // Time passes at once.
  void sleep(Duration length) override { advance(length); }

  // Blocks until `signal` is notified by whoever owns it, or advance() reaches `until`.
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            Time until) override {
    const Waiter waiter{&signal, lock.mutex()};
    {
      const std::lock_guard own(mutex_);
      if (now_ >= until) return;
      waiters_.push_back(waiter);
    }
    signal.wait(lock);
    const std::lock_guard own(mutex_);
    waiters_.erase(std::ranges::find(waiters_, waiter));
  }

  void advance(Duration length) {
    std::vector<Waiter> waiting;
    {
      const std::lock_guard own(mutex_);
      now_ += length;
      waiting = waiters_;
    }
    for (const Waiter& waiter : waiting) {
      // Taken so that a waiter between its check and its sleep cannot miss the signal.
      {
        const std::lock_guard lock(*waiter.mutex);
      }
      waiter.signal->notify_all();
    }
  }

 private:
  struct Waiter {
    std::condition_variable* signal;
    std::mutex* mutex;
    friend bool operator==(const Waiter&, const Waiter&) = default;
  };

  std::mutex mutex_;
  Time now_;
  std::vector<Waiter> waiters_;
};

}  // namespace once::testing
