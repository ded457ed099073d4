#include "stores/redis/node.h"

#include <charconv>
#include <utility>

#include "net/tls.h"
#include "stores/redis/protocol.h"
#include "stores/redis/scripts.h"

namespace once::redis {
namespace {

constexpr Duration kLongestIdle = std::chrono::seconds(30);

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = std::to_address(text.end());
  const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

// What a connection says first. The time is last.
std::vector<std::string> greetings(const RedisOptions& options) {
  std::vector<std::string> greetings;
  if (!options.user.empty()) {
    greetings.push_back(text_of({"AUTH", options.user, options.password}));
  } else if (!options.password.empty()) {
    greetings.push_back(text_of({"AUTH", options.password}));
  }
  if (options.database != 0) {
    greetings.push_back(text_of({"SELECT", std::to_string(options.database)}));
  }
  for (const Script* const script : all_scripts()) {
    greetings.push_back(text_of({"SCRIPT", "LOAD", script->text}));
  }
  greetings.push_back(text_of({"TIME"}));
  return greetings;
}

// "ERR AUTH <password> called without any password configured", "ERR DB index is out of range".
Error greeting_error(ReplyView reply) {
  Error error = error_of(reply);
  if (error.code != ErrorCode::unknown) return error;
  const bool refused = reply.text().find("max number of clients") == std::string_view::npos;
  error.code = refused ? ErrorCode::denied : ErrorCode::unavailable;
  return error;
}

std::unexpected<Error> named(Error error, const std::string& where = "") {
  error.message.insert(0, "redis: " + where);
  return std::unexpected(std::move(error));
}

class SocketDialler final : public Dialler {
 public:
  explicit SocketDialler(std::unique_ptr<net::TlsContext> tls) : tls_(std::move(tls)) {}

  Result<std::unique_ptr<net::Channel>> dial(const net::Endpoint& endpoint,
                                             net::Deadline deadline) override {
    Result<net::Socket> socket = net::connect_to(endpoint, deadline);
    if (!socket) return named(std::move(socket.error()), net::to_text(endpoint) + ": ");
    if (tls_) {
      auto channel = tls_->wrap(std::move(*socket), endpoint.host, deadline);
      if (!channel) return named(std::move(channel.error()));
      return channel;
    }
    return net::plain_channel(std::move(*socket));
  }

 private:
  const std::unique_ptr<net::TlsContext> tls_;  // Null without TLS.
};

}  // namespace

Result<std::unique_ptr<Dialler>> make_dialler(const RedisOptions& options) {
  std::unique_ptr<net::TlsContext> tls;
  if (options.tls) {
    Result<std::unique_ptr<net::TlsContext>> made =
        net::make_tls_context({.authorities = options.ca_file});
    if (!made) return named(std::move(made.error()));
    tls = std::move(*made);
  }
  return std::make_unique<SocketDialler>(std::move(tls));
}

std::optional<Time> time_in(ReplyView reply) {
  if (reply.size() != 2) return std::nullopt;
  const auto seconds = number_in(reply[0].text());
  const auto microseconds = number_in(reply[1].text());
  if (!seconds || !microseconds) return std::nullopt;
  return Time(Duration(*seconds * 1'000 + *microseconds / 1'000));
}

Node::Node(Endpoint endpoint, const RedisOptions& options, Dialler& dialler, ServerTime& time)
    : endpoint_(std::move(endpoint)),
      options_(options),
      dialler_(dialler),
      time_(time),
      connections_({.engine = "redis", .most = options.connections, .longest_idle = kLongestIdle},
                   time.clock()) {}

Result<Lease> Node::lease(Deadline deadline) {
  return connections_.lease(deadline, [&] {
    Result<std::unique_ptr<Connection>> opened = open(deadline);
    if (!opened) note(false);
    return opened;
  });
}

Result<std::unique_ptr<Connection>> Node::open(Deadline deadline) {
  Result<std::unique_ptr<Channel>> channel = dialler_.dial(endpoint_, deadline);
  if (!channel) return std::unexpected(std::move(channel.error()));
  auto connection = std::make_unique<Connection>(std::move(*channel));
  if (Result<void> greeted = greet(*connection, deadline); !greeted) {
    return std::unexpected(std::move(greeted.error()));
  }
  return connection;
}

Result<void> Node::greet(Connection& connection, Deadline deadline) {
  const std::vector<std::string> sentences = greetings(options_);
  const std::vector<std::string_view> commands(sentences.begin(), sentences.end());
  const Time sent = time_.own();
  const std::vector<Result<Reply>> replies = connection.exchange(commands, deadline);
  for (const Result<Reply>& reply : replies) {
    if (!reply) {
      return failure(ErrorCode::unavailable, "redis: no answer from " + to_text(endpoint_));
    }
    if ((**reply).is_error()) return std::unexpected(greeting_error(**reply));
  }
  const std::optional<Time> server = time_in(**replies.back());
  if (!server) return failure(ErrorCode::unsupported, "redis: this does not answer as Redis does");
  time_.learn(sent, time_.own(), *server);
  return {};
}

}  // namespace once::redis
