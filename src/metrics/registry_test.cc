#include "metrics/registry.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <thread>

namespace once::metrics {
namespace {

using namespace std::chrono_literals;

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Metrics, ACounterIsWrittenWithItsHelpAndItsType) {
  Registry registry;
  registry.counter("apples_total", "Apples.").add(3);
  EXPECT_EQ(registry.text(),
            "# HELP apples_total Apples.\n# TYPE apples_total counter\napples_total 3\n");
}

TEST(Metrics, AFamilyThatCountedNothingStillSaysWhatItIs) {
  Registry registry;
  registry.counters({"pears_total", "Pears.", {"colour"}});
  EXPECT_EQ(registry.text(), "# HELP pears_total Pears.\n# TYPE pears_total counter\n");
}

TEST(Metrics, LabelValuesAndHelpsAreEscaped) {
  Registry registry;
  registry.counters({"odd_total", "A \\ and\na line.", {"what"}}).with({"\"a\\b\"\nc"}).add();
  EXPECT_EQ(registry.text(),
            "# HELP odd_total A \\\\ and\\na line.\n# TYPE odd_total counter\n"
            "odd_total{what=\"\\\"a\\\\b\\\"\\nc\"} 1\n");
}

TEST(Metrics, BucketsOfAHistogramAddUpAndEndWithInfinity) {
  Registry registry;
  Histogram& times = registry.histogram("t_seconds", "T.", {0.001, 0.5});
  for (const auto length : {1ms, 2ms, 500ms, 1500ms}) times.observe(length);  // A bound is within.
  EXPECT_EQ(registry.text(),
            "# HELP t_seconds T.\n# TYPE t_seconds histogram\n"
            "t_seconds_bucket{le=\"0.001\"} 1\n"
            "t_seconds_bucket{le=\"0.5\"} 3\n"
            "t_seconds_bucket{le=\"+Inf\"} 4\n"
            "t_seconds_sum 2.003\n"
            "t_seconds_count 4\n");
}

TEST(Metrics, ATimeThatSteppedBackIsCountedAsNone) {
  Registry registry;
  registry.histogram("t_seconds", "T.", {1}).observe(-5ms);
  EXPECT_NE(registry.text().find("t_seconds_sum 0\n"), std::string::npos);
}

TEST(Metrics, GaugesMayBeAnyNumber) {
  Registry registry;
  Family<Gauge>& family = registry.gauges({"g", "G.", {"of"}});
  family.with({"half"}).set(-0.5);
  family.with({"nothing"}).set(std::numeric_limits<double>::quiet_NaN());
  family.with({"all"}).set(std::numeric_limits<double>::infinity());
  const std::string text = registry.text();
  EXPECT_NE(text.find("g{of=\"half\"} -0.5\n"), std::string::npos);
  EXPECT_NE(text.find("g{of=\"nothing\"} NaN\n"), std::string::npos);
  EXPECT_NE(text.find("g{of=\"all\"} +Inf\n"), std::string::npos);
}

TEST(Metrics, AStrangerCannotMakeMoreSeriesThanTheBound) {
  Registry registry;
  Family<Counter>& family = registry.counters({"n_total", "N.", {"type"}});
  for (std::size_t i = 0; i < kMaxSeries + 50; ++i) family.with({std::to_string(i)}).add();
  family.with({"0"}).add();  // What was there before is still counted by its name.
  const std::string text = registry.text();
  EXPECT_EQ(count_of(text, "\nn_total{"), kMaxSeries + 1);
  EXPECT_NE(text.find("n_total{type=\"other\"} 50\n"), std::string::npos);
  EXPECT_NE(text.find("n_total{type=\"0\"} 2\n"), std::string::npos);
}

TEST(Metrics, AValueThatIsTooLongOrNoUtf8IsOther) {
  Registry registry;
  Family<Counter>& family = registry.counters({"n_total", "N.", {"type"}});
  family.with({std::string(kMaxLabelValue + 1, 'a')}).add();
  constexpr std::array<std::string_view, 8> kBad = {
      "\xff",         "\xc3", "\xc0\x80",         "\xe0\x80\x80",
      "\xed\xa0\x80", "\x80", "\xf4\x90\x80\x80", "a\xe2\x82"};
  for (const std::string_view bad : kBad) family.with({bad}).add();
  family.with({"\xe2\x82\xac"}).add();
  const std::string text = registry.text();
  EXPECT_NE(text.find("n_total{type=\"other\"} 9\n"), std::string::npos) << text;
  EXPECT_NE(text.find("n_total{type=\"\xe2\x82\xac\"} 1\n"), std::string::npos);
}

TEST(Metrics, NothingIsLostWhenManyCountAtOnce) {
  Registry registry;
  Counter& counter = registry.counter("n_total", "N.");
  Histogram& times = registry.histogram("t_seconds", "T.", {1});
  constexpr int kEach = 10'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < kEach; ++k) {
          counter.add();
          times.observe(1ms);
        }
      });
    }
  }
  EXPECT_EQ(counter.value(), 4U * kEach);
  EXPECT_EQ(times.bucket(0), 4U * kEach);
}

TEST(Metrics, WhatIsCollectedEndsWithItsOwner) {
  Registry registry;
  {
    const Registry::Collecting collecting(registry, [](Exposition& out) {
      out.family("g", "G.", Exposition::Type::gauge);
      out.sample({}, 2.0);
    });
    EXPECT_EQ(registry.text(), "# HELP g G.\n# TYPE g gauge\ng 2\n");
  }
  EXPECT_EQ(registry.text(), "");
}

}  // namespace
}  // namespace once::metrics
