// Time within one process (docs/hazards.md#h36): the wall clock as it was at the beginning, then
// the time since boot. Setting the wall clock changes nothing until the next start.
#pragma once

#include <chrono>

#include "once/time.h"

namespace once {

class ProcessTime {
 public:
  using Wall = std::chrono::sys_time<std::chrono::nanoseconds>;

  // Both clocks as they are now; `boot` goes on while the machine sleeps.
  ProcessTime(Wall wall, std::chrono::nanoseconds boot) : booted_(wall - boot) {}

  Time at(std::chrono::nanoseconds boot) const {
    return std::chrono::floor<Duration>(booted_ + boot);
  }

  // How far this time is ahead of a wall clock that shows `wall`.
  Duration lead(Wall wall, std::chrono::nanoseconds boot) const {
    return std::chrono::floor<Duration>(booted_ + boot - wall);
  }

 private:
  const Wall booted_;
};

// How far system_clock() is ahead of this machine's wall clock, which was set since.
Duration lead_of_system_clock();

}  // namespace once
