// A queue in this process that hides and shows messages as brokers do, by a clock that tests move.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "once/queue.h"

namespace once::testing {

class TestQueue final : public Queue {
 public:
  struct Dead {
    Message message;
    std::string reason;
  };

  explicit TestQueue(Clock& clock) : clock_(clock) {}

  // Two messages with one id are what a sender's retry leaves.
  void send(Message message) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({std::move(message), clock_.now(), 0, ++last_});
    }
    changed_.notify_all();
  }
  void send(std::string id, std::string body = "", std::string group = "") {
    Message message;
    message.id = std::move(id);
    message.body = std::move(body);
    message.group = std::move(group);
    send(std::move(message));
  }

  std::string name() const override { return "test"; }
  std::string describe() const override { return "a queue for tests"; }
  Result<std::optional<Duration>> retention() override { return std::nullopt; }

  Result<std::vector<Message>> receive(std::size_t most, Duration hidden) override {
    std::unique_lock lock(mutex_);
    ++receives_;
    if (down_ > 0) {
      --down_;
      return failure(refusal_, "the broker is down");
    }
    changed_.wait_for(lock, std::chrono::milliseconds(5));
    std::vector<Message> taken;
    for (Held& held : waiting_) {
      if (held.visible > clock_.now() || taken.size() == most) continue;
      held.visible = clock_.now() + hidden;
      held.message.deliveries = ++held.deliveries;
      held.message.handle = std::to_string(held.number);
      taken.push_back(held.message);
    }
    return taken;
  }
  Result<void> ack(const Message& message) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.remove_if([&](const Held& held) { return is(held, message); });
      if (waiting_.empty()) changed_.notify_all();
    }
    return {};
  }
  Result<void> give_back(const Message& message, Duration delay) override {
    return show(message, delay, delays_);
  }
  Result<void> extend(const Message& message, Duration hidden) override {
    return show(message, hidden, extensions_);
  }
  Result<DeadLetter> dead_letter(const Message& message, const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    if (no_dead_) return failure(ErrorCode::unavailable, "no dead letters now");
    dead_.push_back({message, has_room_ ? reason : ""});
    return DeadLetter{.has_reason = has_room_};
  }

  void be_down(int times, ErrorCode refusal = ErrorCode::unavailable) {
    const std::lock_guard lock(mutex_);
    down_ = times;
    refusal_ = refusal;
  }
  void refuse_dead(bool refuse) {
    const std::lock_guard lock(mutex_);
    no_dead_ = refuse;
  }
  void have_no_room_for_reasons() {
    const std::lock_guard lock(mutex_);
    has_room_ = false;
  }
  template <class Read>
  auto locked(Read read) const {
    const std::lock_guard lock(mutex_);
    return read();
  }
  int receives() const {
    return locked([&] { return receives_; });
  }
  std::size_t size() const {
    return locked([&] { return waiting_.size(); });
  }
  std::vector<Dead> dead() const {
    return locked([&] { return dead_; });
  }
  std::vector<Duration> delays() const {
    return locked([&] { return delays_; });
  }
  std::vector<Duration> extensions() const {
    return locked([&] { return extensions_; });
  }

 private:
  struct Held {
    Message message;
    Time visible;
    std::int64_t deliveries;
    int number;
  };

  static bool is(const Held& held, const Message& message) {
    return std::to_string(held.number) == message.handle;
  }
  Result<void> show(const Message& message, Duration after, std::vector<Duration>& log) {
    const std::lock_guard lock(mutex_);
    log.push_back(after);
    for (Held& held : waiting_) {
      if (is(held, message)) held.visible = clock_.now() + after;
    }
    return {};
  }

  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Held> waiting_;
  std::vector<Dead> dead_;
  std::vector<Duration> delays_;
  std::vector<Duration> extensions_;
  int last_ = 0;
  int receives_ = 0;
  int down_ = 0;
  ErrorCode refusal_ = ErrorCode::unavailable;
  bool no_dead_ = false;
  bool has_room_ = true;
};

}  // namespace once::testing
