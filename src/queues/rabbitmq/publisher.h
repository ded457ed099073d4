// Publishes messages, each confirmed by the broker. Safe to share between threads.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "once/queue.h"
#include "queues/rabbitmq/connection.h"

namespace once::rabbitmq {

class Publisher {
 public:
  explicit Publisher(Options options) : options_(std::move(options)) {}

  // Returns when the broker has stored it in that queue. `unknown` if it may have. Connects if
  // needed.
  Result<void> publish(const std::string& queue, const Message& message);

 private:
  Result<void> connect() ONCE_REQUIRES(mutex_);
  Result<void> send(const std::string& queue, const Message& message) ONCE_REQUIRES(mutex_);
  Result<void> confirmed() ONCE_REQUIRES(mutex_);

  const Options options_;
  Mutex mutex_;
  std::unique_ptr<Connection> connection_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::rabbitmq
