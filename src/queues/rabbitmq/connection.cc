#include "queues/rabbitmq/connection.h"

#include <amqp_tcp_socket.h>

#include <array>

#include "queues/rabbitmq/tls.h"

namespace once::rabbitmq {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);
constexpr int kHeartbeat = 10;  // Seconds.

std::unexpected<Error> away(std::string_view why) {
  return failure(ErrorCode::unavailable, std::string("rabbitmq: ").append(why));
}

ErrorCode code_of(int reply_code) {
  if (reply_code == AMQP_ACCESS_REFUSED || reply_code == AMQP_NOT_ALLOWED) return ErrorCode::denied;
  if (reply_code == AMQP_NOT_FOUND || reply_code == AMQP_PRECONDITION_FAILED) {
    return ErrorCode::invalid;
  }
  return ErrorCode::unavailable;
}

std::unexpected<Error> closed(int code, amqp_bytes_t text) {
  return failure(code_of(code), "rabbitmq: " + text_of(text));
}

Result<amqp_socket_t*> new_socket(amqp_connection_state_t state, const Options& options) {
  if (options.tls) return tls_socket(state, options.host, options.ca_file);
  amqp_socket_t* const socket = amqp_tcp_socket_new(state);
  if (socket == nullptr) return away("no socket");
  return socket;
}

Result<void> dial(amqp_socket_t* socket, const Options& options) {
  const timeval patience = timeval_of(kPatience);
  const int status =
      amqp_socket_open_noblock(socket, options.host.c_str(), options.port, &patience);
  if (!is_untrusted(status)) return Connection::check(status);
  return failure(ErrorCode::denied,
                 "rabbitmq: the broker's certificate is not to be trusted for " + options.host);
}

// With `capabilities` as what this client says that it can do.
Result<void> log_in(amqp_connection_state_t state, const Options& options,
                    const amqp_table_t& capabilities) {
  amqp_table_entry_t property{};
  property.key = amqp_cstring_bytes("capabilities");
  property.value.kind = AMQP_FIELD_KIND_TABLE;
  property.value.value.table = capabilities;
  const amqp_table_t properties{.num_entries = 1, .entries = &property};
  return Connection::check(amqp_login_with_properties(
      state, options.vhost.c_str(), AMQP_DEFAULT_MAX_CHANNELS, kFrame, kHeartbeat, &properties,
      AMQP_SASL_METHOD_PLAIN, options.user.c_str(), options.password.c_str()));
}

}  // namespace

amqp_bytes_t bytes_of(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}

std::string text_of(amqp_bytes_t bytes) {
  return bytes.len == 0 ? std::string() : std::string(static_cast<char*>(bytes.bytes), bytes.len);
}

timeval timeval_of(Duration length) {
  return {.tv_sec = length.count() / 1'000, .tv_usec = length.count() % 1'000 * 1'000};
}

Result<void> Connection::check(int status) {
  if (status >= AMQP_STATUS_OK) return {};
  return away(amqp_error_string2(status));
}

Result<void> Connection::check(const amqp_rpc_reply_t& reply) {
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL: return {};
    case AMQP_RESPONSE_LIBRARY_EXCEPTION: return away(amqp_error_string2(reply.library_error));
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
        const auto* const close = static_cast<amqp_connection_close_t*>(reply.reply.decoded);
        return closed(close->reply_code, close->reply_text);
      }
      if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
        const auto* const close = static_cast<amqp_channel_close_t*>(reply.reply.decoded);
        return closed(close->reply_code, close->reply_text);
      }
      return away("an exception of the server");
    case AMQP_RESPONSE_NONE: break;
  }
  return away("no answer");
}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, Use use) {
  auto* const state = amqp_new_connection();
  if (state == nullptr) return away("no memory");
  std::unique_ptr<Connection> connection(new Connection(state));
  const Result<amqp_socket_t*> socket = new_socket(state, options);
  if (!socket) return std::unexpected(socket.error());
  const timeval patience = timeval_of(kPatience);
  (void)amqp_set_handshake_timeout(state, &patience);
  (void)amqp_set_rpc_timeout(state, &patience);
  Result<void> ok = dial(*socket, options);
  amqp_table_entry_t blocked{};
  blocked.key = amqp_cstring_bytes("connection.blocked");
  blocked.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  blocked.value.value.boolean = use == Use::publishing ? 1 : 0;
  if (ok) ok = log_in(state, options, {.num_entries = 1, .entries = &blocked});
  if (ok) {
    (void)amqp_channel_open(state, kChannel);
    ok = connection->reply();
  }
  if (!ok) return std::unexpected(std::move(ok.error()));
  return connection;
}

// Not closed in order, because that may block: what was not acknowledged is delivered again.
Connection::~Connection() { (void)amqp_destroy_connection(state_); }

std::string Connection::server_version() const {
  const amqp_table_t* const properties = amqp_get_server_properties(state_);
  for (int i = 0; properties != nullptr && i < properties->num_entries; ++i) {
    const amqp_table_entry_t& entry = properties->entries[i];
    if (text_of(entry.key) == "version" && entry.value.kind == AMQP_FIELD_KIND_UTF8) {
      return text_of(entry.value.value.bytes);
    }
  }
  return "";
}

Result<std::uint64_t> messages_in(const Options& options, const std::string& queue) {
  const Result<std::unique_ptr<Connection>> connection = Connection::open(options);
  if (!connection) return std::unexpected(connection.error());
  constexpr amqp_boolean_t kYes = 1;
  constexpr amqp_boolean_t kNo = 0;
  const amqp_queue_declare_ok_t* const found = amqp_queue_declare(
      (*connection)->state(), kChannel, bytes_of(queue), kYes, kYes, kNo, kNo, amqp_empty_table);
  if (found != nullptr) return found->message_count;
  Result<void> refused = (*connection)->reply();
  if (!refused) return std::unexpected(std::move(refused.error()));
  return away("no answer");
}

Result<void> ensure_queue(const Options& options, const std::string& queue) {
  Result<std::unique_ptr<Connection>> connection = Connection::open(options);
  if (!connection) return std::unexpected(std::move(connection.error()));
  constexpr amqp_boolean_t kYes = 1;
  constexpr amqp_boolean_t kNo = 0;
  (void)amqp_queue_declare((*connection)->state(), kChannel, bytes_of(queue), kYes, kYes, kNo, kNo,
                           amqp_empty_table);
  Result<void> found = (*connection)->reply();
  if (found || found.error().code != ErrorCode::invalid) return found;
  connection = Connection::open(options);  // The broker has closed the channel.
  if (!connection) return std::unexpected(std::move(connection.error()));
  std::array<amqp_table_entry_t, 1> entries{};
  entries[0].key = amqp_cstring_bytes("x-queue-type");
  entries[0].value.kind = AMQP_FIELD_KIND_UTF8;
  entries[0].value.value.bytes = amqp_cstring_bytes("quorum");
  const amqp_table_t arguments{.num_entries = 1, .entries = entries.data()};
  (void)amqp_queue_declare((*connection)->state(), kChannel, bytes_of(queue), kNo, kYes, kNo, kNo,
                           arguments);
  return (*connection)->reply();
}

}  // namespace once::rabbitmq
