// Queues of one RabbitMQ, and what senders and operators do with them.
#pragma once

#include <array>
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
  // With a delivery limit, if one is given: the broker drops what was delivered more often.
  explicit RabbitMqQueue(std::optional<int> delivery_limit = std::nullopt) {
    static int count = 0;
    name_ = "jobs-" + std::to_string(++count);
    const Result<void> made =
        delivery_limit ? make_limited(*delivery_limit) : rabbitmq::ensure_queue(options(), name_);
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

  Result<void> make_limited(int limit) const {
    const auto connection = rabbitmq::Connection::open(options());
    if (!connection) return std::unexpected(connection.error());
    std::array<amqp_table_entry_t, 2> entries{};
    entries[0].key = amqp_cstring_bytes("x-queue-type");
    entries[0].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[0].value.value.bytes = amqp_cstring_bytes("quorum");
    entries[1].key = amqp_cstring_bytes("x-delivery-limit");
    entries[1].value.kind = AMQP_FIELD_KIND_I32;
    entries[1].value.value.i32 = limit;
    const amqp_table_t arguments{.num_entries = 2, .entries = entries.data()};
    (void)amqp_queue_declare((*connection)->state(), rabbitmq::kChannel, rabbitmq::bytes_of(name_),
                             0, 1, 0, 0, arguments);
    return (*connection)->reply();
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
