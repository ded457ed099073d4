// Claims on a store with faults (testing/store_under_test.h).
#pragma once

#include "once/claims.h"
#include "once/local.h"
#include "testing/store_under_test.h"

namespace once {

using testing::as;

class ClaimsFixture : public testing::FaultyStoreTest {
 protected:
  ClaimsFixture() { know_secret(); }

  Claimed claimed(std::string_view name, const ClaimRequest& request = {}) {
    const Result<ClaimOutcome> outcome = claims_.take(name, request);
    EXPECT_TRUE(outcome && std::holds_alternative<Claimed>(*outcome)) << name;
    return std::get<Claimed>(outcome.value());
  }

  LocalClaims claims_{*faulty_, "default", clock_, entropy_};
};

}  // namespace once
