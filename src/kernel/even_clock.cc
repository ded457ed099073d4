#include <time.h>

#include <algorithm>
#include <thread>

#include "once/time.h"

namespace once {
namespace {

// Also while the machine sleeps.
std::chrono::nanoseconds since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class EvenClock final : public Clock {
 public:
  Time now() override { return std::chrono::floor<Duration>(booted_ + since_boot()); }

  void sleep(Duration length) override { std::this_thread::sleep_for(length); }

  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            Time until) override {
    // A day at most, since an unbounded time overflows the steady clock's.
    const Duration length = std::min<Duration>(until - now(), std::chrono::hours(24));
    if (length.count() > 0) signal.wait_for(lock, length);
  }

 private:
  const std::chrono::sys_time<std::chrono::nanoseconds> booted_ =
      std::chrono::system_clock::now() - since_boot();
};

}  // namespace

Clock& even_clock() {
  static EvenClock clock;
  return clock;
}

}  // namespace once
