// On ElasticMQ and DynamoDB Local; with ONCE_LONG on every store.
#include "testing/servers/sqs_queues.h"
#include "testing/work/crash.h"

namespace once::testing {
namespace {

class CrashOnSqs : public ::testing::TestWithParam<CrashCase> {};

TEST_P(CrashOnSqs, EveryEffectHappensExactlyOnceAndNoneIsLostOrStuck) {
  ONCE_NEEDS_SERVER(ElasticMq);
  ONCE_NEEDS_SERVER_OF(harness_of(std::get<0>(GetParam())));
  static int count = 0;
  const std::string name = "jobs-" + std::to_string(++count);
  ElasticMq& server = shared_elasticmq();
  SqsSender sender(server.url());
  sender.make(name);
  std::vector<std::string> sent;
  CrashWorld world{.queue = "sqs://" + name + "?region=eu-west-1&wait=1&endpoint=" + server.url(),
                   .send =
                       [&](const std::vector<std::string>& bodies) {
                         sent = bodies;
                         sender.send_all(name, bodies);
                       },
                   // This broker forgets all it has: a sender that does not know the outcome of its
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
  CrashTest(std::move(world), GetParam()).run();
}

INSTANTIATE_TEST_SUITE_P(StoresAndWorkers, CrashOnSqs,
                         ::testing::Combine(::testing::ValuesIn(stores_to_try("dynamodb")),
                                            ::testing::Values(1, 2, 5)),
                         name_of_case);

}  // namespace
}  // namespace once::testing
