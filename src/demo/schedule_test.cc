#include "demo/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "demo/worker.h"

namespace once::demo {
namespace {

// All that a seed decides, as text.
std::string text_of(const Schedule& schedule) {
  std::string text;
  for (const Order& order : schedule.orders) text += to_message(Task{0, order, {}}) + "\n";
  for (const Delivery& one : schedule.deliveries) {
    text += to_message(Task{one.order, {}, one.killed}) + "\n";
  }
  return text;
}

TEST(DemoSchedule, ASeedRepeatsItAndAnotherDoesNot) {
  EXPECT_EQ(text_of(make_schedule(7, {})), text_of(make_schedule(7, {})));
  EXPECT_NE(text_of(make_schedule(7, {})), text_of(make_schedule(8, {})));
}

TEST(DemoSchedule, EveryOrderIsDeliveredAndSomeTwice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Schedule schedule = make_schedule(seed, {.orders = 400, .kills = 25});
    std::vector<int> times(400);
    for (const Delivery& delivery : schedule.deliveries) ++times.at(delivery.order);
    EXPECT_TRUE(std::ranges::all_of(times, [](int n) { return n == 1 || n == 2; })) << seed;
    const auto twice = std::ranges::count(times, 2);
    EXPECT_GT(twice, 80) << seed;
    EXPECT_LT(twice, 160) << seed;
    const auto kills = std::ranges::count_if(
        schedule.deliveries, [](const Delivery& one) { return one.killed.has_value(); });
    EXPECT_EQ(kills, 25) << seed;
  }
}

TEST(DemoSchedule, TheSmallestHasOneOrder) {
  const Schedule schedule = make_schedule(3, {.orders = 1, .kills = 1});
  EXPECT_EQ(schedule.orders.size(), 1U);
  EXPECT_GE(schedule.deliveries.size(), 1U);
}

TEST(DemoWorker, MessagesComeThroughAsTheyWere) {
  const auto task = task_of(to_message({7, {42, std::chrono::microseconds(9)}, Stage::listed}));
  ASSERT_TRUE(task);
  EXPECT_EQ(task->number, 7U);
  EXPECT_EQ(task->order.cents, 42);
  EXPECT_EQ(task->order.work.count(), 9);
  EXPECT_EQ(task->killed, Stage::listed);
  const auto report = report_of(to_message({Report::Outcome::failed, true, "it is down"}));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, Report::Outcome::failed);
  EXPECT_TRUE(report->took_over);
  EXPECT_EQ(report->why, "it is down");
  EXPECT_FALSE(task_of("nonsense"));
  EXPECT_FALSE(report_of("9 0 "));
}

}  // namespace
}  // namespace once::demo
