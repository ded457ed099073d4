// Work done every so often on a thread of its own, by a clock that may be a test's.
#pragma once

#include <condition_variable>
#include <functional>
#include <thread>

#include "kernel/mutex.h"
#include "once/time.h"

namespace once {

class Periodic {
 public:
  // Each turn calls `work` again as long as it returns true, which it does when it stopped only to
  // keep its calls short. `clock` must outlive this.
  Periodic(Clock& clock, Duration every, std::function<bool()> work);

  // Prompt: waits for a call under way, not for the next turn.
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
