// A test that needs a server which may not be installed here.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace once::testing {

// Where CI=true, nothing may be left untested.
inline bool may_skip() {
  const char* const ci = std::getenv("CI");
  return ci == nullptr || std::string_view(ci) != "true";
}

}  // namespace once::testing

// In a test, SetUp or SetUpTestSuite: skips it if `Server` is not installed, or fails it in CI.
#define ONCE_NEEDS_SERVER(Server)                                \
  if (const auto missing_server = Server::missing()) {           \
    if (!::once::testing::may_skip()) FAIL() << *missing_server; \
    GTEST_SKIP() << *missing_server;                             \
  }                                                              \
  static_assert(true)
