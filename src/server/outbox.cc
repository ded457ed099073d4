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

// Sends the head of a streamed answer. Each piece of the body is sent as soon as it is there and
// the one before it was sent.
void Outbox::begin(Id id, const api::Response& head, const ReplyCallback::Body& body) {
  Owed* owed = unready(id);
  if (owed == nullptr) return body->cancel();
  owed->body = body;
  owed->chunked = comes_in_chunks(head, owed->framing);
  // Without a length or chunks, only closing the connection marks the end of the body.
  if (!owed->chunked && !head.headers.find("Content-Length")) owed->framing.keep_alive = false;
  owed->bytes = encode_head(head, owed->framing, clock_.now());
  owed->ready = true;
  lighten(*owed);
  unsent_ += owed->bytes.size();
}

void Outbox::answer_by(Id id, Instant due, std::shared_ptr<PendingReply> pending) {
  Owed* owed = unready(id);
  if (owed == nullptr) return;
  owed->due = due;
  owed->pending = std::move(pending);
}

bool Outbox::time_out(Instant now) {
  bool any = false;
  for (Owed& owed : owed_) {
    if (owed.ready || now < owed.due) continue;
    owed.due = Instant::max();
    const std::optional<api::Response> response = owed.pending->time_out();
    if (!response) continue;  // The real answer is on its way.
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
    if (first.body && !take_body(first, ready.bytes)) break;
    ready.is_last |= !first.framing.keep_alive;
    owed_.pop_front();
  }
  return ready;
}

// Appends what has arrived of a streamed body. False if more of it is to come.
bool Outbox::take_body(Owed& owed, std::string& out) {
  const BodyStream::Taken taken = owed.body->take();
  const std::size_t before = out.size();
  if (owed.chunked) {
    append_chunk(out, taken.bytes);
  } else {
    out += taken.bytes;
  }
  const bool complete = taken.state == BodyStream::State::complete;
  if (complete && owed.chunked) out += kLastChunk;
  // Close, so the peer sees a truncated body.
  if (taken.state == BodyStream::State::aborted) owed.framing.keep_alive = false;
  unsent_ += out.size() - before;
  return taken.state != BodyStream::State::open;
}

void Outbox::cancel() {
  for (const Owed& owed : owed_) {
    if (owed.body) owed.body->cancel();
  }
}

}  // namespace once::server
