#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"
#include "testing/stores/server_cases.h"

namespace once::testing {
namespace {

// Single writes: DynamoDB Local acknowledges a transaction before it is on disk, and loses some
// when it is killed (8 of 458 in 14 kills, by a script that knows nothing of Once; of 583 puts,
// none).
TEST(DynamoDbRestart, NothingAcknowledgedIsLostAndNothingIsAppliedTwiceWhenItIsKilledUnderLoad) {
  ONCE_NEEDS_SERVER(DynamoDbLocal);
  shared_dynamodb();  // For the keys that clients need.
  DynamoDbLocal server(DynamoDbLocal::Data::on_disk);
  const DynamoDbOptions options = {.table = "restart",
                                   .region = "eu-west-1",
                                   .endpoint = server.url(),
                                   .timeout = std::chrono::seconds(20)};
  ASSERT_TRUE(create_dynamodb_table(options).has_value());
  RestartUnderLoad load([&] { return open_dynamodb(options).value(); },
                        RestartUnderLoad::Commits::of_one_write);
  const auto restart = [&] {
    server.kill();
    server.start();
  };
  load.run(restart, {.restarts = 2, .rounds = 4});
}

}  // namespace
}  // namespace once::testing
