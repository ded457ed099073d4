// A queue in this process that is as bad as a real one: a message comes again unless it is
// acknowledged in time, and now and then an acknowledgement is lost.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "once/queue.h"

namespace screenshot_worker {

class QueueHere final : public once::Queue {
 public:
  explicit QueueHere(std::string name) : name_(std::move(name)) {}

  void send(std::string body) {
    const std::scoped_lock lock(mutex_);
    waiting_.emplace_back(std::to_string(++last_), std::move(body));
  }

  // Whether all messages were acknowledged for good in this time.
  bool empties_within(once::Duration time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return waiting_.empty(); });
  }
  std::size_t dead_letters() const {
    const std::scoped_lock lock(mutex_);
    return dead_;
  }

  std::string name() const override { return name_; }
  std::string describe() const override { return "a queue in this process"; }
  once::Result<std::optional<once::Duration>> retention() override { return std::nullopt; }

  once::Result<std::vector<once::Message>> receive(std::size_t most,
                                                   once::Duration hidden) override {
    constexpr auto kLook = std::chrono::milliseconds(20);  // For what is shown again by then.
    std::unique_lock lock(mutex_);
    std::vector<once::Message> taken = take(most, hidden);
    if (!taken.empty()) return taken;
    changed_.wait_for(lock, kLook);
    return take(most, hidden);
  }
  once::Result<void> ack(const once::Message& message) override {
    constexpr std::uint64_t kOneOf = 8;
    const std::scoped_lock lock(mutex_);
    if (++acks_ % kOneOf == 0) return {};  // Lost on the way.
    waiting_.remove_if([&](const Held& held) { return held.id == message.handle; });
    changed_.notify_all();
    return {};
  }
  once::Result<void> give_back(const once::Message& message, once::Duration delay) override {
    return show(message, delay);
  }
  once::Result<void> extend(const once::Message& message, once::Duration hidden) override {
    return show(message, hidden);
  }
  once::Result<void> dead_letter(const once::Message&, const std::string&) override {
    const std::scoped_lock lock(mutex_);
    ++dead_;
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Held(std::string its_id, std::string its_body)
        : id(std::move(its_id)), body(std::move(its_body)) {}

    std::string id;
    std::string body;
    Clock::time_point visible = Clock::now();
    std::int64_t deliveries = 0;
  };

  std::vector<once::Message> take(std::size_t most, once::Duration hidden) {
    std::vector<once::Message> taken;
    for (Held& held : waiting_) {
      if (held.visible > Clock::now() || taken.size() == most) continue;
      held.visible = Clock::now() + hidden;
      once::Message& message = taken.emplace_back();
      message.id = message.handle = held.id;
      message.body = held.body;
      message.deliveries = ++held.deliveries;
    }
    return taken;
  }
  once::Result<void> show(const once::Message& message, once::Duration after) {
    const std::scoped_lock lock(mutex_);
    for (Held& held : waiting_) {
      if (held.id == message.handle) held.visible = Clock::now() + after;
    }
    return {};
  }

  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Held> waiting_;
  std::size_t dead_ = 0;
  std::uint64_t acks_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace screenshot_worker
