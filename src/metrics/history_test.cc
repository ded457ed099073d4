#include "metrics/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace once::metrics {
namespace {

using namespace std::chrono_literals;

constexpr Subject kClaim{.primitive = Primitive::claims};

class HistoryTest : public ::testing::Test {
 protected:
  void answer(const Subject& subject, std::chrono::nanoseconds length, Telemetry telemetry = {}) {
    counted_.answered(subject, {200, {}, "", std::move(telemetry)}, length);
  }
  void pass(Duration time = History::kEvery) { history_.sample(now_ += time); }
  std::vector<HistorySlot> all() const { return history_.slots(Time::min()); }

  AnswerMetrics counted_;
  Time now_{1'000s};
  History history_{counted_, now_};
};

TEST(Latencies, TheMiddleOfABucketIsWithinASixteenthOfWhatItHolds) {
  for (const std::int64_t length :
       {0L, 1L, 7L, 8L, 15L, 16L, 17L, 1'000L, 123'456'789L, 3'600'000'000'000L, INT64_MAX / 2}) {
    const std::chrono::nanoseconds exact(length);
    const std::size_t bucket = Latencies::bucket_of(exact);
    ASSERT_LT(bucket, Latencies::kBuckets);
    const double apart = static_cast<double>((Latencies::middle_of(bucket) - exact).count());
    EXPECT_LE(std::abs(apart), static_cast<double>(length) / 16) << length;
  }
  EXPECT_LT(Latencies::bucket_of(std::chrono::nanoseconds::max()), Latencies::kBuckets);
  EXPECT_EQ(Latencies::bucket_of(-1ns), 0);
}

TEST_F(HistoryTest, ASlotHasWhatCameOfItsRequestsAndHowLongTheyTook) {
  for (int i = 0; i < 98; ++i) answer(kClaim, 1ms);
  for (int i = 0; i < 2; ++i) answer(kClaim, 100ms, {.outcome = Outcome::busy});
  pass(6s);
  pass();
  const std::vector<HistorySlot> slots = all();
  ASSERT_EQ(slots.size(), 2);
  EXPECT_EQ(slots[0].at, Time(1'006s));
  EXPECT_EQ(slots[0].length, 6s);
  ASSERT_EQ(slots[0].outcomes.size(), 2);
  EXPECT_EQ(slots[0].outcomes[0].count, 98);
  EXPECT_EQ(slots[0].outcomes[1].outcome, Outcome::busy);
  EXPECT_EQ(slots[0].outcomes[1].count, 2);
  EXPECT_NEAR(static_cast<double>(slots[0].p50->count()), 1e6, 7e4);
  EXPECT_NEAR(static_cast<double>(slots[0].p99->count()), 1e8, 7e6);
  EXPECT_TRUE(slots[1].outcomes.empty());
  EXPECT_FALSE(slots[1].p50);
  EXPECT_FALSE(slots[1].p99);
}

TEST_F(HistoryTest, PagesAndThoseWhoWaitForAnotherHolderAreNotMeasured) {
  answer({.primitive = Primitive::other, .reads = true}, 1ms);
  answer(kClaim, 30s, {.waited = true});
  pass();
  ASSERT_EQ(all()[0].outcomes.size(), 1);
  EXPECT_EQ(all()[0].outcomes[0].primitive, Primitive::claims);
  EXPECT_FALSE(all()[0].p99);
}

TEST_F(HistoryTest, IsAQuarterOfAnHourAndNoMore) {
  for (std::size_t i = 0; i < 3 * History::kSlots; ++i) {
    answer(kClaim, 1ms);
    pass();
    EXPECT_LE(all().size(), History::kSlots);
  }
  ASSERT_EQ(all().size(), History::kSlots);
  EXPECT_EQ(all().back().at, now_);
  EXPECT_EQ(all().front().at, now_ - History::kSpan + History::kEvery);
  EXPECT_TRUE(std::ranges::is_sorted(all(), {}, &HistorySlot::at));
  EXPECT_EQ(history_.slots(now_ - History::kEvery).size(), 1);
  EXPECT_TRUE(history_.slots(now_).empty());
  pass(1h);
  EXPECT_EQ(all().size(), 1);
}

TEST_F(HistoryTest, NoRequestIsLostBetweenSlots) {
  constexpr int kEach = 10'000;
  const auto work = [this] {
    for (int i = 0; i < kEach; ++i) answer(kClaim, 1ms);
  };
  {
    const std::jthread one(work);
    const std::jthread two(work);
    for (std::size_t i = 0; i < History::kSlots / 2; ++i) pass();
  }
  pass();
  std::uint64_t sum = 0;
  for (const HistorySlot& slot : all()) {
    for (const OutcomeCount& one : slot.outcomes) sum += one.count;
  }
  EXPECT_EQ(sum, 2U * kEach);
}

TEST_F(HistoryTest, AClockThatIsSetBackLeavesNoSlotsOfTheFuture) {
  pass();
  pass();
  answer(kClaim, 1ms);
  pass(-7s);
  ASSERT_EQ(all().size(), 1);
  EXPECT_EQ(all()[0].length, History::kEvery);
  EXPECT_EQ(all()[0].outcomes.size(), 1);
  pass(Duration::zero());
  EXPECT_EQ(all().size(), 1);
}

}  // namespace
}  // namespace once::metrics
