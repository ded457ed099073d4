#include "local_queue.h"

#include <algorithm>

namespace examples {

using once::DeadLetter;
using once::Duration;
using once::Message;
using once::Result;
using once::Time;

void LocalQueue::send(std::string event) {
  const std::scoped_lock lock(mutex_);
  Message message;
  message.body = std::move(event);
  message.content_type = "application/cloudevents+json";
  message.id = message.handle = std::to_string(++sent_);
  message.deliveries = 0;
  held_.push_back({std::move(message), clock_.now()});
  changed_.notify_all();
}

bool LocalQueue::wait_until_empty(Duration within) {
  std::unique_lock lock(mutex_);
  const Time until = clock_.now() + within;
  while (!held_.empty() && clock_.now() < until) clock_.wait(changed_, lock, until);
  return held_.empty();
}

std::size_t LocalQueue::lost_acks() const {
  const std::scoped_lock lock(mutex_);
  return lost_acks_;
}
std::vector<Message> LocalQueue::dead_letters() const {
  const std::scoped_lock lock(mutex_);
  return dead_;
}

Result<std::vector<Message>> LocalQueue::receive(std::size_t most, Duration hidden) {
  constexpr Duration kLongest = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  const Time until = clock_.now() + kLongest;
  for (;;) {
    auto [taken, next] = take(most, hidden);
    if (!taken.empty() || clock_.now() >= until) return std::move(taken);
    clock_.wait(changed_, lock, std::min(next, until));
  }
}

std::pair<std::vector<Message>, Time> LocalQueue::take(std::size_t most, Duration hidden) {
  const Time now = clock_.now();
  std::vector<Message> taken;
  Time next = once::kNever;
  for (Held& held : held_) {
    if (held.visible <= now && taken.size() < most) {
      held.visible = now + hidden;
      ++held.message.deliveries;
      taken.push_back(held.message);
    }
    next = std::min(next, held.visible);
  }
  return {std::move(taken), next};
}

Result<void> LocalQueue::ack(const Message& message) {
  constexpr unsigned kOneOf = 5;
  {
    const std::scoped_lock lock(mutex_);
    if (random_() % kOneOf != 0) {
      held_.remove_if([&](const Held& held) { return held.message.handle == message.handle; });
      changed_.notify_all();
      return {};
    }
    ++lost_acks_;
  }
  return show(message, Duration::zero());  // The caller that acknowledged it will not learn of it.
}

Result<void> LocalQueue::give_back(const Message& message, Duration delay) {
  return show(message, delay);
}

Result<void> LocalQueue::extend(const Message& message, Duration hidden) {
  return show(message, hidden);
}

Result<DeadLetter> LocalQueue::dead_letter(const Message& message, const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  dead_.push_back(message);
  dead_.back().attributes["Once-Reason"] = reason;
  return DeadLetter{};
}

Result<void> LocalQueue::show(const Message& message, Duration after) {
  const std::scoped_lock lock(mutex_);
  for (Held& held : held_) {
    if (held.message.handle == message.handle) held.visible = clock_.now() + after;
  }
  changed_.notify_all();
  return {};
}

}  // namespace examples
