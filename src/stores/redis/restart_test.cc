#include "stores/redis/store_fixture.h"
#include "testing/stores/server_cases.h"

namespace once::testing {
namespace {

using RedisRestart = RedisTest;

TEST_F(RedisRestart, NothingAcknowledgedIsLostAndNothingIsAppliedTwiceWhenItIsKilledUnderLoad) {
  RestartUnderLoad load([&] { return open(); });
  const auto restart = [&] {
    server_->kill();
    server_->start();
  };
  load.run(restart, {.restarts = 3, .rounds = 20});
}

}  // namespace
}  // namespace once::testing
