// On RabbitMQ and an embedded store behind a server; with ONCE_LONG on every store.
#include <future>

#include "queues/rabbitmq/publisher.h"
#include "testing/servers/rabbitmq.h"
#include "testing/work/crash.h"

namespace once::testing {
namespace {

class CrashOnRabbitMq : public ::testing::TestWithParam<CrashCase> {
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

  // By several at once, because the broker syncs its file for those that meet together.
  static void send(const std::string& queue, const std::vector<std::string>& bodies) {
    constexpr std::size_t kSenders = 8;
    std::vector<std::future<Result<void>>> senders;
    for (std::size_t first = 0; first < kSenders; ++first) {
      senders.push_back(std::async(std::launch::async, [&, first]() -> Result<void> {
        rabbitmq::Publisher publisher(broker(queue));
        Result<void> sent;
        for (std::size_t i = first; i < bodies.size() && sent; i += kSenders) {
          Message message;
          message.body = bodies[i];
          sent = publisher.publish(queue, message);
        }
        return sent;
      }));
    }
    for (auto& sender : senders) {
      const Result<void> sent = sender.get();
      ASSERT_TRUE(sent.has_value()) << sent.error().message;
    }
  }
};

TEST_P(CrashOnRabbitMq, EveryEffectHappensExactlyOnceAndNoneIsLostOrStuck) {
  ONCE_NEEDS_SERVER(RabbitMq);
  ONCE_NEEDS_STORE(std::get<0>(GetParam()));
  static int count = 0;
  const std::string name = "jobs-" + std::to_string(++count);
  RabbitMq& server = shared_rabbitmq();
  ASSERT_TRUE(rabbitmq::ensure_queue(broker(name), name).has_value());
  CrashWorld world{.queue = server.address(name),
                   .send = [&](const auto& bodies) { send(name, bodies); },
                   .restart_broker =
                       [&] {
                         server.kill();
                         server.start();
                       },
                   .is_empty = [&] { return waiting(name) == 0U; },
                   .dead_letters = [&] { return waiting(name + "-dead").value_or(1); }};
  CrashTest(std::move(world), GetParam()).run();
}

INSTANTIATE_TEST_SUITE_P(StoresAndWorkers, CrashOnRabbitMq,
                         ::testing::Combine(::testing::ValuesIn(stores_to_try("server")),
                                            ::testing::Values(1, 2, 5)),
                         name_of_case);

}  // namespace
}  // namespace once::testing
