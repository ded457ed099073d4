#include "base/process_time.h"
#include "once/time.h"

#include <gtest/gtest.h>

namespace once {
namespace {

TEST(Time, LaterNeverOverflows) {
  const Time least(Duration::min());
  EXPECT_EQ(later(Time(Duration(5)), Duration(3)), Time(Duration(8)));
  EXPECT_EQ(later(kNever, Duration(1)), kNever);
  EXPECT_EQ(later(kNever, Duration(0)), kNever);
  EXPECT_EQ(later(kNever - Duration(3), Duration(3)), kNever);
  EXPECT_EQ(later(kNever - Duration(3), Duration(4)), kNever);
  EXPECT_EQ(later(Time{}, Duration::max()), kNever);
  // Times before 1970 come from records, where they may be anything.
  EXPECT_EQ(later(Time(Duration(-5)), Duration(3)), Time(Duration(-2)));
  EXPECT_EQ(later(least, Duration(1)), least + Duration(1));
  EXPECT_EQ(later(kNever, Duration(-1)), kNever - Duration(1));
}

TEST(ProcessTime, H36_AdvancesByTheTimeSinceBootWhateverTheWallClockShows) {
  using namespace std::chrono_literals;
  const ProcessTime::Wall noon(20'000 * 24h + 12h);
  const ProcessTime time(noon, 500s);
  EXPECT_EQ(time.at(500s), noon);
  EXPECT_EQ(time.at(501s + 900us), noon + 1s);
  EXPECT_EQ(time.lead(noon + 1s, 501s), 0s);
  EXPECT_EQ(time.lead(noon + 1h, 500s), -1h);
  EXPECT_EQ(time.lead(noon - 1h, 500s), 1h);
}

TEST(SystemClock, StartsWithTheWallClock) {
  EXPECT_LT(std::chrono::abs(system_clock().now() - std::chrono::system_clock::now()),
            std::chrono::minutes(1));
  EXPECT_LT(std::chrono::abs(lead_of_system_clock()), std::chrono::minutes(1));
}

}  // namespace
}  // namespace once
