// On RabbitMQ and an embedded store behind a server; with ONCE_LONG on every store.
#include "testing/servers/rabbitmq_queues.h"
#include "testing/work/crash.h"

namespace once::testing {
namespace {

class CrashOnRabbitMq : public ::testing::TestWithParam<CrashCase> {};

TEST_P(CrashOnRabbitMq, EveryEffectHappensExactlyOnceAndNoneIsLostOrStuck) {
  ONCE_NEEDS_SERVER(RabbitMq);
  ONCE_NEEDS_SERVER_OF(harness_of(std::get<0>(GetParam())));
  const RabbitMqQueue queue;
  CrashWorld world{.queue = queue.address(),
                   .send =
                       [&](const std::vector<std::string>& bodies) {
                         std::vector<Message> messages(bodies.size());
                         for (std::size_t i = 0; i < bodies.size(); ++i)
                           messages[i].body = bodies[i];
                         queue.send_all(messages);
                       },
                   .restart_broker =
                       [] {
                         shared_rabbitmq().kill();
                         shared_rabbitmq().start();
                       },
                   .is_empty = [&] { return queue.waiting() == 0U; },
                   .dead_letters = [&] { return queue.dead_letters().value_or(1); }};
  CrashTest(std::move(world), GetParam()).run();
}

INSTANTIATE_TEST_SUITE_P(StoresAndWorkers, CrashOnRabbitMq,
                         ::testing::Combine(::testing::ValuesIn(stores_to_try("server")),
                                            ::testing::Values(1, 2, 5)),
                         name_of_case);

}  // namespace
}  // namespace once::testing
