#include <time.h>

#include "kernel/real_clock.h"

namespace once {
namespace {

// Also while the machine sleeps.
std::chrono::nanoseconds since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class EvenClock final : public RealClock {
 public:
  Time now() override { return std::chrono::floor<Duration>(booted_ + since_boot()); }

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
