// Publishes messages, each confirmed by the broker. Safe to share between threads.
//
// A broker that is short of memory or disk stops reading from those who publish, and says so
// (connection.blocked). What was sent by then waits in the connection, and is stored when the alarm
// is over. So the connection is kept, nothing more is sent on it, and the message that waits in it
// is not sent again (docs/hazards.md#h45).
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "once/queue.h"
#include "queues/rabbitmq/connection.h"
#include "queues/rabbitmq/properties.h"

namespace once::rabbitmq {

class Publisher {
 public:
  // Each call takes no longer than `patience`, and that once more if it has to connect.
  explicit Publisher(Options options, Duration patience = std::chrono::seconds(10))
      : options_(std::move(options)), patience_(patience) {}

  // Returns when the broker has stored it in that queue. `unavailable` if it has not been sent,
  // `unknown` if it may be stored. Connects if needed.
  Result<void> publish(const std::string& queue, const Message& message);

  // The same of a dead letter. A delivery whose letter was not confirmed may be tried again: its
  // letter is sent once on a connection.
  Result<DeadLetter> publish_dead(const std::string& queue, const Message& message,
                                  const std::string& reason);

 private:
  using Instant = std::chrono::steady_clock::time_point;

  // A letter on its way.
  struct Outgoing {
    const std::string& queue;
    const Message& message;
    const Properties& properties;
  };
  enum class Confirmation : std::uint8_t { none, stored, no_queue, refused };
  struct Session {
    std::unique_ptr<Connection> connection;
    bool blocked = false;
    bool unconfirmed = false;  // One at most: nothing is sent before the last one is confirmed.
    std::string handle;        // Of the delivery that is unconfirmed.
    bool returned = false;
    Confirmation last = Confirmation::none;
  };

  Result<void> deliver(const Outgoing& letter);
  Result<void> try_once(const Outgoing& letter, Instant deadline) ONCE_REQUIRES(mutex_);
  Result<void> connect() ONCE_REQUIRES(mutex_);
  Result<void> send(const Outgoing& letter, Instant deadline) ONCE_REQUIRES(mutex_);
  Result<void> await_confirmation(Instant deadline) ONCE_REQUIRES(mutex_);
  Result<bool> read_frame(Duration within) ONCE_REQUIRES(mutex_);
  Result<void> heed(const amqp_frame_t& frame) ONCE_REQUIRES(mutex_);
  Result<void> take_returned() ONCE_REQUIRES(mutex_);
  void confirm(Confirmation how) ONCE_REQUIRES(mutex_);
  bool was_stored(const std::string& handle) ONCE_REQUIRES(mutex_);

  const Options options_;
  const Duration patience_;
  Mutex mutex_;
  Session session_ ONCE_GUARDED_BY(mutex_);
  std::deque<std::string> stored_
      ONCE_GUARDED_BY(mutex_);  // Confirmed after their caller had gone.
};

}  // namespace once::rabbitmq
