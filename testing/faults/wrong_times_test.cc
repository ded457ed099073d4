// A server that shows a wrong time for a moment (docs/hazards.md#h36).
#include <gtest/gtest.h>

#include <thread>

#include "once/local.h"
#include "testing/faults/faulty_way.h"
#include "testing/stores/chosen_store.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

class WrongTimes : public ::testing::Test {
 protected:
  static Time wall() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }
  Duration error() { return std::chrono::abs(store_->now() - wall()); }

  // Enough requests for the server's time to be asked for and learnt.
  void use() {
    const std::vector<std::string> ids = {"id"};
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(claims_.seen(ids, 1h).has_value());
  }

  // Uses the store until some of its answers have shown the wrong time. Redis is asked for it every
  // few seconds only.
  void meet_wrong_times() {
    way_.skew(10min);
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (way_.skewed() < 2 && std::chrono::steady_clock::now() < until) {
      use();
      std::this_thread::sleep_for(20ms);
    }
    EXPECT_GE(way_.skewed(), 2);
  }

  FaultyWay way_{chosen_harness({"redis"}).serve()};
  std::unique_ptr<Store> store_ = way_.open();
  LocalClaims claims_{*store_};
};

TEST_F(WrongTimes, H36_ALiveLeaseIsNotTakenOver) {
  ASSERT_TRUE(std::holds_alternative<Claimed>(claims_.take("job", {.lease = 60s}).value()));
  meet_wrong_times();
  EXPECT_TRUE(std::holds_alternative<Busy>(claims_.take("job", {.lease = 60s}).value()));
  EXPECT_LT(error(), 3s);
  way_.skew(0ms);
  use();
  EXPECT_LT(error(), 3s);
}

TEST_F(WrongTimes, H36_AfterwardsALeaseOfASecondLastsNoTenMinutes) {
  meet_wrong_times();
  way_.skew(0ms);
  use();
  const Time before = store_->now();
  await_time(*store_, before + 1s);  // It goes on.
  EXPECT_LT(error(), 3s);
}

TEST_F(WrongTimes, H36_OneWrongAnswerAtTheOpeningIsNotBelieved) {
  way_.skew(10min, 1);
  const std::unique_ptr<Store> opened = way_.open();
  EXPECT_LT(std::chrono::abs(opened->now() - wall()), 3s);
}

// Which way one answer is wrong, by ten minutes: longer than ids are remembered here.
class SeenAtAWrongTime : public WrongTimes, public ::testing::WithParamInterface<Duration> {
 protected:
  static constexpr Duration kTtl = 5min;
  static constexpr Duration kTolerance = 1min;  // Far less than one wrong answer.

  // Ids with a request and ids without have marks of two forms.
  static bool is_first(Store& store, const std::string& id, std::string request) {
    const std::vector<std::string> ids = {id};
    const auto seen = LocalClaims(store).seen(ids, kTtl, std::move(request), 2min);
    EXPECT_TRUE(seen.has_value()) << seen.error().message;
    return seen && seen->at(0);
  }

  // To one client of all, and once; whatever the clients believe of the time.
  static void mark(Store& first, Store& second, const std::string& id) {
    const Time before = wall();
    EXPECT_TRUE(is_first(first, id, "")) << id;
    EXPECT_TRUE(is_first(first, id + "-requested", "first")) << id;
    expect_marked(first, second, id, before);
  }

  static void expect_marked(Store& first, Store& second, const std::string& id, Time marked) {
    for (const std::string& each : {id, id + "-requested"}) {
      for (Store* const store : {&second, &first}) {
        EXPECT_FALSE(is_first(*store, each, "another")) << each;
        const auto mark = LocalClaims(*store).show_seen(each, 2min).value();
        ASSERT_TRUE(mark.has_value()) << each;
        EXPECT_GE(mark->until, marked + kTtl - kTolerance) << each;
      }
    }
  }

  // Until one answer has shown the wrong time. Never more: three would be believed after a while.
  void meet_one_wrong_time() {
    way_.heal();
    way_.skew(GetParam(), 1);
    const auto until = std::chrono::steady_clock::now() + 2min;
    while (way_.met() == 0 && std::chrono::steady_clock::now() < until) {
      use();
      std::this_thread::sleep_for(20ms);
    }
    EXPECT_EQ(way_.met(), 1);
  }

  std::unique_ptr<Store> another_ = way_.open();
};

TEST_P(SeenAtAWrongTime, H36_AnIdIsFirstOnceAndRememberedForItsTtl) {
  const Time before = wall();
  mark(*store_, *another_, "before");
  meet_one_wrong_time();
  expect_marked(*store_, *another_, "before", before);
  mark(*store_, *another_, "by the one that met it");
  mark(*another_, *store_, "by the other");
}

TEST_P(SeenAtAWrongTime, H36_AnIdIsFirstOnceAndRememberedForItsTtlByOneThatOpensWithIt) {
  const Time before = wall();
  mark(*store_, *another_, "before");
  way_.heal();
  way_.skew(GetParam(), 1);
  const std::unique_ptr<Store> opened = way_.open();
  EXPECT_EQ(way_.met(), 1);
  expect_marked(*opened, *store_, "before", before);
  mark(*opened, *store_, "by the one that opened with it");
  mark(*store_, *opened, "by the other");
}

INSTANTIATE_TEST_SUITE_P(ByTenMinutes, SeenAtAWrongTime, ::testing::Values(10min, -10min),
                         [](const auto& info) { return info.param > 0ms ? "Ahead" : "Behind"; });

}  // namespace
}  // namespace once::testing
