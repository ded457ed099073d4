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

}  // namespace
}  // namespace once::testing
