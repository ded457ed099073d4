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

}  // namespace
}  // namespace once
