// A connection to a broker with one channel, and the translation of librabbitmq's errors. Used by
// one thread at a time.
#pragma once

#include <amqp.h>

#include <memory>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/time.h"

namespace once::rabbitmq {

struct Options {
  std::string host = "localhost";
  int port = 5672;
  bool tls = false;
  std::string ca_file;  // Trusted certificates; "" for those the system trusts.
  std::string user = "guest";
  std::string password = "guest";
  std::string vhost = "/";
  std::string queue;
  std::string dead;   // For dead letters; "" for the queue's name with "-dead".
  std::string group;  // The header that names a message's group; "" for none.
};

inline constexpr amqp_channel_t kChannel = 1;
inline constexpr int kFrame = 131'072;  // Bytes of the largest frame.

amqp_bytes_t bytes_of(std::string_view text);
std::string text_of(amqp_bytes_t bytes);
timeval timeval_of(Duration length);

class Connection {
 public:
  // `unavailable` if the broker cannot be reached, `denied` if it refuses us or its certificate is
  // not trusted.
  //
  // A publisher is told when the broker stops reading from it (connection.blocked).
  enum class Use : std::uint8_t { other, publishing };
  static Result<std::unique_ptr<Connection>> open(const Options& options, Use use = Use::other);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  amqp_connection_state_t state() const { return state_; }

  // Of the broker: "3.10.8"; "" if it does not say.
  std::string server_version() const;

  // The outcome of the last call. After an error the connection cannot be used any more.
  Result<void> reply() const { return check(amqp_get_rpc_reply(state_)); }
  static Result<void> check(const amqp_rpc_reply_t& reply);
  static Result<void> check(int status);

 private:
  explicit Connection(amqp_connection_state_t state) : state_(state) {}

  amqp_connection_state_t_* const state_;
};

// How many messages wait to be delivered.
Result<std::uint64_t> messages_in(const Options& options, const std::string& queue);

// Creates the queue if it does not exist, durable and replicated (a quorum queue). An existing one
// is left unchanged.
Result<void> ensure_queue(const Options& options, const std::string& queue);

}  // namespace once::rabbitmq
