// Properties that RapidCheck tries on many generated values. Built with rapidcheck.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace once::testing {

// Fails the running test with the smallest counterexample that was found. The same values each
// time, unless RC_PARAMS or ONCE_LONG says otherwise; ONCE_LONG also tries ten times as many.
template <class Property>
void check_property(int cases, Property property) {
  constexpr std::uint64_t kSeed = 2;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  const bool is_long = std::getenv("ONCE_LONG") != nullptr;
  params.maxSuccess = is_long ? 10 * cases : cases;
  if (!is_long && std::getenv("RC_PARAMS") == nullptr) params.seed = kSeed;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test->test_suite_name()) + "/" + test->name();
  metadata.description = test->name();
  const rc::detail::TestResult result = rc::detail::checkTestable(property, metadata, params);
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  if (result.is<rc::detail::FailureResult>()) {
    rc::detail::Configuration only;
    only.reproduce[metadata.id] = result.get<rc::detail::FailureResult>().reproduce;
    message << "\nRepeat with: RC_PARAMS='" << rc::detail::configToMinimalString(only)
            << "' and --gtest_filter=" << test->test_suite_name() << "." << test->name();
  }
  FAIL() << message.str();
}

}  // namespace once::testing
