#include "local_queue.h"

namespace event_builder {

using once::Duration;
using once::Message;
using once::Result;

void LocalQueue::send(std::string body) {
  const std::lock_guard lock(mutex_);
  Message message;
  message.body = std::move(body);
  message.content_type = "application/cloudevents+json";
  message.handle = std::to_string(++sent_);
  message.deliveries = 0;
  held_.push_back({std::move(message), clock_.now()});
  changed_.notify_all();
}

bool LocalQueue::wait_until_empty(Duration within) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, within, [this] { return held_.empty(); });
}

std::size_t LocalQueue::deliveries() const {
  const std::lock_guard lock(mutex_);
  return deliveries_;
}
std::size_t LocalQueue::lost_acks() const {
  const std::lock_guard lock(mutex_);
  return lost_acks_;
}
std::vector<Message> LocalQueue::dead_letters() const {
  const std::lock_guard lock(mutex_);
  return dead_;
}

Result<std::vector<Message>> LocalQueue::receive(std::size_t most, Duration hidden) {
  constexpr auto kLook =
      std::chrono::milliseconds(10);  // What is hidden tells nobody when it ends.
  std::unique_lock lock(mutex_);
  std::vector<Message> taken;
  for (int looks = 0; looks < 10 && taken.empty(); ++looks) {
    if (looks > 0) changed_.wait_for(lock, kLook);
    for (Held& held : held_) {
      if (taken.size() == most) break;
      if (held.visible > clock_.now()) continue;
      held.visible = clock_.now() + hidden;
      ++held.message.deliveries;
      ++deliveries_;
      taken.push_back(held.message);
    }
  }
  return taken;
}

Result<void> LocalQueue::ack(const Message& message) {
  {
    const std::lock_guard lock(mutex_);
    if (random_() % 5 != 0) {
      held_.remove_if([&](const Held& held) { return held.message.handle == message.handle; });
      changed_.notify_all();
      return {};
    }
    ++lost_acks_;
  }
  show(message, Duration::zero());  // Whoever acknowledged it will never know.
  return {};
}

Result<void> LocalQueue::give_back(const Message& message, Duration delay) {
  show(message, delay);
  return {};
}

Result<void> LocalQueue::extend(const Message& message, Duration hidden) {
  show(message, hidden);
  return {};
}

Result<void> LocalQueue::dead_letter(const Message& message, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  dead_.push_back(message);
  dead_.back().attributes["Once-Reason"] = reason;
  return {};
}

void LocalQueue::show(const Message& message, Duration after) {
  const std::lock_guard lock(mutex_);
  for (Held& held : held_) {
    if (held.message.handle == message.handle) held.visible = clock_.now() + after;
  }
  changed_.notify_all();
}

}  // namespace event_builder
