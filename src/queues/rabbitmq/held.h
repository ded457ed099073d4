// Messages that are to come back later. They stay here, unacknowledged, and come again from here:
// the broker would count each delivery, and may drop a message after some (docs/hazards.md#h34).
// All that arrive of their group meanwhile wait with them, and come in the order of their delivery.
//
// Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "once/queue.h"

namespace once::rabbitmq {

class Held {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  using Number = std::uint64_t;  // Of a delivery; they rise.

  void hold(Number number, Message message, Instant due);

  // True if messages of that group have to wait, too.
  bool closed(const std::string& group) const { return waiting_.contains(group); }
  void wait_with_its_group(Number number, Message message);

  std::size_t size() const { return held_.size() + behind_; }
  std::optional<Instant> next() const;

  // Makes the next one due by then. Something must be held.
  void hurry(Instant due);

  // Those that were held are counted as delivered once more.
  std::vector<Message> take_due(Instant now);

  void clear();

 private:
  void open(const std::string& group, std::vector<Message>& into);

  std::map<std::pair<Instant, Number>, Message> held_;
  std::map<std::string, std::map<Number, Message>> waiting_;  // By the groups of those held.
  std::size_t behind_ = 0;                                    // In waiting_.
};

}  // namespace once::rabbitmq
