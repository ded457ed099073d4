// Calls a function at regular times on a thread of its own, by any clock.
#pragma once

#include <condition_variable>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "once/time.h"

namespace once {

class Periodic {
 public:
  // Calls `work` every `every`, and again at once while it returns true: it may stop early to keep
  // its calls short. `clock` must outlive this.
  Periodic(Clock& clock, Duration every, std::function<bool()> work);

  // Waits for a call under way, not for the next turn.
  ~Periodic();

 private:
  void run();
  bool wait_until(Time turn);

  Clock& clock_;
  const Duration every_;
  const std::function<bool()> work_;
  std::condition_variable signal_;
  Mutex mutex_;
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace once
