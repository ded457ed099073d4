#include <time.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

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

using Steady = std::chrono::steady_clock;

// Follows the wall clock forward. When the wall clock is set back, goes on at the steady clock's
// pace: the lead over the steady clock only ever grows.
class SystemClock final : public RealClock {
 public:
  Time now() override {
    const auto wall = std::chrono::system_clock::now();
    const Time told = told_.load(std::memory_order_relaxed);
    // Most calls fall into the same millisecond as the one before: then one clock is enough.
    return std::chrono::floor<Duration>(wall) == told ? told : read_both_clocks(wall);
  }

 private:
  Time read_both_clocks(std::chrono::system_clock::time_point wall) {
    const auto steady = Steady::now().time_since_epoch();
    const std::int64_t lead = (wall.time_since_epoch() - steady).count();
    std::int64_t largest = lead_.load(std::memory_order_relaxed);
    while (lead > largest && !lead_.compare_exchange_weak(largest, lead)) {
    }
    const Time now = std::chrono::floor<Duration>(std::chrono::sys_time<Steady::duration>(
        steady + Steady::duration(std::max(lead, largest))));
    Time told = told_.load(std::memory_order_relaxed);
    while (now > told && !told_.compare_exchange_weak(told, now)) {
    }
    return std::max(now, told);
  }

  std::atomic<std::int64_t> lead_ = std::numeric_limits<std::int64_t>::min();
  std::atomic<Time> told_ = Time::min();  // The latest time returned.
};

// CLOCK_BOOTTIME goes on while the machine sleeps.
std::chrono::nanoseconds since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class BootClock final : public RealClock {
 public:
  Time now() override { return std::chrono::floor<Duration>(booted_ + since_boot()); }

 private:
  const std::chrono::sys_time<std::chrono::nanoseconds> booted_ =
      std::chrono::system_clock::now() - since_boot();
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Clock& boot_clock() {
  static BootClock clock;
  return clock;
}

}  // namespace once
