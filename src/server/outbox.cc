#include "server/outbox.h"

#include <optional>
#include <utility>

namespace once::server {

Outbox::~Outbox() {
  for (Owed& owed : owed_) lighten(owed);
}

Outbox::Id Outbox::owe(const Framing& framing, Weight weight) {
  owed_.push_back({.id = ++last_id_, .framing = framing, .bytes = {}, .weight = weight});
  held_ += weight.held;
  return last_id_;
}

void Outbox::say(std::string_view bytes, bool goes_on) {
  owe({.keep_alive = goes_on}, {});
  owed_.back().bytes = bytes;
  owed_.back().ready = true;
}

void Outbox::drop(Id id) {
  std::erase_if(owed_, [&](Owed& owed) {
    if (owed.id == id) lighten(owed);
    return owed.id == id;
  });
}

Outbox::Owed* Outbox::unready(Id id) {
  for (Owed& owed : owed_) {
    if (owed.id == id && !owed.ready) return &owed;
  }
  return nullptr;
}

void Outbox::lighten(Owed& owed) {
  held_ -= std::exchange(owed.weight.held, 0);
  bodies_ -= std::exchange(owed.weight.reserved, 0);
}

void Outbox::settle(Id id, const api::Response& response) {
  Owed* owed = unready(id);
  if (owed == nullptr) return;
  owed->bytes = encode(response, owed->framing, clock_.now());
  owed->ready = true;
  lighten(*owed);
  unsent_ += owed->bytes.size();
}

// The head of an answer whose body comes in pieces: each is sent as soon as it is there and the one
// before it was taken.
void Outbox::begin(Id id, const api::Response& head, const Done::Rest& rest) {
  Owed* owed = unready(id);
  if (owed == nullptr) return rest->leave();
  owed->rest = rest;
  owed->chunked = comes_in_chunks(head, owed->framing);
  // Where nothing else tells its end, the connection does.
  if (!owed->chunked && !head.headers.find("Content-Length")) owed->framing.keep_alive = false;
  owed->bytes = encode_head(head, owed->framing, clock_.now());
  owed->ready = true;
  lighten(*owed);
  unsent_ += owed->bytes.size();
}

void Outbox::answer_by(Id id, Instant due, std::shared_ptr<Unanswered> unanswered) {
  Owed* owed = unready(id);
  if (owed == nullptr) return;
  owed->due = due;
  owed->unanswered = std::move(unanswered);
}

bool Outbox::give_up(Instant now) {
  bool any = false;
  for (Owed& owed : owed_) {
    if (owed.ready || now < owed.due) continue;
    owed.due = Instant::max();
    const std::optional<api::Response> response = owed.unanswered->give_up();
    if (!response) continue;  // The answer is on its way here.
    settle(owed.id, *response);
    any = true;
  }
  return any;
}

Outbox::Ready Outbox::take() {
  Ready ready;
  while (!owed_.empty() && owed_.front().ready) {
    Owed& first = owed_.front();
    ready.bytes += std::exchange(first.bytes, {});
    if (first.rest && !take_pieces(first, ready.bytes)) break;
    ready.is_last |= !first.framing.keep_alive;
    owed_.pop_front();
  }
  return ready;
}

// What is there of the first answer's body. False if more of it is to come.
bool Outbox::take_pieces(Owed& owed, std::string& out) {
  const Pieces::Taken taken = owed.rest->take();
  const std::size_t before = out.size();
  if (owed.chunked) {
    append_chunk(out, taken.bytes);
  } else {
    out += taken.bytes;
  }
  const bool whole = taken.state == Pieces::State::whole;
  if (whole && owed.chunked) out += kLastChunk;
  // Its peer is to see that it did not get all.
  if (taken.state == Pieces::State::broken) owed.framing.keep_alive = false;
  unsent_ += out.size() - before;
  return taken.state != Pieces::State::open;
}

void Outbox::leave() {
  for (const Owed& owed : owed_) {
    if (owed.rest) owed.rest->leave();
  }
}

}  // namespace once::server
