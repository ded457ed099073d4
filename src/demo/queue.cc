#include "demo/queue.h"

namespace once::demo {

Queue::Queue(std::size_t count, Length visibility) : count_(count), visibility_(visibility) {}

void Queue::forget(Places::iterator place) {
  by_time_.erase({place->second.due, place->first});
  places_.erase(place);
}

std::optional<std::size_t> Queue::take(Moment now) {
  std::size_t number = fresh_;
  if (!by_time_.empty() && by_time_.begin()->first <= now) {
    number = by_time_.begin()->second;
    const auto place = places_.find(number);
    if (place->second.in_flight) ++timed_out_;
    forget(place);
  } else if (fresh_ < count_) {
    ++fresh_;
  } else {
    return std::nullopt;
  }
  ++handed_out_;
  places_.emplace(number, Place{now + visibility_, true});
  by_time_.emplace(now + visibility_, number);
  return number;
}

void Queue::acknowledge(std::size_t number) {
  const auto place = places_.find(number);
  if (place == places_.end()) return;
  forget(place);
  ++acknowledged_;
}

void Queue::put_back(std::size_t number, Moment when) {
  const auto place = places_.find(number);
  if (place == places_.end()) return;
  forget(place);
  places_.emplace(number, Place{when, false});
  by_time_.emplace(when, number);
}

std::optional<Queue::Moment> Queue::due() const {
  if (fresh_ < count_) return Moment();
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

}  // namespace once::demo
