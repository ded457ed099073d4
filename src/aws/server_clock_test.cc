#include "aws/server_clock.h"

#include <gtest/gtest.h>

namespace once::aws {
namespace {

constexpr Time kStart{std::chrono::days(20'000)};

// Answers of a server that is `ahead`, whose Date drops the fraction of the second.
void hear(ServerClock& clock, Time ours, Duration ahead, Duration trip) {
  const Time server = std::chrono::floor<std::chrono::seconds>(ours + trip / 2 + ahead);
  clock.learn(server, ours, ours + trip);
}

TEST(ServerClock, OneAnswerTellsTheOffsetToHalfASecond) {
  ServerClock clock;
  EXPECT_EQ(clock.offset(), Duration(0));
  hear(clock, kStart, Duration(300'000), Duration(20));
  EXPECT_LT(std::chrono::abs(clock.offset() - Duration(300'000)), Duration(520));
}

TEST(ServerClock, TellsHowWrongItMayBe) {
  ServerClock clock;
  EXPECT_EQ(clock.error(), std::nullopt);
  clock.learn(Time(Duration(60'000)), Time(Duration(0)), Time(Duration(5'000)));
  EXPECT_EQ(clock.error(), Duration(3'000));
  clock.learn(Time(Duration(66'000)), Time(Duration(6'000)), Time(Duration(6'100)));
  EXPECT_LE(clock.error(), Duration(550));
}

TEST(ServerClock, H15_ManyAnswersTellItBetterThanASecond) {
  for (const Duration ahead : {Duration(-7'250), Duration(0), Duration(1'999), Duration(64'800)}) {
    ServerClock clock;
    for (int i = 0; i < 200; ++i) hear(clock, kStart + i * Duration(37), ahead, Duration(10));
    EXPECT_LT(std::chrono::abs(clock.offset() - ahead), Duration(40)) << ahead.count();
  }
}

TEST(ServerClock, AClockThatWasSetIsFollowedAtOnce) {
  ServerClock clock;
  for (int i = 0; i < 200; ++i) hear(clock, kStart + i * Duration(37), Duration(0), Duration(10));
  hear(clock, kStart + Duration(10'000), Duration(-600'000), Duration(10));
  EXPECT_LT(std::chrono::abs(clock.offset() + Duration(600'000)), Duration(520));
}

TEST(ServerClock, AClockThatDriftsIsFollowed) {
  ServerClock clock;
  for (int i = 0; i < 3'600; ++i) {
    hear(clock, kStart + i * Duration(1'037), Duration(i / 10), Duration(10));
  }
  EXPECT_LT(std::chrono::abs(clock.offset() - Duration(360)), Duration(100));
}

TEST(ServerClock, ADateIsReadAsHttpWritesIt) {
  EXPECT_EQ(parse_date("Sun, 30 Aug 2015 12:36:00 GMT"), Time(std::chrono::seconds(1'440'938'160)));
  EXPECT_EQ(parse_date("soon"), std::nullopt);
}

}  // namespace
}  // namespace once::aws
