#include <time.h>

#include <algorithm>
#include <thread>

#include "base/process_time.h"
#include "once/time.h"

namespace once {
namespace {

class RealClock : public Clock {
 public:
  void sleep(Duration length) final { std::this_thread::sleep_for(length); }

  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock, Time until) final {
    // A day at most, since an unbounded time overflows the steady clock's.
    const Duration length = std::min<Duration>(until - now(), std::chrono::hours(24));
    if (length.count() > 0) signal.wait_for(lock, length);
  }
};

// CLOCK_BOOTTIME goes on while the machine sleeps.
std::chrono::nanoseconds since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class ProcessClock final : public RealClock {
 public:
  Time now() override { return time_.at(since_boot()); }
  Duration lead() const { return time_.lead(std::chrono::system_clock::now(), since_boot()); }

 private:
  const ProcessTime time_{std::chrono::system_clock::now(), since_boot()};
};

ProcessClock& process_clock() {
  static ProcessClock clock;
  return clock;
}

}  // namespace

Clock& system_clock() { return process_clock(); }
Clock& boot_clock() { return process_clock(); }
Duration lead_of_system_clock() { return process_clock().lead(); }

}  // namespace once
