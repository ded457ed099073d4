// A clock for threads that contend: it stands still, and a thread that pauses lets others run. On a
// ManualClock the pauses of all would add up, and end the patience of one that is only descheduled.
#pragma once

#include <thread>

#include "once/time.h"

namespace once::testing {

class StillClock final : public Clock {
 public:
  Time now() override { return Time(std::chrono::days(20'000)); }
  void sleep(Duration) override { std::this_thread::yield(); }
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock, Time) override {
    signal.wait(lock);
  }
};

}  // namespace once::testing
