// A blocking HTTP/1.1 client of one server, over one connection that is kept open between calls.
// Not safe to share between threads.
//
// A request is sent at most once. What fails before its first byte was sent is `unavailable`; what
// fails later is `unknown`, unless it is a GET or HEAD, which change nothing and may be repeated.
// Only a connection that the server closed while it was idle is opened again by itself. A server
// may also close one while a request is on its way to it: with Forwarding, what changes something
// goes on a connection that was just in use, or on a new one (docs/hazards.md#h40).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "client/url.h"
#include "once/error.h"
#include "once/time.h"
#include "wire/message.h"

namespace once::net {
class Channel;
class TlsContext;
}  // namespace once::net

namespace once::client {

// What TLS trusts on a new connection, and who we are there. Null: whom the machine trusts.
using SharedTls = std::shared_ptr<net::TlsContext>;

// For those that pass on what others ask, which must not be sent twice.
struct Forwarding {
  std::size_t max_answer;   // Bytes of a body; beyond them an answer counts as lost.
  std::stop_token stopped;  // Once it is, a call under way fails at once.

  // For how long a connection may have been idle, unless the request is a GET or HEAD. Well below
  // the time after which servers close idle ones.
  Duration reuse_within = std::chrono::seconds(1);

  SharedTls tls = nullptr;

  // Opens a connection, in place of TCP and TLS. For tests of what a server may answer.
  std::function<Result<std::unique_ptr<net::Channel>>()> dial;
};

// Shows that the server is the one that is meant. It is asked on each new connection before
// anything else, and without the token: what listens at the address may be another program by now.
struct Challenge {
  api::Request request;
  std::function<bool(const api::Response&)> is_answered_by;
};
using MakeChallenge = std::function<Challenge()>;

// How a client knows that it talks to the server that is meant. Each is asked for on each new
// connection, if it is there.
struct ServerTrust {
  MakeChallenge challenge;
  std::function<Result<SharedTls>()> tls;
};

// Files in PEM form: authorities to trust (empty: those of the machine), our certificate and its
// key, which may be in the same file.
struct ClientFiles {
  std::string ca;
  std::string certificate;
  std::string key;

  friend bool operator==(const ClientFiles&, const ClientFiles&) = default;
};

// What the files say, read now. Null if none is named. `invalid`, naming the file that is wrong.
Result<SharedTls> read_tls(const ClientFiles& files);
// What `fresh` says counts from now on, wherever `used` is.
void replace_tls(net::TlsContext& used, const net::TlsContext& fresh);
ServerTrust trusting(SharedTls tls);

// How to receive an answer that may be too long to hold.
struct StreamOptions {
  enum class TimeoutKind : std::uint8_t {
    whole,  // `timeout` bounds the whole answer,
    steps,  // or each step: the answer goes on as long as bytes arrive.
  };
  TimeoutKind timeout_kind = TimeoutKind::whole;
  Duration timeout{};
  std::size_t hold = 0;  // Bytes of a body. With `steps`, a body of unknown length is not held.

  // For a longer body: called once with the head, then with each piece as it arrives. Once `piece`
  // returns false, the call ends as if the answer were lost.
  std::function<void(api::Response head)> begin;
  std::function<bool(std::string_view piece)> piece;
};

class HttpClient {
 public:
  // `url` is http://host, https://host, or either with a port; with any other, every call is
  // `invalid`. A token that is not empty is sent as a bearer token. A server that is not to be
  // trusted is `unavailable`.
  explicit HttpClient(std::string_view url, std::string token = "", ServerTrust trust = {});

  // Answers keep all their headers, also those about framing and dates.
  HttpClient(std::string_view url, const Forwarding& forwarding);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The answer, whatever its status. `timeout` is for all of it, connecting included.
  Result<api::Response> call(const api::Request& request, Duration timeout);

  // As call(), for answers that may be longer than can be held. Of those, the head is returned.
  Result<api::Response> call_streaming(const api::Request& request, const StreamOptions& options);

  // Opens the connection for the call that follows, unless one is open that any request may go on.
  // `unavailable` if it cannot be opened.
  Result<void> prepare(Duration timeout);

  // Hands over a body as it arrives, line by line and without line ends, until it ends or
  // `on_line` returns false. An answer other than 200 is returned whole instead. `unavailable` when
  // nothing came for `silence`.
  using OnLine = std::function<bool(std::string_view line)>;
  Result<api::Response> follow(const api::Request& request, const OnLine& on_line,
                               Duration silence);

 private:
  class Connection;
  using Deadline = std::chrono::steady_clock::time_point;

  Result<void> send(const api::Request& request, Deadline until);
  Result<void> connect(Deadline until);
  Result<void> challenge(Deadline until);

  // Whether a connection is open that a request may go on.
  enum class Purpose : std::uint8_t { read, change };
  bool may_reuse(Purpose purpose) const;
  Result<api::Response> receive(const api::Request& request, Deadline until);

  Result<api::Response> receive_streamed(const api::Request& request, const StreamOptions& options,
                                         const std::function<Deadline()>& until);

  // Closes the connection.
  std::unexpected<Error> broken(ErrorCode code, const std::string& why);
  // The same, for a request that was sent and whose answer did not come.
  std::unexpected<Error> unanswered(const api::Request& request, const std::string& why);

  Result<SharedTls> tls() const;

  const std::optional<Url> url_;
  const std::string token_;
  const ServerTrust trust_;
  const std::optional<Forwarding> forwarding_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace once::client
