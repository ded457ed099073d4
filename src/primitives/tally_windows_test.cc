#include "primitives/tallies_fixture.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using enum TallyKind;

class TallyWindowsTest : public TalliesFixture {
 protected:
  static TallyRequest windowed(TallyKind kind, std::int64_t number, std::optional<Time> at = {},
                               std::string id = "", TallyWindow window = TallyWindow::minute) {
    TallyRequest request = of(kind, number, std::move(id));
    request.shape.window = window;
    request.at = at;
    return request;
  }

  const Time start_ = clock_.now();  // Midnight.
};

TEST_P(TallyWindowsTest, BucketsAreMinutesHoursOrDays) {
  for (const auto& [window, width] : {std::pair<TallyWindow, Duration>(TallyWindow::minute, 1min),
                                      {TallyWindow::hour, 1h},
                                      {TallyWindow::day, std::chrono::days(1)}}) {
    const std::string name = std::to_string(static_cast<int>(window));
    merged(name, windowed(sum, 1, start_, "", window));
    merged(name, windowed(sum, 2, start_ + width - 1ms, "", window));
    const Tallied next = merged(name, windowed(sum, 4, start_ + width, "", window));
    EXPECT_EQ(std::get<std::int64_t>(*next.value), 4);
    EXPECT_EQ(value(name, {start_, start_ + width}), 3);
    EXPECT_EQ(value(name), 7);
  }
}

TEST_P(TallyWindowsTest, ARangeTakesTheBucketsThatStartInIt) {
  for (int i = 0; i < 5; ++i) merged("t", windowed(sum, 1 << i, start_ + i * 1min + 30s));
  EXPECT_EQ(value("t", {start_ + 1min, start_ + 3min}), 2 + 4);
  EXPECT_EQ(value("t", {start_ + 1min + 1ms, start_ + 3min + 1ms}), 4 + 8);
  EXPECT_EQ(value("t", {start_ + 3min, {}}), 8 + 16);
  EXPECT_EQ(value("t", {{}, start_ + 1min}), 1);
  EXPECT_EQ(value("t", {start_ + 3min, start_ + 1min}), 0);
  EXPECT_EQ(value("t", {start_ + 3min, start_ + 3min}), 0);
  EXPECT_EQ(value("t", {Time(-1h), Time{}}), 0);
}

TEST_P(TallyWindowsTest, AnAbsentBucketIsTheIdentityAndNotZero) {
  merged("max", windowed(max, -5, start_));
  merged("max", windowed(max, -3, start_ + 2min));
  merged("min", windowed(min, 5, start_ + 2min));
  EXPECT_EQ(value("max"), -3);
  EXPECT_EQ(value("min"), 5);
  EXPECT_EQ(value("max", {start_, start_ + 2min}), -5);
  value<std::monostate>("max", {start_ + 1min, start_ + 2min});
  value<std::monostate>("min", {start_, start_ + 2min});
}

TEST_P(TallyWindowsTest, WithoutAtTheBucketIsThatOfStoreTime) {
  merged("t", windowed(sum, 1));
  clock_.advance(1min);
  merged("t", windowed(sum, 2));
  EXPECT_EQ(value("t", {clock_.now(), {}}), 2);
}

TEST_P(TallyWindowsTest, BucketsAreRetainedFromTheEndOfTheirWindow) {
  TallyRequest request = windowed(sum, 1);
  request.ttl = 5min;
  merged("t", request);
  clock_.advance(6min - 1ms);
  EXPECT_EQ(value("t"), 1);
  clock_.advance(1ms);
  EXPECT_EQ(value("t"), 0);
  request.at = start_;
  EXPECT_EQ(refused("t", request), ErrorCode::invalid);
  EXPECT_EQ(value("t"), 0);
}

TEST_P(TallyWindowsTest, H20_ARetryInTheNextWindowFindsItsIdInTheTally) {
  merged("t", windowed(sum, 1, {}, "x"));
  clock_.advance(1min);
  merged("t", windowed(sum, 10, {}, "y"));
  const Tallied again = merged("t", windowed(sum, 1, {}, "x"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(std::get<std::int64_t>(*again.value), 1);  // Of the bucket it went to.
  EXPECT_EQ(value("t"), 11);
  as<TallyMismatch>(tallies_.merge("t", windowed(sum, 2, {}, "x")));
}

TEST_P(TallyWindowsTest, SketchesMergeOverBuckets) {
  for (int i = 0; i < 10; ++i) {
    TallyRequest request = of(distinct, items({"common", std::to_string(i)}));
    request.shape.window = TallyWindow::hour;
    request.at = start_ + i * 1h;
    merged("d", request);
  }
  EXPECT_EQ(value("d"), 11);
  EXPECT_EQ(value("d", {start_, start_ + 3h}), 4);
}

TEST_P(TallyWindowsTest, MoreBucketsThanAPageHoldsAreAllRead) {
  const auto buckets = static_cast<std::int64_t>(testing::as_many_as(2'500, 1'100));
  ASSERT_GT(buckets, ScanRequest().limit);
  for (std::int64_t i = 0; i < buckets; ++i) merged("t", windowed(count, 1, start_ + i * 1min));
  EXPECT_EQ(value("t"), buckets);
}

TEST_P(TallyWindowsTest, ASumOfBucketsThatOverflowsIsRefusedNotWrapped) {
  merged("t", windowed(sum, kMost, start_));
  merged("t", windowed(sum, 1, start_ + 1min));
  EXPECT_EQ(tallies_.read("t").error().code, ErrorCode::invalid);
  EXPECT_EQ(value("t", {start_, start_ + 1min}), kMost);
}

TEST_P(TallyWindowsTest, TimesBefore1970AreInvalid) {
  EXPECT_EQ(refused("t", windowed(sum, 1, Time(-1ms))), ErrorCode::invalid);
}

INSTANTIATE_TEST_SUITE_P(Limits, TallyWindowsTest, ::testing::Values(100, 1), name_of_limit);

}  // namespace
}  // namespace once
