// Claims on a memory store behind a meter and a fault injector, with a clock that tests move.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "once/claims.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/manual_clock.h"
#include "testing/store_under_test.h"

namespace once {

class ClaimsFixture : public ::testing::Test {
 protected:
  // Store calls of any kind since the last time.
  std::uint64_t calls() {
    const StoreMetrics now = metered_->snapshot();
    const std::uint64_t total =
        now.get.calls + now.scan.calls + now.list.calls + now.commit.calls + now.commit_each.calls;
    return total - std::exchange(calls_, total);
  }

  Claimed claimed(std::string_view name, const ClaimRequest& request = {}) {
    const Result<ClaimOutcome> outcome = claims_.take(name, request);
    EXPECT_TRUE(outcome && std::holds_alternative<Claimed>(*outcome)) << name;
    return std::get<Claimed>(outcome.value());
  }

  void meet(std::initializer_list<Fault> faults) { faulty_->script(std::vector<Fault>(faults)); }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<Store> memory_ = testing::store_under_test(clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);
  LocalClaims claims_{*faulty_, "default", clock_, entropy_};
  std::uint64_t calls_ = 0;
};

// The outcome as the kind that the test expects.
template <class T, class V>
T as(const Result<V>& outcome) {
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<T>(*outcome));
  return std::get<T>(*outcome);
}

}  // namespace once
