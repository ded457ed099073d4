// A queue of a broker that delivers each message at least once, as a worker sees it (once/work.h).
//
// A received message is hidden from others for a while and then comes again, unless it was
// acknowledged. A call that cannot be performed at once fails. A lost acknowledgement costs a
// repeated delivery and nothing else.
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
  std::string id;  // Given by the broker or the sender; "" if it has none.
  std::string body;
  std::string content_type;                                    // "" if the sender did not say.
  std::map<std::string, std::string, std::less<>> attributes;  // Or headers, as text.
  std::string group;            // Messages of one group are handled in order; "" for none.
  std::int64_t deliveries = 1;  // Including this one, by the broker's count.
  std::string handle;           // Names this delivery; for the queue alone.
  std::string original;         // All that came with the body, with its types; for the queue alone.
  std::optional<Time> sent;     // As the broker or the sender says; nothing if neither does.
};

// A message among the dead letters.
struct DeadLetter {
  bool has_reason = true;  // False if the broker had no room for it.
};

// Safe to share between threads.
class Queue {
 public:
  Queue() = default;
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // The same for all workers of this queue, and different from any other queue of the broker.
  virtual std::string name() const = 0;

  // One line for people: no secrets.
  virtual std::string describe() const = 0;

  // How messages may be lost as the queue is set up, as far as can be known; one line each, for
  // people.
  virtual Result<std::vector<std::string>> warnings() { return std::vector<std::string>(); }

  // How long the broker keeps a message that is not received; empty if for ever.
  virtual Result<std::optional<Duration>> retention() = 0;

  // About how many messages wait to be received; empty if the broker does not tell.
  virtual Result<std::optional<std::uint64_t>> depth() { return std::nullopt; }

  // Up to `most` messages, in the queue's order, each hidden from others for `hidden`. Waits for
  // some seconds, as the queue is set up; then the answer is empty.
  virtual Result<std::vector<Message>> receive(std::size_t most, Duration hidden) = 0;

  // Removes the message for good.
  virtual Result<void> ack(const Message& message) = 0;

  // Lets it come again after `delay`, or sooner if the broker cannot wait that long.
  virtual Result<void> give_back(const Message& message, Duration delay) = 0;

  // Keeps it hidden for `hidden` from now.
  virtual Result<void> extend(const Message& message, Duration hidden) = 0;

  // Returns when the broker has a copy among the dead letters, with the reason. The message itself
  // must still be acknowledged. Called again after an error: all copies of one delivery have the
  // same id.
  virtual Result<DeadLetter> dead_letter(const Message& message, const std::string& reason) = 0;
};

}  // namespace once
