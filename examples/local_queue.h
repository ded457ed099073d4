// A queue in this process with the manners of a broker: it delivers at least once. Messages are
// hidden while somebody is at them, come back unless they are acknowledged, and now and then an
// acknowledgement is lost.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "once/queue.h"
#include "once/time.h"

namespace examples {

class LocalQueue final : public once::Queue {
 public:
  // `clock` must outlive it. The seed is of what is lost.
  LocalQueue(std::string name, once::Clock& clock, std::uint32_t seed)
      : name_(std::move(name)), clock_(clock), random_(seed) {}

  void send(std::string event);  // A CloudEvent.

  // Whether nothing is left within so long.
  bool wait_until_empty(once::Duration within);

  std::size_t lost_acks() const;
  std::vector<once::Message> dead_letters() const;

  std::string name() const override { return name_; }
  std::string describe() const override { return "the queue " + name_ + " in this process"; }
  once::Result<std::optional<once::Duration>> retention() override { return std::nullopt; }
  once::Result<std::vector<once::Message>> receive(std::size_t most,
                                                   once::Duration hidden) override;
  once::Result<void> ack(const once::Message& message) override;
  once::Result<void> give_back(const once::Message& message, once::Duration delay) override;
  once::Result<void> extend(const once::Message& message, once::Duration hidden) override;
  once::Result<once::DeadLetter> dead_letter(const once::Message& message,
                                             const std::string& reason) override;

 private:
  struct Held {
    once::Message message;
    once::Time visible;  // From then on.
  };

  // Up to so many that can be seen now, and when the next one can.
  std::pair<std::vector<once::Message>, once::Time> take(std::size_t most, once::Duration hidden);

  // Shows it to others `after` from now. A message that is gone stays gone.
  once::Result<void> show(const once::Message& message, once::Duration after);

  const std::string name_;
  once::Clock& clock_;

  mutable std::mutex mutex_;  // Guards all that follows.
  std::condition_variable changed_;
  std::mt19937 random_;
  std::list<Held> held_;
  std::vector<once::Message> dead_;
  std::size_t sent_ = 0;
  std::size_t lost_acks_ = 0;
};

}  // namespace examples
