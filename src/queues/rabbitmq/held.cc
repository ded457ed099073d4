#include "queues/rabbitmq/held.h"

#include <algorithm>

namespace once::rabbitmq {

void Held::hold(Number number, Message message, Instant due) {
  if (!message.group.empty()) waiting_[message.group];
  held_.emplace(std::pair(due, number), std::move(message));
}

void Held::wait_with_its_group(Number number, Message message) {
  ++behind_;
  auto& group = waiting_[message.group];
  group.emplace(number, std::move(message));
}

std::optional<Held::Instant> Held::next() const {
  if (held_.empty()) return std::nullopt;
  return held_.begin()->first.first;
}

void Held::hurry(Instant due) {
  auto soonest = held_.extract(held_.begin());
  soonest.key().first = std::min(soonest.key().first, due);
  held_.insert(std::move(soonest));
}

std::vector<Message> Held::take_due(Instant now) {
  std::vector<Message> again;
  while (!held_.empty() && held_.begin()->first.first <= now) {
    const std::string group = held_.begin()->second.group;
    if (!group.empty()) {
      open(group, again);
      continue;
    }
    again.push_back(std::move(held_.extract(held_.begin()).mapped()));
    ++again.back().deliveries;
  }
  return again;
}

void Held::open(const std::string& group, std::vector<Message>& into) {
  std::map<Number, Message> all = std::move(waiting_.extract(group).mapped());
  behind_ -= all.size();
  for (auto at = held_.begin(); at != held_.end();) {
    if (at->second.group != group) {
      ++at;
      continue;
    }
    ++at->second.deliveries;
    all.emplace(at->first.second, std::move(at->second));
    at = held_.erase(at);
  }
  for (auto& [number, message] : all) into.push_back(std::move(message));
}

void Held::clear() {
  held_.clear();
  waiting_.clear();
  behind_ = 0;
}

}  // namespace once::rabbitmq
