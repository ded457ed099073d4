// Messages that are to come back later. One without a group then goes back to the broker. Those of
// a group stay here, together with all that arrive meanwhile, and come again from here in the order
// of their delivery: the broker would deliver later ones first.
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

  struct Due {
    std::vector<Number> back;    // To the broker.
    std::vector<Message> again;  // Counted as delivered once more.
  };
  Due take_due(Instant now);

  void clear();

 private:
  void open(const std::string& group, std::vector<Message>& into);

  std::map<std::pair<Instant, Number>, Message> held_;
  std::map<std::string, std::map<Number, Message>> waiting_;  // By the groups of those held.
  std::size_t behind_ = 0;                                    // In waiting_.
};

}  // namespace once::rabbitmq
