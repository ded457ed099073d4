// On ElasticMQ and DynamoDB Local.
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"
#include "testing/servers/sqs_queues.h"
#include "testing/work/crash.h"

namespace once::testing {
namespace {

class CrashOnSqsAndDynamoDb : public ::testing::TestWithParam<int> {};

TEST_P(CrashOnSqsAndDynamoDb, EveryEffectHappensExactlyOnceAndNoneIsLostOrStuck) {
  ONCE_NEEDS_SERVER(ElasticMq);
  ONCE_NEEDS_SERVER(DynamoDbLocal);
  const std::string name = "jobs-" + std::to_string(GetParam());
  const DynamoDbTable table;
  ElasticMq& server = shared_elasticmq();
  SqsSender sender(server.url());
  sender.make(name);
  std::vector<std::string> sent;
  CrashWorld world{.queue = "sqs://" + name + "?region=eu-west-1&wait=1&endpoint=" + server.url(),
                   .store = table.address(),
                   .send =
                       [&](const std::vector<std::string>& bodies) {
                         sent = bodies;
                         sender.send_all(name, bodies);
                       },
                   // This broker forgets all it has: a sender that does not know what became of its
                   // messages sends them again.
                   .restart_broker =
                       [&] {
                         server.kill();
                         server.start();
                         sender.make(name + "-dead");
                         sender.make(name);
                         sender.send_all(name, sent);
                       },
                   .is_empty = [&] { return sender.size(name) == 0; },
                   .dead_letters = [&] { return sender.receive(name + "-dead").size(); }};
  const bool whole = GetParam() == 5;
  const int messages = whole ? 1'000 : 100;
  if (!whole) world.restart_broker = nullptr;
  CrashTest(std::move(world), GetParam(), messages, 1).run();
}

INSTANTIATE_TEST_SUITE_P(Workers, CrashOnSqsAndDynamoDb, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace once::testing
