// Queues of one RabbitMQ, and what senders and operators do with them.
#pragma once

#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "queues/rabbitmq/publisher.h"
#include "testing/servers/rabbitmq.h"

namespace once::testing {

// A new queue of the broker that the program shares.
class RabbitMqQueue {
 public:
  RabbitMqQueue() {
    static int count = 0;
    name_ = "jobs-" + std::to_string(++count);
    const Result<void> made = rabbitmq::ensure_queue(options(), name_);
    if (!made) throw std::runtime_error(made.error().message);
  }

  std::string address() const { return shared_rabbitmq().address(name_); }
  std::string dead_address() const { return address() + "-dead"; }

  // By several at once, because the broker syncs its file for those that meet together: they are in
  // the queue in any order.
  void send_all(const std::vector<Message>& messages) const {
    constexpr std::size_t kSenders = 8;
    std::vector<std::future<Result<void>>> senders;
    for (std::size_t first = 0; first < kSenders; ++first) {
      senders.push_back(std::async(std::launch::async, [&, first]() -> Result<void> {
        rabbitmq::Publisher publisher(options());
        Result<void> sent;
        for (std::size_t i = first; i < messages.size() && sent; i += kSenders) {
          sent = publisher.publish(name_, messages[i]);
        }
        return sent;
      }));
    }
    for (auto& sender : senders) {
      const Result<void> sent = sender.get();
      if (!sent) throw std::runtime_error(sent.error().message);
    }
  }

  void send_in_order(const std::vector<Message>& messages) const {
    rabbitmq::Publisher publisher(options());
    for (const Message& message : messages) {
      const Result<void> sent = publisher.publish(name_, message);
      if (!sent) throw std::runtime_error(sent.error().message);
    }
  }

  // Of those that nobody has: who is at one has it unacknowledged until it ends. Nothing if the
  // broker does not answer.
  std::optional<std::size_t> waiting() const { return waiting_in(name_); }
  std::optional<std::size_t> dead_letters() const { return waiting_in(name_ + "-dead"); }

 private:
  static rabbitmq::Options options() {
    return {.host = "127.0.0.1", .port = shared_rabbitmq().port()};
  }

  static std::optional<std::size_t> waiting_in(const std::string& queue) {
    const auto connection = rabbitmq::Connection::open(options());
    if (!connection) return std::nullopt;
    const auto* const found =
        amqp_queue_declare((*connection)->state(), rabbitmq::kChannel, rabbitmq::bytes_of(queue), 1,
                           1, 0, 0, amqp_empty_table);
    return found != nullptr ? std::optional<std::size_t>(found->message_count) : std::nullopt;
  }

  std::string name_;
};

}  // namespace once::testing
