// A queue as those designs have it: at least once, hidden from others while a consumer works.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "testing/simulator/simulation.h"

namespace once::testing {

class SimulatedQueue {
 public:
  SimulatedQueue(Simulation& simulation, int messages) : simulation_(simulation) {
    for (int i = 0; i < messages; ++i) messages_.push_back({"job-" + std::to_string(i), {}, false});
  }

  // A visible message, hidden for `visibility` from now on; nothing if none is visible now.
  std::optional<std::string> receive(Duration visibility) {
    const Time now = simulation_.clock().now();
    for (Message& message : messages_) {
      if (message.deleted || message.hidden_until > now) continue;
      message.hidden_until = later(now, visibility);
      return message.id;
    }
    return std::nullopt;
  }

  void remove(const std::string& id) {
    for (Message& message : messages_) message.deleted |= message.id == id;
  }

  bool empty() const {
    for (const Message& message : messages_) {
      if (!message.deleted) return false;
    }
    return true;
  }

 private:
  struct Message {
    std::string id;
    Time hidden_until;
    bool deleted;
  };

  Simulation& simulation_;
  std::vector<Message> messages_;
};

}  // namespace once::testing
