#include "server/outbox.h"

#include <optional>
#include <utility>

#include "wire/problem.h"

namespace once::server {

namespace {

// So much of what a connection owes is not charged: it is like the buffer that it reads into.
// Beyond that, it is charged in steps. So most answers cost no shared count.
constexpr std::size_t kUncharged = 16U << 10;
constexpr std::size_t kChargeStep = 16U << 10;

constexpr std::size_t kShortAnswer = 4U << 10;
constexpr std::size_t kCopiedBody = 64U << 10;  // A longer one is sent from where it is.

bool is_short(std::size_t bytes, int status) { return bytes <= kShortAnswer || status >= 400; }

// Nothing was done that a repeat would not answer the same way.
bool is_repeatable(const api::Response& response) {
  const auto outcome = response.telemetry.outcome;
  return outcome == api::Outcome::replayed || response.headers.find("Idempotent-Replayed");
}

api::Response no_room(AnswerKind kind, const api::Response& response) {
  constexpr std::string_view kWhy = "too many answers are waiting for their clients to read them";
  const bool changed_nothing = kind == AnswerKind::to_read || is_repeatable(response);
  api::Response refusal =
      api::problem(changed_nothing ? api::Code::overloaded : api::Code::unknown, kWhy);
  constexpr std::string_view kRequestId = "X-Request-Id";
  if (const auto id = response.headers.find(kRequestId)) {
    refusal.headers.add(std::string(kRequestId), std::string(*id));
  }
  return refusal;
}

}  // namespace

void charge_on_its_way(Charge& charge, AnswerKind kind, api::Response& response) {
  const std::size_t bytes = response.body.size();
  if (bytes <= kUncharged || charge.resize(bytes)) return;
  if (!is_short(bytes, response.status)) response = no_room(kind, response);
}

std::size_t Outbox::charge_for(std::size_t unsent) {
  if (unsent <= kUncharged) return 0;
  return (unsent - kUncharged + kChargeStep - 1) / kChargeStep * kChargeStep;
}

Outbox::Id Outbox::owe(const Framing& framing, Weight weight) {
  const std::size_t expected = weight.request_bytes + expected_of(weight.answer);
  owed_.push_back({.id = ++last_id_,
                   .framing = framing,
                   .bytes = {},
                   .kind = weight.answer,
                   .expected = expected,
                   .large_body = std::move(weight.body)});
  expected_bytes_ += expected;
  return last_id_;
}

bool Outbox::say(std::string_view bytes, bool goes_on) {
  owed_.push_back({.id = ++last_id_,
                   .framing = {.keep_alive = goes_on},
                   .ready = true,
                   .bytes = std::string(bytes)});
  unsent_ += bytes.size();
  if (unsent_charge_.resize(charge_for(unsent_))) return true;
  unsent_charge_.count(charge_for(unsent_));
  return false;
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
  expected_bytes_ -= std::exchange(owed.expected, 0);
  owed.large_body = {};
}

// Long ones are expected again at once, and forgotten slowly.
void Outbox::learn(AnswerKind kind, std::size_t bytes) {
  std::size_t& expected = expected_of(kind);
  expected = bytes > expected ? bytes : expected - (expected - bytes) / 8;
}

// Takes the body if it is long.
void Outbox::put(Owed& owed, api::Response& response) {
  const bool is_long = response.body.size() > kCopiedBody && has_body(response, owed.framing);
  owed.bytes = is_long ? encode_before_body(response, owed.framing, clock_.now())
                       : encode(response, owed.framing, clock_.now());
  owed.rest = is_long ? std::move(response.body) : std::string();
}

void Outbox::settle(Id id, api::Response response) {
  Owed* owed = unready(id);
  if (owed == nullptr) return;
  put(*owed, response);
  const std::size_t bytes = owed->bytes.size() + owed->rest.size();
  learn(owed->kind, bytes);
  if (!unsent_charge_.resize(charge_for(unsent_ + bytes))) {
    if (is_short(bytes, response.status)) {
      unsent_charge_.count(charge_for(unsent_ + bytes));
    } else {
      api::Response refusal = no_room(owed->kind, response);
      put(*owed, refusal);
    }
  }
  owed->ready = true;
  lighten(*owed);
  unsent_ += owed->bytes.size() + owed->rest.size();
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
    const bool is_alone = !first.rest.empty();
    if (is_alone && !ready.bytes.empty()) break;
    if (is_alone) ready.bytes = std::move(first.rest);
    ready.is_last |= !first.framing.keep_alive;
    owed_.pop_front();
    if (is_alone) break;
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
  unsent_charge_.count(charge_for(unsent_));
  return taken.state != BodyStream::State::open;
}

void Outbox::cancel() {
  for (const Owed& owed : owed_) {
    if (owed.body) owed.body->cancel();
  }
}

}  // namespace once::server
