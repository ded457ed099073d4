// The answers that a connection owes, in the order of its requests, and which of them may be sent.
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

  // Memory that a request takes until it is answered.
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
  void say(std::string_view bytes, bool goes_on = true);  // Bytes that are no answer.
  void drop(Id id);

  // No effect on an answer that is settled or dropped already.
  void settle(Id id, const api::Response& response);
  void begin(Id id, const api::Response& head, const ReplyCallback::Body& body);
  void answer_by(Id id, Instant due, std::shared_ptr<PendingReply> pending);

  // Gives the timeout answer to each that is overdue. True if there was any.
  bool time_out(Instant now);

  // Everything that may be sent now, up to the first answer that is not ready.
  struct Ready {
    std::string bytes;
    bool is_last = false;  // The connection ends with it.
  };
  Ready take();
  void sent(std::size_t bytes) { unsent_ -= std::min(unsent_, bytes); }

  void cancel();  // The peer is gone: nothing more is sent.

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
    ReplyCallback::Body body = nullptr;  // If the body is streamed.
    bool chunked = false;                // How it is streamed.
    Instant due = Instant::max();
    std::shared_ptr<PendingReply> pending = nullptr;
  };

  Owed* unready(Id id);
  void lighten(Owed& owed);
  bool take_body(Owed& owed, std::string& out);

  Clock& clock_;
  std::atomic<std::size_t>& bodies_;
  std::deque<Owed> owed_;
  Id last_id_ = 0;
  std::size_t held_ = 0;
  std::size_t unsent_ = 0;
};

}  // namespace once::server
