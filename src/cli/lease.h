// Keeps a claim while its command runs, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cli/target.h"

namespace once::cli {

class Lease {
 public:
  // Sends `renew` three times a lease. `lost` is called once, on this thread, when the claim is
  // another's, or the lease has ended without the store being reached. The target is this thread's
  // until end().
  Lease(Target& target, api::Request renew, Duration length, std::function<void()> lost);
  ~Lease() { end(); }

  void end();
  bool lost() const { return lost_; }  // After end().

 private:
  using Clock = std::chrono::steady_clock;

  void keep();
  bool renew_once();
  bool wait_until(Clock::time_point when);

  Target& target_;
  const api::Request renew_;
  const Duration length_;
  const std::function<void()> on_lost_;
  std::mutex mutex_;
  std::condition_variable signal_;
  bool ending_ = false;
  bool lost_ = false;
  Clock::time_point until_;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace once::cli
