#include "queues/rabbitmq/consumer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/backoff.h"
#include "queues/rabbitmq/properties.h"

namespace once::rabbitmq {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kWait = std::chrono::seconds(2);  // For messages.
// Between tries to connect.
constexpr PauseBounds kPauses{
    .shortest = Duration(250), .first = Duration(750), .longest = Duration(750)};
constexpr auto kLeastHeld = std::chrono::seconds(1);
constexpr Duration kLongestPoll = std::chrono::seconds(1);  // Heartbeats are seen to in between.

std::string text_of(const amqp_field_value_t& value) {
  switch (value.kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES: return rabbitmq::text_of(value.value.bytes);
    case AMQP_FIELD_KIND_BOOLEAN: return value.value.boolean != 0 ? "true" : "false";
    case AMQP_FIELD_KIND_I8: return std::to_string(value.value.i8);
    case AMQP_FIELD_KIND_U8: return std::to_string(value.value.u8);
    case AMQP_FIELD_KIND_I16: return std::to_string(value.value.i16);
    case AMQP_FIELD_KIND_U16: return std::to_string(value.value.u16);
    case AMQP_FIELD_KIND_I32: return std::to_string(value.value.i32);
    case AMQP_FIELD_KIND_U32: return std::to_string(value.value.u32);
    case AMQP_FIELD_KIND_I64: return std::to_string(value.value.i64);
    case AMQP_FIELD_KIND_U64: return std::to_string(value.value.u64);
    default: return "";
  }
}

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(std::to_address(text.begin()), std::to_address(text.end()), number);
  return number;
}

// Seconds since 1970, as the sender says. Nothing for what no clock shows before the year 10000.
std::optional<Time> sent_at(std::uint64_t seconds) {
  constexpr std::uint64_t kYear10000 = 253'402'300'800;
  if (seconds >= kYear10000) return std::nullopt;
  return Time(std::chrono::seconds(seconds));
}

std::unexpected<Error> lost_meanwhile() {
  return failure(ErrorCode::unavailable, "rabbitmq: the connection was lost meanwhile");
}

}  // namespace

Consumer::Consumer(Options options)
    : options_(std::move(options)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

Consumer::~Consumer() {
  {
    const Lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  (void)::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
}

Result<std::vector<Message>> Consumer::receive(std::size_t most) {
  const Instant until = Steady::now() + kWait;
  Lock lock(mutex_);
  if (at_once_ == 0) at_once_ = most;
  if (!std::exchange(wanted_, true)) changed_.notify_all();
  ++receiving_;
  while (arrived_.empty()) {
    if (changed_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
  }
  --receiving_;
  if (arrived_.empty() && !connected_) return std::unexpected(trouble_);
  std::vector<Message> messages;
  while (!arrived_.empty() && messages.size() < most) {
    messages.push_back(std::move(arrived_.front()));
    arrived_.pop_front();
  }
  return messages;
}

std::optional<Consumer::Tag> Consumer::tag_of(const Message& message) {
  const std::size_t colon = message.handle.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto number = [](const std::string& text) {
    return static_cast<std::uint64_t>(number_in(text));
  };
  return Tag{number(message.handle.substr(0, colon)), number(message.handle.substr(colon + 1))};
}

Result<void> Consumer::put(Order order) {
  {
    const Lock lock(mutex_);
    if (order.tag.connection != number_ || !connected_) {
      return lost_meanwhile();
    }
    orders_.push_back(order);
  }
  (void)::eventfd_write(wake_, 1);
  return {};
}

Result<void> Consumer::ack(const Message& message) {
  const std::optional<Tag> tag = tag_of(message);
  if (!tag) return failure(ErrorCode::invalid, "rabbitmq: no message of this queue");
  return put({Order::Kind::ack, *tag});
}

Result<void> Consumer::give_back(const Message& message, Duration delay) {
  const std::optional<Tag> tag = tag_of(message);
  if (!tag) return failure(ErrorCode::invalid, "rabbitmq: no message of this queue");
  if (delay <= Duration::zero()) return put({Order::Kind::give_back, *tag});
  {
    const Lock lock(mutex_);
    if (tag->connection != number_ || !connected_) return lost_meanwhile();
    close_group(message.group);
    held_.hold(tag->delivery, message, Steady::now() + delay);
    make_room();
  }
  (void)::eventfd_write(wake_, 1);
  return {};
}

void Consumer::arrive(std::uint64_t delivery, Message message) {
  if (held_.closed(message.group)) {
    held_.wait_with_its_group(delivery, std::move(message));
    make_room();
  } else {
    arrived_.push_back(std::move(message));
  }
}

// Messages of the group that were not received yet wait with the one that is held.
void Consumer::close_group(const std::string& group) {
  if (group.empty()) return;
  for (Message& message : std::exchange(arrived_, {})) {
    if (message.group != group) {
      arrived_.push_back(std::move(message));
      continue;
    }
    const std::uint64_t delivery = tag_of(message).value_or(Tag{}).delivery;
    held_.wait_with_its_group(delivery, std::move(message));
  }
}

// The broker delivers nothing while too many are held. Not at once: a message that cannot be
// handled now would come back without a pause.
void Consumer::make_room() {
  if (held_.size() > at_once_) held_.hurry(Steady::now() + kLeastHeld);
}

void Consumer::run() {
  while (wait_until_wanted()) {
    Result<void> ok = connect();
    while (ok) ok = work();
    lose(ok.error());
    if (!pause()) return;
  }
}

// False when it is time to end.
bool Consumer::wait_until_wanted() {
  Lock lock(mutex_);
  while (!wanted_ && !ending_) changed_.wait(lock.native());
  return !ending_;
}

// False when it is time to end.
bool Consumer::pause() {
  const Instant until = Steady::now() + kPauses.pause(0, system_entropy().random());
  Lock lock(mutex_);
  while (!ending_) {
    if (changed_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
  }
  return !ending_;
}

Result<void> Consumer::connect() {
  if (Result<void> ok = ensure_queue(options_, options_.queue); !ok) return ok;
  Result<std::unique_ptr<Connection>> connection = Connection::open(options_);
  if (!connection) return std::unexpected(std::move(connection.error()));
  connection_ = std::move(*connection);
  std::size_t prefetch = 0;
  {
    const Lock lock(mutex_);
    ++number_;
    prefetch = 2 * at_once_;  // Those that are handled, and those that are held.
  }
  auto* const state = connection_->state();
  (void)amqp_basic_qos(state, kChannel, 0, static_cast<std::uint16_t>(prefetch), 0);
  if (Result<void> ok = connection_->reply(); !ok) return ok;
  (void)amqp_basic_consume(state, kChannel, bytes_of(options_.queue), amqp_empty_bytes, 0, 0, 0,
                           amqp_empty_table);
  if (Result<void> ok = connection_->reply(); !ok) return ok;
  const Lock lock(mutex_);
  connected_ = true;
  return {};
}

Result<void> Consumer::work() {
  if (Result<void> ok = carry_out(take_orders()); !ok) return ok;
  if (Result<void> ok = take_arrived(); !ok) return ok;
  wait_for_more();
  const Lock lock(mutex_);
  if (!ending_) return {};
  // Sends the last acknowledgements, so that finished messages do not come again.
  std::deque<Order> last = std::exchange(orders_, {});
  std::erase_if(last, [](const Order& order) { return order.kind != Order::Kind::ack; });
  (void)carry_out(last);
  (void)amqp_connection_close(connection_->state(), AMQP_REPLY_SUCCESS);
  return failure(ErrorCode::unavailable, "rabbitmq: the end");
}

std::deque<Consumer::Order> Consumer::take_orders() {
  const Lock lock(mutex_);
  std::deque<Order> orders = std::exchange(orders_, {});
  std::vector<Message> again = held_.take_due(Steady::now());
  std::ranges::move(again, std::back_inserter(arrived_));
  if (!again.empty()) changed_.notify_all();
  return orders;
}

Result<void> Consumer::carry_out(const std::deque<Order>& orders) {
  constexpr amqp_boolean_t kRequeue = 1;
  for (const Order& order : orders) {
    const std::uint64_t tag = order.tag.delivery;
    const int status = order.kind == Order::Kind::ack
                           ? amqp_basic_ack(connection_->state(), kChannel, tag, 0)
                           : amqp_basic_nack(connection_->state(), kChannel, tag, 0, kRequeue);
    if (Result<void> ok = Connection::check(status); !ok) return ok;
  }
  return {};
}

Result<void> Consumer::take_arrived() {
  const timeval at_once{};
  for (;;) {
    amqp_envelope_t envelope{};
    amqp_maybe_release_buffers(connection_->state());
    const amqp_rpc_reply_t reply =
        amqp_consume_message(connection_->state(), &envelope, &at_once, 0);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
        reply.library_error == AMQP_STATUS_TIMEOUT) {
      return {};
    }
    if (Result<void> ok = Connection::check(reply); !ok) return ok;
    {
      const Lock lock(mutex_);
      Message message = message_of(envelope);
      message.handle =
          std::to_string(number_).append(":").append(std::to_string(envelope.delivery_tag));
      arrive(envelope.delivery_tag, std::move(message));
    }
    changed_.notify_all();
    amqp_destroy_envelope(&envelope);
  }
}

Message Consumer::message_of(const amqp_envelope_t& envelope) const {
  const amqp_message_t& from = envelope.message;
  const amqp_basic_properties_t& properties = from.properties;
  Message message;
  message.body = rabbitmq::text_of(from.body);
  message.original = encoded(properties);
  if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) {
    message.id = rabbitmq::text_of(properties.message_id);
  }
  if ((properties._flags & AMQP_BASIC_CONTENT_TYPE_FLAG) != 0) {
    message.content_type = rabbitmq::text_of(properties.content_type);
  }
  if ((properties._flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0) {
    message.sent = sent_at(properties.timestamp);
  }
  message.deliveries = envelope.redelivered != 0 ? 2 : 1;
  if ((properties._flags & AMQP_BASIC_HEADERS_FLAG) == 0) return message;
  for (int i = 0; i < properties.headers.num_entries; ++i) {
    const amqp_table_entry_t& header = properties.headers.entries[i];
    const std::string name = rabbitmq::text_of(header.key);
    const std::string value = text_of(header.value);
    if (name == "x-delivery-count") message.deliveries = number_in(value) + 1;
    if (!options_.group.empty() && name == options_.group) message.group = value;
    if (!value.empty()) message.attributes[name] = value;
  }
  return message;
}

void Consumer::wait_for_more() {
  Duration length = kLongestPoll;
  {
    const Lock lock(mutex_);
    if (const std::optional<Instant> next = held_.next()) {
      const auto left = std::chrono::ceil<Duration>(*next - Steady::now());
      length = std::clamp(left, Duration(0), kLongestPoll);
    }
  }
  std::array<pollfd, 2> watched = {pollfd{amqp_get_sockfd(connection_->state()), POLLIN, 0},
                                   pollfd{wake_, POLLIN, 0}};
  (void)::poll(watched.data(), watched.size(), static_cast<int>(length.count()));
  eventfd_t ignored = 0;
  (void)::eventfd_read(wake_, &ignored);
}

// The broker delivers everything of this connection again.
void Consumer::lose(const Error& error) {
  connection_.reset();
  {
    const Lock lock(mutex_);
    if (connected_) wanted_ = receiving_ > 0;
    connected_ = false;
    trouble_ = error;
    arrived_.clear();
    orders_.clear();
    held_.clear();
  }
  changed_.notify_all();
}

}  // namespace once::rabbitmq
