// The answers that a connection owes, in the order of its requests, and which of them may be sent.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "server/budget.h"
#include "server/handler.h"
#include "server/wire.h"

namespace once::server {

// How long answers are is known only when they are there. So a connection learns what to expect of
// each kind: the answer to a POST is usually short, and one to a read may be long.
enum class AnswerKind : std::uint8_t { to_post, to_read, to_other };

// Takes the room for an answer that is on its way to its connection. If there is none, the answer
// becomes a short one that says so.
void charge_on_its_way(Charge& charge, AnswerKind kind, api::Response& response);

class Outbox {
 public:
  using Id = std::uint64_t;
  using Instant = std::chrono::steady_clock::time_point;

  // What a request takes until it is answered.
  struct Weight {
    std::size_t request_bytes = 0;
    AnswerKind answer = AnswerKind::to_post;
    Charge body;  // If it is large.
  };

  // Both must outlive it. `answers` is what all connections may owe together.
  Outbox(Clock& clock, Budget& answers)
      : clock_(clock), answers_(answers), unsent_charge_(answers) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  Id owe(const Framing& framing, Weight weight);
  void drop(Id id);

  // Bytes that are no answer. False if that is more than all connections, or those of this tenant,
  // may owe.
  bool say(std::string_view bytes, bool goes_on = true);

  // Whose answers these are from now on.
  void belongs_to(const std::shared_ptr<api::Tenant>& tenant) { unsent_charge_.move_to(tenant); }

  // No effect on an answer that is settled or dropped already. A long answer that would be more
  // than all connections, or those of this tenant, may owe is replaced by a short one that says so.
  void settle(Id id, api::Response response);
  void begin(Id id, const api::Response& head, const ReplyCallback::Body& body);
  void answer_by(Id id, Instant due, std::shared_ptr<PendingReply> pending);

  // Gives the timeout answer to each that is overdue. True if there was any.
  bool time_out(Instant now);

  // What may be sent now, up to the first answer that is not ready. A long body comes alone.
  struct Ready {
    std::string bytes;
    bool is_last = false;  // The connection ends with it.
  };
  Ready take();
  void sent(std::size_t bytes) {
    unsent_ -= std::min(unsent_, bytes);
    unsent_charge_.count(charge_for(unsent_));
  }

  void cancel();  // The peer is gone: nothing more is sent.

  bool awaits(Id id) { return unready(id) != nullptr; }
  bool empty() const { return owed_.empty(); }
  std::size_t size() const { return owed_.size(); }

  // What is owed, as far as it is known, and otherwise as it is expected.
  std::size_t bytes() const { return expected_bytes_ + unsent_; }

  // Whether another request may start before those before it are answered and their answers sent.
  bool has_room(std::size_t most) const {
    if (empty() && unsent_ == 0) return true;
    return bytes() < most && answers_.taken() <= answers_.most() / 2;
  }

 private:
  // Expected of the first answer of a connection. A document is as long as that, or longer.
  static constexpr std::size_t kFirstToPost = 192U << 10;
  static constexpr std::size_t kFirstToOther = 1U << 20;

  struct Owed {
    Id id = 0;
    Framing framing;
    bool ready = false;
    std::string bytes;
    std::string rest;  // Sent after them: a body that is too long to be copied.
    AnswerKind kind = AnswerKind::to_post;
    std::size_t expected = 0;  // Bytes of request and answer, until it is ready.
    Charge large_body;
    ReplyCallback::Body body = nullptr;  // If the body is streamed.
    bool chunked = false;                // How it is streamed.
    Instant due = Instant::max();
    std::shared_ptr<PendingReply> pending = nullptr;
  };

  Owed* unready(Id id);
  static std::size_t charge_for(std::size_t unsent);
  void lighten(Owed& owed);
  void learn(AnswerKind kind, std::size_t bytes);
  std::size_t& expected_of(AnswerKind kind) { return expected_[static_cast<std::size_t>(kind)]; }
  void put(Owed& owed, api::Response& response);
  bool take_body(Owed& owed, std::string& out);

  Clock& clock_;
  Budget& answers_;
  std::deque<Owed> owed_;
  Id last_id_ = 0;
  std::array<std::size_t, 3> expected_ = {kFirstToPost, kFirstToOther, kFirstToOther};
  std::size_t expected_bytes_ = 0;  // Of all that is not ready.
  std::size_t unsent_ = 0;
  Charge unsent_charge_;
};

}  // namespace once::server
