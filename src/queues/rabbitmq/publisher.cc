#include "queues/rabbitmq/publisher.h"

#include <utility>
#include <vector>

namespace once::rabbitmq {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);
constexpr std::uint8_t kPersistent = 2;

std::unexpected<Error> unknown(std::string why) {
  return failure(ErrorCode::unknown, "rabbitmq: not confirmed: " + std::move(why));
}

}  // namespace

// An idle connection may have been closed: a message that could not be sent goes out on a new one.
Result<void> Publisher::publish(const std::string& queue, const Message& message) {
  const Lock lock(mutex_);
  for (int tries = 0;; ++tries) {
    if (!connection_) {
      if (Result<void> ok = connect(); !ok) return ok;
    }
    Result<void> sent = send(queue, message);
    if (sent) sent = confirmed();
    if (sent) return sent;
    connection_.reset();
    if (tries > 0) return sent;
  }
}

Result<void> Publisher::connect() {
  Result<std::unique_ptr<Connection>> connection = Connection::open(options_);
  if (!connection) return std::unexpected(std::move(connection.error()));
  (void)amqp_confirm_select((*connection)->state(), kChannel);
  if (Result<void> ok = (*connection)->reply(); !ok) return ok;
  connection_ = std::move(*connection);
  return {};
}

Result<void> Publisher::send(const std::string& queue, const Message& message) {
  std::vector<amqp_table_entry_t> headers;
  for (const auto& [name, value] : message.attributes) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = bytes_of(value);
    headers.push_back(entry);
  }
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_HEADERS_FLAG;
  properties.delivery_mode = kPersistent;
  properties.headers = {.num_entries = static_cast<int>(headers.size()), .entries = headers.data()};
  if (!message.id.empty()) {
    properties._flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.message_id = bytes_of(message.id);
  }
  if (!message.content_type.empty()) {
    properties._flags |= AMQP_BASIC_CONTENT_TYPE_FLAG;
    properties.content_type = bytes_of(message.content_type);
  }
  constexpr amqp_boolean_t kMandatory = 1;
  return Connection::check(amqp_basic_publish(connection_->state(), kChannel, amqp_empty_bytes,
                                              bytes_of(queue), kMandatory, 0, &properties,
                                              bytes_of(message.body)));
}

// A message without a queue is returned before it is confirmed.
Result<void> Publisher::confirmed() {
  auto* const state = connection_->state();
  const timeval patience = timeval_of(kPatience);
  for (bool returned = false;;) {
    amqp_frame_t frame{};
    amqp_maybe_release_buffers(state);
    const int status = amqp_simple_wait_frame_noblock(state, &frame, &patience);
    if (status != AMQP_STATUS_OK) return unknown(amqp_error_string2(status));
    if (frame.frame_type != AMQP_FRAME_METHOD) continue;
    if (frame.payload.method.id == AMQP_BASIC_RETURN_METHOD) {
      returned = true;
      amqp_message_t message{};
      const amqp_rpc_reply_t read = amqp_read_message(state, kChannel, &message, 0);
      if (Result<void> ok = Connection::check(read); !ok) return unknown(ok.error().message);
      amqp_destroy_message(&message);
    } else if (frame.payload.method.id == AMQP_BASIC_ACK_METHOD) {
      if (!returned) return {};
      return failure(ErrorCode::unavailable, "rabbitmq: there is no such queue");
    } else {
      return unknown("the broker refused it");
    }
  }
}

}  // namespace once::rabbitmq
