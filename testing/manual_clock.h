// A clock that moves only when a test moves it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "once/time.h"

namespace once::testing {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = usual_start()) : now_(start) {}

  // Servers have a clock of their own, and remove what it says has expired: with one of them, time
  // starts far ahead of it.
  static Time usual_start() {
    if (std::getenv("ONCE_TEST_STORE") == nullptr) return Time(std::chrono::days(20'000));
    const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    return today + std::chrono::days(1'000);
  }

  Time now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  // Time passes at once.
  void sleep(Duration length) override { advance(length); }

  // Blocks until `signal` is notified by its owner, or advance() reaches `until`.
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            Time until) override {
    const Waiter waiter{&signal, lock.mutex()};
    {
      const std::lock_guard own(mutex_);
      if (now_ >= until) return;
      waiters_.push_back(waiter);
    }
    signal.wait(lock);
    // advance() may still be at our signal and mutex, which may be gone when this returns.
    lock.unlock();
    {
      std::unique_lock own(mutex_);
      advanced_.wait(own, [this] { return advancing_ == 0; });
      waiters_.erase(std::ranges::find(waiters_, waiter));
    }
    lock.lock();
  }

  void advance(Duration length) {
    std::vector<Waiter> waiting;
    {
      const std::lock_guard own(mutex_);
      now_ += length;
      waiting = waiters_;
      for (Waiter& waiter : waiters_) waiter.woken = true;
      ++advancing_;
    }
    for (const Waiter& waiter : waiting) {
      // Taken so that a waiter between its check and its sleep cannot miss the signal.
      {
        const std::lock_guard lock(*waiter.mutex);
      }
      waiter.signal->notify_all();
    }
    {
      const std::lock_guard own(mutex_);
      --advancing_;
    }
    advanced_.notify_all();
  }

  // Whether a thread is in wait() that no advance() has woken: it has done what there was to do.
  bool is_waited_on() {
    const std::lock_guard own(mutex_);
    return std::ranges::any_of(waiters_, [](const Waiter& waiter) { return !waiter.woken; });
  }

 private:
  struct Waiter {
    std::condition_variable* signal;
    std::mutex* mutex;
    bool woken = false;
    friend bool operator==(const Waiter& a, const Waiter& b) {
      return a.signal == b.signal && a.mutex == b.mutex;
    }
  };

  std::mutex mutex_;
  Time now_;
  std::vector<Waiter> waiters_;
  int advancing_ = 0;
  std::condition_variable advanced_;
};

}  // namespace once::testing
