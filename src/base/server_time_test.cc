#include "base/server_time.h"

#include <gtest/gtest.h>

namespace once {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{std::chrono::days(20'000)};

// Answers of a server that is `ahead`, whose Date drops the fraction of the second.
void hear(ServerOffset& offset, Time ours, Duration ahead, Duration trip = 10ms) {
  const Time server = std::chrono::floor<std::chrono::seconds>(ours + trip / 2 + ahead);
  offset.learn(server, ours, ours + trip);
}

bool is_about(const ServerOffset& offset, Duration ahead, Duration tolerance = 520ms) {
  return std::chrono::abs(offset.middle() - ahead) < tolerance;
}

class OffsetOfDates : public ::testing::Test {
 protected:
  // An answer each `pause`, for `length`.
  void hear_for(Duration length, Duration ahead, Duration pause = 370ms) {
    for (const Time end = now_ + length; now_ < end; now_ += pause) hear(offset_, now_, ahead);
  }

  Time now_ = kStart;
  ServerOffset offset_{1s};
};

TEST_F(OffsetOfDates, OneAnswerTellsTheOffsetToHalfASecond) {
  EXPECT_EQ(offset_.middle(), 0ms);
  hear(offset_, kStart, 5min, 20ms);
  EXPECT_TRUE(is_about(offset_, 5min));
}

TEST_F(OffsetOfDates, TellsHowWrongItMayBe) {
  EXPECT_EQ(offset_.error(), std::nullopt);
  offset_.learn(Time(60s), Time(0s), Time(5s));
  EXPECT_LE(offset_.error(), 3001ms);
  EXPECT_GE(offset_.error(), 3000ms);
  offset_.learn(Time(66s), Time(6s), Time(6100ms));
  EXPECT_LE(offset_.error(), 560ms);
}

TEST(ServerOffset, H15_ManyAnswersTellItBetterThanASecond) {
  for (const Duration ahead : {-7'250ms, 0ms, 1'999ms, 64'800ms}) {
    ServerOffset offset(1s);
    for (int i = 0; i < 200; ++i) hear(offset, kStart + i * 37ms, ahead);
    EXPECT_TRUE(is_about(offset, ahead, 40ms)) << ahead.count();
  }
}

TEST_F(OffsetOfDates, AClockThatDriftsIsFollowed) {
  for (int i = 0; i < 3'600; ++i) hear(offset_, kStart + i * 1'037ms, Duration(i / 10));
  EXPECT_TRUE(is_about(offset_, 360ms, 100ms));
}

TEST_F(OffsetOfDates, AClockThatIsSetByLessThanASecondIsFollowedAtOnce) {
  hear_for(20s, 0ms);
  hear_for(1s, 900ms);
  EXPECT_TRUE(is_about(offset_, 900ms));
}

TEST_F(OffsetOfDates, H36_OneWrongDateChangesNothing) {
  hear_for(20s, 0ms);
  hear(offset_, now_, 10min);
  EXPECT_TRUE(offset_.is_disputed());
  EXPECT_TRUE(is_about(offset_, 0ms, 100ms));
  hear_for(1s, 0ms);
  EXPECT_FALSE(offset_.is_disputed());
  // Nor do many that do not agree with each other, or not for long.
  for (int i = 1; i < 100; ++i) hear(offset_, now_ += 1s, i * 10min);
  EXPECT_TRUE(is_about(offset_, 0ms, 100ms));
  hear_for(8s, 10min);
  EXPECT_TRUE(is_about(offset_, 0ms, 100ms));
  hear_for(8s, 0ms);
  EXPECT_TRUE(is_about(offset_, 0ms, 100ms));
}

TEST_F(OffsetOfDates, H36_OneOfTwoServersThatIsWrongIsNotBelieved) {
  hear_for(2s, 0ms);
  for (int i = 0; i < 300; ++i) hear(offset_, now_ += 500ms, i % 2 == 0 ? 10min : 0min);
  EXPECT_TRUE(is_about(offset_, 0ms, 100ms));
}

TEST_F(OffsetOfDates, H36_AJumpThatLastsIsBelieved) {
  for (const Duration ahead : {Duration(10min), Duration(0), Duration(-10min)}) {
    hear_for(20s, ahead == 0ms ? 10min : 0ms);
    hear_for(40s, ahead);
    EXPECT_TRUE(is_about(offset_, ahead, 200ms)) << ahead.count();
    hear_for(40s, 0ms);
  }
}

TEST_F(OffsetOfDates, H36_SeveralAnswersAtOnceAreNotEnoughForAJump) {
  hear_for(20s, 0ms);
  for (int i = 0; i < 50; ++i) hear(offset_, now_, 10min);
  EXPECT_TRUE(is_about(offset_, 0ms, 100ms));
}

TEST_F(OffsetOfDates, H36_AtTheBeginningTwoAnswersThatAgreeAreMoreThanOne) {
  hear(offset_, now_, 10min);
  EXPECT_FALSE(offset_.is_settled());
  hear(offset_, now_ += 5ms, 0ms);
  EXPECT_FALSE(offset_.is_settled());
  hear(offset_, now_ += 5ms, 0ms);
  EXPECT_TRUE(offset_.is_settled());
  EXPECT_TRUE(is_about(offset_, 0ms));
}

TEST_F(OffsetOfDates, H36_OneAnswerIsEnoughIfOurClockAgrees) {
  hear(offset_, now_, 300ms);
  EXPECT_TRUE(offset_.is_settled());
  hear_for(8s, 10min);
  EXPECT_TRUE(is_about(offset_, 300ms));
}

TEST(ForwardTime, H36_NeverStandsStillAndComesBackSlowly) {
  ForwardTime time;
  Time own = kStart;
  EXPECT_EQ(time.follow(own + 10min, own), own + 10min);
  // Asked each millisecond: fractions are not lost.
  for (int i = 0; i < 1'000; ++i) time.follow(own, own += 1ms);
  EXPECT_EQ(time.follow(own, own), kStart + 10min + 900ms);
  own += 20min;
  EXPECT_EQ(time.follow(own, own), kStart + 10min + 900ms + 18min);
  own += 2h;
  EXPECT_EQ(time.follow(own, own), own);
}

TEST(ForwardTime, FollowsForwardAtOnce) {
  ForwardTime time;
  time.follow(kStart, kStart);
  EXPECT_EQ(time.follow(kStart + 3s, kStart), kStart + 3s);
}

}  // namespace
}  // namespace once
