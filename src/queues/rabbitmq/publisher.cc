#include "queues/rabbitmq/publisher.h"

#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "base/encoding.h"

namespace once::rabbitmq {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostReason = 1'000;  // Bytes.
constexpr std::size_t kMostStored = 64;
constexpr const char* kReason = "Once-Reason";
constexpr const char* kId = "Once-Id";

std::unexpected<Error> unknown(std::string why) {
  return failure(ErrorCode::unknown, "rabbitmq: not confirmed: " + std::move(why));
}

Duration left_until(Steady::time_point deadline) {
  return std::max(Duration(0), std::chrono::ceil<Duration>(deadline - Steady::now()));
}

// The same for all deliveries of a message. One that is put back as it is has the mark of its first
// letter among its headers, so that its second letter has another.
std::string letter_id(const std::string& queue, const Message& message) {
  std::string all;
  append_part(all, queue);
  append_part(all, message.id);
  append_part(all, message.body);
  for (const auto& [name, value] : message.attributes) {
    if (name == "x-delivery-count" || name == "x-acquired-count") continue;
    append_part(all, name);
    append_part(all, value);
  }
  return sha256_hex(all).substr(0, 32);
}

// librabbitmq waits without end for a broker that does not read. This ends the connection at the
// deadline, and with it the call.
class SendDeadline {
 public:
  SendDeadline(int socket, Steady::time_point deadline)
      : thread_([this, socket, deadline](const std::stop_token& sent) {
          std::unique_lock lock(mutex_);
          const auto never = [] { return false; };
          (void)signal_.wait_until(lock, sent, deadline, never);
          if (!sent.stop_requested()) (void)::shutdown(socket, SHUT_RDWR);
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any signal_;
  std::jthread thread_;  // Last: it uses the others, and ends first.
};

}  // namespace

Result<void> Publisher::publish(const std::string& queue, const Message& message) {
  const Properties properties(message);
  return deliver({queue, message, properties});
}

Result<DeadLetter> Publisher::publish_dead(const std::string& queue, const Message& message,
                                           const std::string& reason) {
  Properties properties(message);
  properties.make_inert();
  properties.set_header(kId, letter_id(options_.queue, message));
  properties.set_header(kReason, reason.substr(0, kMostReason));
  DeadLetter letter;
  if (!properties.fit()) {
    properties.remove_header(kReason);
    letter.has_reason = false;
  }
  if (!properties.fit()) properties.remove_header(kId);
  const Result<void> sent = deliver({queue, message, properties});
  if (!sent) return std::unexpected(sent.error());
  return letter;
}

// An idle connection may have been closed: a message that could not be sent goes out on a new one.
Result<void> Publisher::deliver(const Outgoing& letter) {
  const Instant deadline = Steady::now() + patience_;
  const Lock lock(mutex_);
  for (int tries = 0;; ++tries) {
    // Others may have waited for the broker before this one.
    if (Steady::now() >= deadline) return failure(ErrorCode::unavailable, "rabbitmq: too slow");
    if (!session_.connection) {
      if (Result<void> ok = connect(); !ok) return ok;
    }
    Result<void> sent = try_once(letter, deadline);
    const bool lost = !session_.connection;
    if (sent || !lost || tries > 0) return sent;
  }
}

// Without a connection afterwards if that was lost.
Result<void> Publisher::try_once(const Outgoing& letter, Instant deadline) {
  for (Result<bool> more = true; more && *more;) more = read_frame(Duration(0));
  if (!session_.connection) return failure(ErrorCode::unavailable, "rabbitmq: connection lost");
  if (session_.unconfirmed) {
    const bool is_this = session_.handle == letter.message.handle && !session_.handle.empty();
    const Result<void> earlier = await_confirmation(deadline);
    if (is_this && earlier) (void)was_stored(session_.handle);
    if (is_this) return earlier;
    if (session_.unconfirmed) {
      return failure(ErrorCode::unavailable, "rabbitmq: an earlier message is not confirmed yet");
    }
  }
  if (was_stored(letter.message.handle)) return {};
  if (session_.blocked) {
    return failure(ErrorCode::unavailable, "rabbitmq: the broker takes no messages (an alarm)");
  }
  Result<void> sent = send(letter, deadline);
  if (sent) sent = await_confirmation(deadline);
  if (sent) (void)was_stored(letter.message.handle);
  return sent;
}

Result<void> Publisher::connect() {
  Result<std::unique_ptr<Connection>> connection =
      Connection::open(options_, Connection::Use::publishing);
  if (!connection) return std::unexpected(std::move(connection.error()));
  (void)amqp_confirm_select((*connection)->state(), kChannel);
  if (Result<void> ok = (*connection)->reply(); !ok) return ok;
  session_ = Session{.connection = std::move(*connection)};
  return {};
}

Result<void> Publisher::send(const Outgoing& letter, Instant deadline) {
  auto* const state = session_.connection->state();
  constexpr amqp_boolean_t kMandatory = 1;
  int status = AMQP_STATUS_OK;
  {
    const SendDeadline ends(amqp_get_sockfd(state), deadline);
    status =
        amqp_basic_publish(state, kChannel, amqp_empty_bytes, bytes_of(letter.queue), kMandatory, 0,
                           &letter.properties.get(), bytes_of(letter.message.body));
  }
  // A message that was not sent whole is not stored.
  Result<void> sent = Connection::check(status);
  if (!sent) {
    session_ = Session();
    return sent;
  }
  session_.unconfirmed = true;
  session_.handle = letter.message.handle;
  session_.returned = false;
  return {};
}

Result<void> Publisher::await_confirmation(Instant deadline) {
  while (session_.unconfirmed) {
    if (session_.blocked) return unknown("the broker takes no messages (an alarm)");
    const Duration left = left_until(deadline);
    if (left == Duration(0)) return unknown("no answer in time");
    const Result<bool> read = read_frame(left);
    if (!read) return unknown(read.error().message);
  }
  switch (session_.last) {
    case Confirmation::stored: return {};
    case Confirmation::no_queue:
      return failure(ErrorCode::unavailable, "rabbitmq: there is no such queue");
    case Confirmation::refused:
    case Confirmation::none: break;
  }
  return failure(ErrorCode::unavailable, "rabbitmq: the broker refused it");
}

// False if none came. The connection is given up after an error.
Result<bool> Publisher::read_frame(Duration within) {
  auto* const state = session_.connection->state();
  amqp_frame_t frame{};
  amqp_maybe_release_buffers(state);
  const timeval wait = timeval_of(within);
  const int status = amqp_simple_wait_frame_noblock(state, &frame, &wait);
  if (status == AMQP_STATUS_TIMEOUT) return false;
  Result<void> ok = Connection::check(status);
  if (ok) ok = heed(frame);
  if (ok) return true;
  session_ = Session();
  return std::unexpected(std::move(ok.error()));
}

Result<void> Publisher::heed(const amqp_frame_t& frame) {
  if (frame.frame_type != AMQP_FRAME_METHOD) return {};
  switch (frame.payload.method.id) {
    case AMQP_CONNECTION_BLOCKED_METHOD: session_.blocked = true; return {};
    case AMQP_CONNECTION_UNBLOCKED_METHOD: session_.blocked = false; return {};
    case AMQP_BASIC_RETURN_METHOD: return take_returned();
    case AMQP_BASIC_ACK_METHOD:
      confirm(session_.returned ? Confirmation::no_queue : Confirmation::stored);
      return {};
    case AMQP_BASIC_NACK_METHOD: confirm(Confirmation::refused); return {};
    default: return failure(ErrorCode::unavailable, "rabbitmq: the broker closes the channel");
  }
}

// A message without a queue is returned before it is confirmed.
Result<void> Publisher::take_returned() {
  session_.returned = true;
  amqp_message_t message{};
  const amqp_rpc_reply_t read =
      amqp_read_message(session_.connection->state(), kChannel, &message, 0);
  Result<void> ok = Connection::check(read);
  if (ok) amqp_destroy_message(&message);
  return ok;
}

void Publisher::confirm(Confirmation how) {
  session_.unconfirmed = false;
  session_.last = how;
  if (how != Confirmation::stored || session_.handle.empty()) return;
  stored_.push_back(session_.handle);
  if (stored_.size() > kMostStored) stored_.pop_front();
}

// Told once.
bool Publisher::was_stored(const std::string& handle) {
  const auto found = std::ranges::find(stored_, handle);
  if (found == stored_.end()) return false;
  stored_.erase(found);
  return true;
}

}  // namespace once::rabbitmq
