#include <algorithm>
#include <atomic>
#include <limits>

#include "kernel/real_clock.h"

namespace once {
namespace {

using Steady = std::chrono::steady_clock;

// How far store time runs ahead of the steady clock only ever grows: it follows the wall clock
// forward, and when that is set back it goes on at the steady clock's pace.
class SystemClock final : public RealClock {
 public:
  Time now() override {
    const auto wall = std::chrono::system_clock::now();
    const Time told = told_.load(std::memory_order_relaxed);
    // Mostly it is still the millisecond of the last time, and nothing else need be asked.
    return std::chrono::floor<Duration>(wall) == told ? told : ask_both(wall);
  }

 private:
  Time ask_both(std::chrono::system_clock::time_point wall) {
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
  std::atomic<Time> told_ = Time::min();  // The latest.
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace once
