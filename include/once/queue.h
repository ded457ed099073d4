// A queue of a broker that delivers each message at least once, as a worker sees it (once/work.h).
//
// A message that was received is hidden from others for a while and then comes again, unless it
// was acknowledged. What a driver cannot do at once it says as an error; losing an acknowledgement
// costs a repeated delivery and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "once/error.h"
#include "once/time.h"

namespace once {

struct Message {
  std::string id;  // As the broker or the sender names it; "" if nobody did.
  std::string body;
  std::string content_type;                                    // "" if the sender did not say.
  std::map<std::string, std::string, std::less<>> attributes;  // Or headers, as text.
  std::string group;            // Messages of one are handled in order; "" for none.
  std::int64_t deliveries = 1;  // This is how many, by the broker's count.
  std::string handle;           // The queue's own: which delivery this is.
};

// Safe to share between threads.
class Queue {
 public:
  Queue() = default;
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // The same for all who work on it, and for no other queue of the broker.
  virtual std::string name() const = 0;

  // One line for people: no secrets.
  virtual std::string describe() const = 0;

  // How long the broker keeps a message that nobody takes; nothing if it does not forget.
  virtual Result<std::optional<Duration>> retention() = 0;

  // Up to `most` messages, in the queue's order, each hidden from others for `hidden`. None if
  // there are none within a time that the queue sets, of some seconds.
  virtual Result<std::vector<Message>> receive(std::size_t most, Duration hidden) = 0;

  // The message is gone for good.
  virtual Result<void> ack(const Message& message) = 0;

  // It may come again after `delay`, or sooner where the broker cannot wait that long.
  virtual Result<void> give_back(const Message& message, Duration delay) = 0;

  // It stays hidden for `hidden` from now.
  virtual Result<void> extend(const Message& message, Duration hidden) = 0;

  // Back when the broker has a copy among the dead letters, with the reason. The message itself is
  // still to be acknowledged.
  virtual Result<void> dead_letter(const Message& message, const std::string& reason) = 0;
};

}  // namespace once
