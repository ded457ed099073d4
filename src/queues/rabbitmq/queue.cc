#include "queues/rabbitmq/queue.h"

#include <utility>

#include "queues/rabbitmq/consumer.h"
#include "queues/rabbitmq/delivery_limit.h"
#include "queues/rabbitmq/publisher.h"

namespace once::rabbitmq {
namespace {

class RabbitQueue final : public Queue {
 public:
  explicit RabbitQueue(const Options& options)
      : options_(options), publisher_(options), consumer_(options) {}

  std::string name() const override {
    return std::string("amqp/").append(options_.vhost).append("/").append(options_.queue);
  }
  std::string describe() const override {
    return "RabbitMQ queue " + options_.queue + ", dead letters in " + options_.dead;
  }

  Result<std::vector<std::string>> warnings() override { return limit_warnings(options_); }

  // It forgets only what it is told to.
  Result<std::optional<Duration>> retention() override { return std::nullopt; }

  Result<std::optional<std::uint64_t>> depth() override {
    const Result<std::uint64_t> count = messages_in(options_, options_.queue);
    if (!count) return std::unexpected(count.error());
    return *count;
  }

  Result<std::vector<Message>> receive(std::size_t most, Duration) override {
    return consumer_.receive(most);
  }
  Result<void> ack(const Message& message) override { return consumer_.ack(message); }
  Result<void> give_back(const Message& message, Duration delay) override {
    return consumer_.give_back(message, delay);
  }

  // A message stays with its connection for as long as that lasts.
  Result<void> extend(const Message&, Duration) override { return {}; }

  Result<DeadLetter> dead_letter(const Message& message, const std::string& reason) override {
    return publisher_.publish_dead(options_.dead, message, reason);
  }

 private:
  const Options options_;
  Publisher publisher_;
  Consumer consumer_;
};

}  // namespace

Result<std::unique_ptr<Queue>> open(Options options) {
  if (options.dead.empty()) options.dead = options.queue + "-dead";
  for (const std::string& queue : {options.queue, options.dead}) {
    if (Result<void> ok = ensure_queue(options, queue); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  return std::make_unique<RabbitQueue>(options);
}

}  // namespace once::rabbitmq
