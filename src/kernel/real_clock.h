// What clocks of real time have in common: waiting.
#pragma once

#include <algorithm>
#include <thread>

#include "once/time.h"

namespace once {

class RealClock : public Clock {
 public:
  void sleep(Duration length) final { std::this_thread::sleep_for(length); }

  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock, Time until) final {
    // A day at most, since an unbounded time overflows the steady clock's.
    const Duration length = std::min<Duration>(until - now(), std::chrono::hours(24));
    if (length.count() > 0) signal.wait_for(lock, length);
  }
};

}  // namespace once
