// Whose clock decides when a lease is over.
#include "primitives/claims_fixture.h"
#include "testing/limited_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;

class ClaimClocks : public ClaimsFixture {
 protected:
  ClaimClocks() { limits_.clock_error = 2s; }

  Limits limits_ = memory_->limits();
};

TEST_F(ClaimClocks, H15_AClientWhoseClockIsFiveMinutesFastTakesNothingOver) {
  claimed("job", {.lease = 10s});
  testing::ManualClock fast(clock_.now() + 5min);
  Claims hasty(*faulty_, "default", fast, entropy_);
  as<Busy>(hasty.take("job", {}));
  clock_.advance(10s);
  EXPECT_EQ(as<Claimed>(hasty.take("job", {})).lease_until, clock_.now() + 30s);
}

TEST_F(ClaimClocks, H15_WhereClocksDisagreeALeaseIsTakenOverAfterItsEndByAsMuch) {
  testing::LimitedStore shared(*memory_, limits_);
  Claims claims(shared, "default", clock_, entropy_);
  const Claimed claim = as<Claimed>(claims.take("job", {.lease = 10s}));
  clock_.advance(12s - 1ms);
  EXPECT_EQ(as<Busy>(claims.take("job", {})).lease_until, claim.lease_until);
  clock_.advance(1ms);
  EXPECT_EQ(as<Claimed>(claims.take("job", {})).attempt, 2);
}

TEST_F(ClaimClocks, H15_ALeaseEndsToTheMillisecond) {
  claimed("job", {.lease = 10s});
  clock_.advance(10s - 1ms);
  as<Busy>(claims_.take("job", {}));
  clock_.advance(1ms);
  EXPECT_EQ(claimed("job").attempt, 2);
}

}  // namespace
}  // namespace once
