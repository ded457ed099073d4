// For programs whose tests run on the store that $ONCE_TEST_STORE names.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "testing/servers/needs.h"
#include "testing/stores/stores.h"

// In a test or SetUp: skips it if the harness's server is not installed, or fails it in CI.
#define ONCE_NEEDS_SERVER_OF(harness)                                                            \
  if (const auto missing_server = (harness).has_server() ? (harness).missing() : std::nullopt) { \
    if (!::once::testing::may_skip()) FAIL() << *missing_server;                                 \
    GTEST_SKIP() << *missing_server;                                                             \
  }                                                                                              \
  static_assert(true)

namespace once::testing {

class NeedsChosenServer final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("ONCE_TEST_STORE") != nullptr) ONCE_NEEDS_SERVER_OF(chosen_harness({}));
  }
};

inline const ::testing::Environment* const kNeedsChosenServer =
    ::testing::AddGlobalTestEnvironment(new NeedsChosenServer);

}  // namespace once::testing
