// Takes messages from a queue on a thread of its own, which owns the connection and reconnects when
// it is lost. Safe to share between threads.
//
// RabbitMQ has no delays: a message that is to come back later is held here, unacknowledged, and
// comes again from here when it is due. As many are held as are handled at once; if there are more,
// the one that is due next comes early, within a second. The messages of a group keep their order.
//
// A lost connection is opened again when messages are asked for. A worker that asks for none has
// no use for them now, and each delivery counts against the queue's limit.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "once/queue.h"
#include "queues/rabbitmq/connection.h"
#include "queues/rabbitmq/held.h"

namespace once::rabbitmq {

class Consumer {
 public:
  explicit Consumer(Options options);
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // `most` of the first call is the number of messages taken at once from then on.
  Result<std::vector<Message>> receive(std::size_t most);

  // `unavailable` for a message of a lost connection: the broker delivers it again.
  Result<void> ack(const Message& message);
  Result<void> give_back(const Message& message, Duration delay);

 private:
  using Instant = std::chrono::steady_clock::time_point;

  // Names a delivery on a connection.
  struct Tag {
    std::uint64_t connection = 0;
    std::uint64_t delivery = 0;
  };
  struct Order {
    enum class Kind : std::uint8_t { ack, give_back } kind;
    Tag tag;
  };

  static std::optional<Tag> tag_of(const Message& message);
  Result<void> put(Order order);
  void arrive(std::uint64_t delivery, Message message) ONCE_REQUIRES(mutex_);
  void close_group(const std::string& group) ONCE_REQUIRES(mutex_);
  void make_room() ONCE_REQUIRES(mutex_);

  // On the thread.
  void run();
  bool wait_until_wanted();
  Result<void> connect();
  Result<void> work();
  Result<void> carry_out(const std::deque<Order>& orders);
  Result<void> take_arrived();
  std::deque<Order> take_orders();
  void wait_for_more();
  void lose(const Error& error);
  bool pause();
  Message message_of(const amqp_envelope_t& envelope) const;

  const Options options_;
  const int wake_;                          // An eventfd.
  std::unique_ptr<Connection> connection_;  // The thread's.

  Mutex mutex_;
  std::condition_variable changed_;
  std::size_t at_once_ ONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t number_ ONCE_GUARDED_BY(mutex_) = 0;  // Of the connection.
  bool connected_ ONCE_GUARDED_BY(mutex_) = false;
  bool wanted_ ONCE_GUARDED_BY(mutex_) = false;  // Asked for since the connection was lost.
  std::size_t receiving_ ONCE_GUARDED_BY(mutex_) = 0;
  bool ending_ ONCE_GUARDED_BY(mutex_) = false;
  Error trouble_ ONCE_GUARDED_BY(mutex_){ErrorCode::unavailable, "rabbitmq: not connected yet"};
  std::deque<Message> arrived_ ONCE_GUARDED_BY(mutex_);
  std::deque<Order> orders_ ONCE_GUARDED_BY(mutex_);
  Held held_ ONCE_GUARDED_BY(mutex_);

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace once::rabbitmq
