// The wall clock of this program is set, and nobody else's: it has its own clock_gettime().
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/process_time.h"
#include "once/time.h"

namespace {

std::atomic<std::int64_t> wall_clock_ahead = 0;  // In seconds.

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto answer = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME) now->tv_sec += wall_clock_ahead;
  return answer;
}

namespace once {
namespace {

using namespace std::chrono_literals;

TEST(SystemClock, H36_SettingTheWallClockMovesNoTime) {
  const Time before = system_clock().now();
  const auto wall_before = std::chrono::system_clock::now();
  for (const std::chrono::seconds ahead : {1h, -1h}) {
    wall_clock_ahead = ahead.count();
    EXPECT_GT(std::chrono::abs(std::chrono::system_clock::now() - wall_before), 30min);
    EXPECT_LT(std::chrono::abs(system_clock().now() - before), 30min);
    EXPECT_LT(std::chrono::abs(lead_of_system_clock() + ahead), 30min);
  }
  wall_clock_ahead = 0;
}

}  // namespace
}  // namespace once
