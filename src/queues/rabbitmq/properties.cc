#include "queues/rabbitmq/properties.h"

#include <amqp_framing.h>

#include <algorithm>
#include <array>
#include <utility>

#include "queues/rabbitmq/connection.h"

namespace once::rabbitmq {
namespace {

constexpr std::size_t kPoolPage = 4'096;
constexpr std::uint8_t kPersistent = 2;

// Of a frame: its own bytes, the class, the weight and the body's size.
constexpr std::size_t kFrameOverhead = 8 + 2 + 2 + 8;

// Empty if they do not fit.
std::string encode_within(const amqp_basic_properties_t& properties, std::size_t most) {
  std::string room(most, '\0');
  // It does not write to them.
  const int length = amqp_encode_properties(
      AMQP_BASIC_CLASS, const_cast<amqp_basic_properties_t*>(&properties), bytes_of(room));
  return room.substr(0, static_cast<std::size_t>(std::max(length, 0)));
}

}  // namespace

std::string encoded(const amqp_basic_properties_t& properties) {
  constexpr std::size_t kUsually = 1'024;
  std::string bytes = encode_within(properties, kUsually);
  return bytes.empty() ? encode_within(properties, kFrame) : bytes;
}

Properties::Properties(const Message& message) {
  init_amqp_pool(&pool_, kPoolPage);
  void* decoded = nullptr;
  if (!message.original.empty() &&
      amqp_decode_properties(AMQP_BASIC_CLASS, &pool_, bytes_of(message.original), &decoded) >= 0) {
    properties_ = *static_cast<amqp_basic_properties_t*>(decoded);
  } else {
    set_from_text(message);
  }
  if ((properties_._flags & AMQP_BASIC_HEADERS_FLAG) != 0 && headers_.empty()) {
    const amqp_table_t& table = properties_.headers;
    headers_.assign(table.entries, table.entries + table.num_entries);
  }
  properties_._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties_.delivery_mode = kPersistent;
  renew_headers();
}

void Properties::set_from_text(const Message& message) {
  if (!message.id.empty()) {
    properties_._flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
    properties_.message_id = bytes_of(message.id);
  }
  if (!message.content_type.empty()) {
    properties_._flags |= AMQP_BASIC_CONTENT_TYPE_FLAG;
    properties_.content_type = bytes_of(message.content_type);
  }
  for (const auto& [name, value] : message.attributes) set_header(name, value);
}

void Properties::make_inert() {
  constexpr std::array kOfTheBroker = {"x-delivery-count", "x-acquired-count"};
  for (const char* name : kOfTheBroker) remove_header(name);
  for (amqp_table_entry_t& header : headers_) {
    const std::string name = text_of(header.key);
    if (name == "CC" || name == "BCC") header.key = bytes_of(texts_.emplace_back("Once-" + name));
  }
  if ((properties_._flags & AMQP_BASIC_EXPIRATION_FLAG) != 0) {
    set_header("Once-Expiration", text_of(properties_.expiration));
    properties_._flags &= ~static_cast<amqp_flags_t>(AMQP_BASIC_EXPIRATION_FLAG);
  }
  if ((properties_._flags & AMQP_BASIC_USER_ID_FLAG) != 0) {
    set_header("Once-User-Id", text_of(properties_.user_id));
    properties_._flags &= ~static_cast<amqp_flags_t>(AMQP_BASIC_USER_ID_FLAG);
  }
  renew_headers();
}

void Properties::set_header(const std::string& name, std::string value) {
  remove_header(name);
  amqp_table_entry_t header{};
  header.key = bytes_of(texts_.emplace_back(name));
  header.value.kind = AMQP_FIELD_KIND_UTF8;
  header.value.value.bytes = bytes_of(texts_.emplace_back(std::move(value)));
  headers_.push_back(header);
  renew_headers();
}

void Properties::remove_header(std::string_view name) {
  std::erase_if(headers_,
                [&](const amqp_table_entry_t& header) { return text_of(header.key) == name; });
  renew_headers();
}

void Properties::renew_headers() {
  properties_.headers = {.num_entries = static_cast<int>(headers_.size()),
                         .entries = headers_.data()};
  properties_._flags |= AMQP_BASIC_HEADERS_FLAG;
}

bool Properties::fit() const {
  return !encode_within(properties_, kFrame - kFrameOverhead).empty();
}

}  // namespace once::rabbitmq
