// On RabbitMQ and an embedded store behind a server.
#include "queues/rabbitmq/publisher.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/rabbitmq.h"
#include "testing/work/crash.h"

namespace once::testing {
namespace {

class CrashOnRabbitMqAndAServer : public ::testing::TestWithParam<int> {
 protected:
  static rabbitmq::Options broker(const std::string& queue) {
    return {.host = "127.0.0.1", .port = shared_rabbitmq().port(), .queue = queue};
  }

  // Of those that nobody has: who is at one has it unacknowledged until it ends.
  static std::optional<std::size_t> waiting(const std::string& queue) {
    const auto connection = rabbitmq::Connection::open(broker(queue));
    if (!connection) return std::nullopt;
    const auto* const found =
        amqp_queue_declare((*connection)->state(), rabbitmq::kChannel, rabbitmq::bytes_of(queue), 1,
                           1, 0, 0, amqp_empty_table);
    return found != nullptr ? std::optional<std::size_t>(found->message_count) : std::nullopt;
  }
};

TEST_P(CrashOnRabbitMqAndAServer, EveryEffectHappensExactlyOnceAndNoneIsLostOrStuck) {
  ONCE_NEEDS_SERVER(RabbitMq);
  const std::string name = "jobs-" + std::to_string(GetParam());
  const TempDir dir;
  const ServerProcess store((dir.path() / "store").string());
  RabbitMq& server = shared_rabbitmq();
  ASSERT_TRUE(rabbitmq::ensure_queue(broker(name), name).has_value());
  rabbitmq::Publisher publisher(broker(name));
  CrashWorld world{.queue = server.address(name),
                   .store = store.url(),
                   .send =
                       [&](const std::vector<std::string>& bodies) {
                         for (const std::string& body : bodies) {
                           Message message;
                           message.body = body;
                           const Result<void> sent = publisher.publish(name, message);
                           ASSERT_TRUE(sent.has_value()) << sent.error().message;
                         }
                       },
                   .restart_broker =
                       [&] {
                         server.kill();
                         server.start();
                       },
                   .is_empty = [&] { return waiting(name) == 0U; },
                   .dead_letters = [&] { return waiting(name + "-dead").value_or(1); }};
  const bool whole = GetParam() == 5;
  const int messages = whole ? 1'000 : 100;
  if (!whole) world.restart_broker = nullptr;
  CrashTest(std::move(world), GetParam(), messages, 1).run();
}

INSTANTIATE_TEST_SUITE_P(Workers, CrashOnRabbitMqAndAServer, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace once::testing
