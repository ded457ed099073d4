// The answers that a connection owes, in the order of its requests, and what of them may be sent.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "server/handler.h"
#include "server/wire.h"

namespace once::server {

class Outbox {
 public:
  using Id = std::uint64_t;
  using Instant = std::chrono::steady_clock::time_point;

  // What a request weighs until it is answered.
  struct Weight {
    std::size_t held = 0;      // About how many bytes it takes.
    std::size_t reserved = 0;  // Of `bodies`, which all connections share.
  };

  // Both must outlive it.
  Outbox(Clock& clock, std::atomic<std::size_t>& bodies) : clock_(clock), bodies_(bodies) {}
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  Id owe(const Framing& framing, Weight weight);
  void say(std::string_view bytes, bool goes_on = true);  // What is no answer.
  void drop(Id id);

  // Nothing happens to what is answered or dropped already.
  void settle(Id id, const api::Response& response);
  void begin(Id id, const api::Response& head, const Done::Rest& rest);
  void answer_by(Id id, Instant due, std::shared_ptr<Unanswered> unanswered);

  // Answers what should have been by now. Whether there was any.
  bool give_up(Instant now);

  // All that may be sent now, up to the first answer that is not ready.
  struct Ready {
    std::string bytes;
    bool is_last = false;  // The connection ends with it.
  };
  Ready take();
  void sent(std::size_t bytes) { unsent_ -= std::min(unsent_, bytes); }

  void leave();  // Nobody takes any more.

  bool empty() const { return owed_.empty(); }
  std::size_t size() const { return owed_.size(); }
  std::size_t bytes() const { return held_ + unsent_; }

 private:
  struct Owed {
    Id id = 0;
    Framing framing;
    bool ready = false;
    std::string bytes;
    Weight weight;
    Done::Rest rest = nullptr;  // Of its body, if it is sent as it comes,
    bool chunked = false;       // and how.
    Instant due = Instant::max();
    std::shared_ptr<Unanswered> unanswered = nullptr;
  };

  Owed* unready(Id id);
  void lighten(Owed& owed);
  bool take_pieces(Owed& owed, std::string& out);

  Clock& clock_;
  std::atomic<std::size_t>& bodies_;
  std::deque<Owed> owed_;
  Id last_id_ = 0;
  std::size_t held_ = 0;
  std::size_t unsent_ = 0;
};

}  // namespace once::server
