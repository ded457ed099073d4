#include "testing/model/check_model.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>

#include "testing/model/comparison.h"

namespace once::testing {
namespace {

using rc::detail::configuration;

constexpr std::uint64_t kSeed = 2;

rc::detail::TestParams params_for(int cases) {
  rc::detail::TestParams params = configuration().testParams;
  const bool is_long = std::getenv("ONCE_LONG") != nullptr;
  params.maxSuccess = is_long ? 10 * cases : cases;
  if (!is_long && std::getenv("RC_PARAMS") == nullptr) params.seed = kSeed;
  return params;
}

std::string how_to_repeat(const rc::detail::TestResult& result, const std::string& id) {
  if (!result.is<rc::detail::FailureResult>()) return "";
  rc::detail::Configuration only;
  only.reproduce[id] = result.get<rc::detail::FailureResult>().reproduce;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return "Repeat with: RC_PARAMS='" + rc::detail::configToMinimalString(only) +
         "' store_model_test --gtest_filter=" + test->test_suite_name() + "." + test->name();
}

}  // namespace

void check_model(int cases, ManualClock& clock,
                 const std::function<std::shared_ptr<Store>()>& fresh) {
  const auto property = [&] {
    const std::vector<Command> commands = *any_commands();
    const std::shared_ptr<Store> store = fresh();
    Comparison comparison(*store, clock);
    for (const Command& command : commands) comparison.run(command);
  };
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test->test_suite_name()) + "/" + test->name();
  metadata.description = test->name();
  const rc::detail::TestResult result =
      rc::detail::checkTestable(property, metadata, params_for(cases));
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  FAIL() << message.str() << '\n' << how_to_repeat(result, metadata.id);
}

}  // namespace once::testing
