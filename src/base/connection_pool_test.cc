#include "base/connection_pool.h"

#include <gtest/gtest.h>

#include <optional>

#include "testing/code_of.h"
#include "testing/manual_clock.h"

namespace once {
namespace {

using namespace std::chrono_literals;

struct Line {
  int number;
  bool is_sound = true;
  bool is_disturbed = false;

  bool sound() const { return is_sound; }
  bool disturbed() const { return is_disturbed; }
};

class Pools : public ::testing::Test {
 protected:
  using Pool = ConnectionPool<Line>;

  // Numbers connections as they are opened. Waits for none.
  Result<Pool::Lease> lease() {
    return pool_.lease(std::chrono::steady_clock::now(), [this]() -> Result<std::unique_ptr<Line>> {
      if (is_down_) return failure(ErrorCode::unavailable, "down");
      return std::make_unique<Line>(++opened_);
    });
  }
  int number() { return lease().value()->number; }

  testing::ManualClock clock_;
  Pool pool_{{.engine = "engine", .most = 2, .longest_idle = 30s}, clock_};
  int opened_ = 0;
  bool is_down_ = false;
};

TEST_F(Pools, TheOneThatWasUsedLastIsUsedNext) {
  {
    const auto first = lease().value();
    const auto second = lease().value();
    EXPECT_EQ(first->number, 1);
    EXPECT_EQ(second->number, 2);
  }
  EXPECT_EQ(number(), 1);  // The second went back first.
  EXPECT_EQ(opened_, 2);
}

TEST_F(Pools, NoMoreThanTheMostAreLent) {
  const auto first = lease().value();
  std::optional second = lease().value();
  const auto third = lease();
  EXPECT_EQ(testing::code_of(third), ErrorCode::unavailable);
  EXPECT_EQ(third.error().message, "engine: all connections are in use");
  second.reset();
  EXPECT_EQ(number(), 2);
}

TEST_F(Pools, OneThatCannotBeOpenedTakesNobodysTurn) {
  is_down_ = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(lease().error().message, "down");
  is_down_ = false;
  const auto first = lease().value();
  EXPECT_TRUE(lease().has_value());
}

TEST_F(Pools, WhatMayNotBeUsedAgainIsNot) {
  lease().value()->is_sound = false;
  EXPECT_EQ(number(), 2);
  lease().value()->is_disturbed = true;
  EXPECT_EQ(number(), 3);
  clock_.advance(30s);
  EXPECT_EQ(number(), 3);
  clock_.advance(31s);
  EXPECT_EQ(number(), 4);
}

TEST_F(Pools, WhatIsRetiredIsNotUsedAgainEvenIfItWasLentThen) {
  EXPECT_EQ(number(), 1);
  {
    const auto lent = lease().value();
    pool_.retire();
  }
  EXPECT_EQ(number(), 2);
  pool_.retire();
  EXPECT_EQ(number(), 3);
}

}  // namespace
}  // namespace once
