#include "client/http_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

namespace once::client {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Message = http::request<http::string_body>;
using Parser = http::response_parser<http::string_body>;
using PieceParser = http::response_parser<http::buffer_body>;

constexpr const char* kNoUrl = "a server's address is http://host:port, or https://host:port";
constexpr Duration kConnectWithin = std::chrono::seconds(5);
constexpr std::size_t kMaxAnswer = 256U << 20;  // Bytes of a body, or of a line that is followed.
constexpr std::uint32_t kMaxHeaders = 64 << 10;
constexpr std::size_t kPiece = 64U << 10;

// What would end a line or a header early is refused, not sent.
bool is_sound(const api::Request& request, std::string_view token) {
  const auto ends_line = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
  const auto ends_word = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  const auto ends_field = [&](const api::Headers::Field& field) {
    return std::ranges::any_of(field.name, ends_word) ||
           std::ranges::any_of(field.value, ends_line);
  };
  return !request.method.empty() && std::ranges::none_of(request.method, ends_word) &&
         std::ranges::none_of(request.target, ends_word) &&
         std::ranges::none_of(token, ends_line) &&
         std::ranges::none_of(request.headers.fields(), ends_field);
}

Message message_of(const api::Request& request, const Url& url, const std::string& token) {
  Message message;
  message.method_string(request.method);
  message.target(request.target);
  message.set(http::field::host, url.authority);
  if (!token.empty()) message.set(http::field::authorization, "Bearer " + token);
  for (const auto& [name, value] : request.headers.fields()) message.insert(name, value);
  // Not by Beast, which takes a body of TRACE for a reason to throw.
  const bool expects_body =
      request.method == "POST" || request.method == "PUT" || request.method == "OPTIONS";
  if (expects_body || !request.body.empty()) message.content_length(request.body.size());
  message.body() = request.body;
  return message;
}

// Nothing if Beast does not take it: a header may be longer than it can hold.
std::optional<Message> try_message_of(const api::Request& request, const Url& url,
                                      const std::string& token) {
  try {
    return message_of(request, url, token);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// A request whose answer is lost.
ErrorCode lost(const api::Request& request) {
  const bool only_reads = request.method == "GET" || request.method == "HEAD";
  return only_reads ? ErrorCode::unavailable : ErrorCode::unknown;
}

std::string in_words(const error_code& error) {
  if (error == beast::error::timeout) return "no answer in time";
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return "the connection was closed before the answer was complete";
  }
  return error.message();
}

bool is_framing(beast::string_view name) {
  constexpr std::array<std::string_view, 5> kFraming = {"Content-Length", "Connection", "Date",
                                                        "Transfer-Encoding", "Keep-Alive"};
  return std::ranges::any_of(kFraming, [&](auto framing) { return beast::iequals(framing, name); });
}

enum class Kept : std::uint8_t { all, all_but_framing };

template <class AnyParser>
api::Response head_of(const AnyParser& parser, Kept kept) {
  api::Response response{static_cast<int>(parser.get().result_int()), {}, ""};
  for (const auto& field : parser.get()) {
    if (kept == Kept::all || !is_framing(field.name_string())) {
      response.headers.add(field.name_string(), field.value());
    }
  }
  return response;
}

api::Response response_of(Parser& parser, Kept kept = Kept::all_but_framing) {
  api::Response response = head_of(parser, kept);
  response.body = std::move(parser.get().body());
  return response;
}

// The system's authorities, or those of SSL_CERT_FILE and SSL_CERT_DIR. Read once: it is slow.
asio::ssl::context& authorities() {
  static asio::ssl::context context = [] {
    asio::ssl::context made(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(made.native_handle(), TLS1_2_VERSION);
    made.set_default_verify_paths();
    made.set_verify_mode(asio::ssl::verify_peer);
    return made;
  }();
  return context;
}

// Takes the whole lines off the front of `text`. False once `on_line` wants no more.
bool hand_over(std::string& text, const HttpClient::OnLine& on_line) {
  std::size_t begin = 0;
  bool more = true;
  for (std::size_t end = 0; more && (end = text.find('\n', begin)) != std::string::npos;) {
    std::string_view line(text.data() + begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    more = on_line(line);
    begin = end + 1;
  }
  text.erase(0, begin);
  return more;
}

}  // namespace

// Performs one step at a time, each to its end or until its time is over; whatever failed, the
// connection is then of no more use.
class HttpClient::Connection {
 public:
  explicit Connection(std::stop_token stopped) : stopped_(std::move(stopped)) {}

  error_code open(const Url& url, Deadline until) {
    asio::ip::tcp::resolver resolver(context_);
    asio::ip::tcp::resolver::results_type places;
    error_code ended;
    resolver.async_resolve(url.host, url.port, [&](error_code error, auto found) {
      ended = error;
      places = std::move(found);
    });
    const std::stop_callback stopping(stopped_, [this] { context_.stop(); });
    context_.run_until(until);
    if (stopped_.stop_requested()) return asio::error::operation_aborted;
    if (!context_.stopped()) {
      resolver.cancel();
      context_.run();
      return beast::error::timeout;
    }
    if (ended) return ended;
    ended =
        perform_plain(until, [&](auto done) { stream_.async_connect(places, std::move(done)); });
    return ended || !url.tls ? ended : shake_hands(url.host, until);
  }

  // How many bytes were sent when it ended.
  error_code write(Message& message, Deadline until, std::size_t& sent) {
    return perform(until, [&](auto& stream, auto done) {
      http::async_write(stream, message,
                        [&sent, done = std::move(done)](error_code error, std::size_t bytes) {
                          sent = bytes;
                          done(error);
                        });
    });
  }

  error_code read(Parser& parser, Deadline until) {
    return perform(until, [&](auto& stream, auto done) {
      http::async_read(stream, buffer_, parser, std::move(done));
    });
  }
  template <class AnyParser>
  error_code read_some(AnyParser& parser, Deadline until) {
    return perform(until, [&](auto& stream, auto done) {
      http::async_read_some(stream, buffer_, parser, std::move(done));
    });
  }
  template <class AnyParser>
  error_code read_header(AnyParser& parser, Deadline until) {
    return perform(until, [&](auto& stream, auto done) {
      http::async_read_header(stream, buffer_, parser, std::move(done));
    });
  }

  // Not if anything came since the last answer: the server's farewell, or the end of the stream.
  bool is_idle() {
    char byte = 0;
    const auto got = ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return buffer_.size() == 0 && got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  // With the host that was meant, and no other.
  error_code shake_hands(const std::string& host, Deadline until) {
    tls_.emplace(stream_, authorities());
    error_code is_name;
    (void)asio::ip::make_address(host, is_name);
    if (is_name) SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
    tls_->set_verify_callback(asio::ssl::host_name_verification(host));
    return perform_plain(until, [&](auto done) {
      tls_->async_handshake(asio::ssl::stream_base::client, std::move(done));
    });
  }

  template <class Start>
  error_code perform(Deadline until, Start start) {
    return perform_plain(until, [&](auto done) {
      if (tls_) return start(*tls_, std::move(done));
      start(stream_, std::move(done));
    });
  }

  template <class Start>
  error_code perform_plain(Deadline until, Start start) {
    error_code ended;
    stream_.expires_at(until);
    start([&ended](error_code error, const auto&...) { ended = error; });
    context_.restart();
    // The context is this thread's; whoever stops it only leaves word.
    const std::stop_callback stopping(
        stopped_, [this] { asio::post(context_, [this] { stream_.cancel(); }); });
    context_.run();
    return ended;
  }

  const std::stop_token stopped_;
  asio::io_context context_{1};
  beast::tcp_stream stream_{context_};
  std::optional<asio::ssl::stream<beast::tcp_stream&>> tls_;  // Over it.
  beast::flat_buffer buffer_;
};

HttpClient::HttpClient(std::string_view url, std::string token)
    : url_(parse_url(url)), token_(std::move(token)) {}

HttpClient::HttpClient(std::string_view url, const Forwarding& forwarding)
    : url_(parse_url(url)), forwarding_(forwarding) {}

HttpClient::~HttpClient() = default;

std::unexpected<Error> HttpClient::broken(ErrorCode code, const std::string& why) {
  connection_.reset();
  const std::string scheme = url_->tls ? "https://" : "http://";
  return failure(code, scheme + url_->authority + ": " + why);
}

Result<void> HttpClient::connect(Deadline until) {
  connection_ =
      std::make_unique<Connection>(forwarding_ ? forwarding_->stopped : std::stop_token());
  const Deadline soon = std::chrono::steady_clock::now() + kConnectWithin;
  const error_code error = connection_->open(*url_, std::min(until, soon));
  if (error) return broken(ErrorCode::unavailable, "cannot connect: " + in_words(error));
  return {};
}

Result<void> HttpClient::send(const api::Request& request, Deadline until) {
  if (!url_) return failure(ErrorCode::invalid, kNoUrl);
  if (!is_sound(request, token_)) {
    return failure(ErrorCode::invalid,
                   "control characters in a method, a header, a path or a token");
  }
  std::optional<Message> message = try_message_of(request, *url_, token_);
  if (!message) return failure(ErrorCode::invalid, "a header is too long to be sent");
  bool reused = connection_ != nullptr && connection_->is_idle();
  for (;; reused = false) {
    if (!reused) {
      if (Result<void> ok = connect(until); !ok) return ok;
    }
    std::size_t sent = 0;
    const error_code error = connection_->write(*message, until, sent);
    if (error == beast::error::timeout) {
      return broken(sent > 0 ? lost(request) : ErrorCode::unavailable, "cannot send in time");
    }
    // A server may answer and close before it has read all.
    if (!error || sent > 0) return {};
    if (!reused) return broken(ErrorCode::unavailable, in_words(error));
  }
}

Result<api::Response> HttpClient::receive(const api::Request& request, Deadline until) {
  for (;;) {
    Parser parser;
    parser.header_limit(kMaxHeaders);
    parser.body_limit(forwarding_ ? forwarding_->max_answer : kMaxAnswer);
    parser.skip(request.method == "HEAD");
    if (const error_code error = connection_->read(parser, until)) {
      return broken(lost(request), in_words(error));
    }
    if (parser.get().result_int() < 200) continue;  // Interim; the answer is still to come.
    if (!parser.keep_alive()) connection_.reset();
    return response_of(parser, forwarding_ ? Kept::all : Kept::all_but_framing);
  }
}

Result<api::Response> HttpClient::receive_carried(const api::Request& request,
                                                  const Carriage& carriage,
                                                  const std::function<Deadline()>& until) {
  std::optional<PieceParser> parser;
  do {  // Interim ones are passed over.
    parser.emplace();
    parser->header_limit(kMaxHeaders);
    parser->body_limit(boost::none);
    parser->skip(request.method == "HEAD");
    const error_code error = connection_->read_header(*parser, until());
    if (error) return broken(lost(request), in_words(error));
  } while (parser->get().result_int() < 200);
  api::Response response = head_of(*parser, Kept::all);
  const bool is_held = carriage.pace == Carriage::Pace::whole ||
                       parser->content_length().value_or(SIZE_MAX) <= carriage.hold;
  bool begun = !is_held && !parser->is_done();
  if (begun) carriage.begin(response);
  for (std::array<char, kPiece> some; !parser->is_done();) {
    parser->get().body().data = some.data();
    parser->get().body().size = some.size();
    const error_code error = connection_->read_some(*parser, until());
    if (error && error != http::error::need_buffer) return broken(lost(request), in_words(error));
    response.body.append(some.data(), some.size() - parser->get().body().size);
    if (!begun && response.body.size() <= carriage.hold) continue;
    const std::string piece = std::exchange(response.body, {});
    if (!std::exchange(begun, true)) carriage.begin(response);
    if (!piece.empty() && !carriage.piece(piece)) {
      return broken(lost(request), "the rest of the answer was not wanted");
    }
  }
  if (!parser->keep_alive()) connection_.reset();
  return response;
}

Result<api::Response> HttpClient::carry(const api::Request& request, const Carriage& carriage) {
  const auto since = std::chrono::steady_clock::now();
  const auto until = [&]() -> Deadline {
    const bool steps = carriage.pace == Carriage::Pace::steps;
    return (steps ? std::chrono::steady_clock::now() : since) + carriage.timeout;
  };
  try {
    if (Result<void> sent = send(request, until()); !sent) return std::unexpected(sent.error());
    return receive_carried(request, carriage, until);
  } catch (const std::exception& error) {
    return broken(lost(request), error.what());
  }
}

Result<void> HttpClient::prepare(Duration timeout) {
  if (!url_) return failure(ErrorCode::invalid, kNoUrl);
  if (connection_ != nullptr && connection_->is_idle()) return {};
  return connect(std::chrono::steady_clock::now() + timeout);
}

Result<api::Response> HttpClient::call(const api::Request& request, Duration timeout) {
  const Deadline until = std::chrono::steady_clock::now() + timeout;
  // What throws on the way may have been sent.
  try {
    if (Result<void> sent = send(request, until); !sent) return std::unexpected(sent.error());
    return receive(request, until);
  } catch (const std::exception& error) {
    return broken(lost(request), error.what());
  }
}

Result<api::Response> HttpClient::follow(const api::Request& request, const OnLine& on_line,
                                         Duration silence) {
  const auto until = [&] { return std::chrono::steady_clock::now() + silence; };
  if (Result<void> sent = send(request, until()); !sent) return std::unexpected(sent.error());
  Parser parser;
  parser.header_limit(kMaxHeaders);
  parser.body_limit(boost::none);
  error_code error = connection_->read_header(parser, until());
  if (!error && parser.get().result() != http::status::ok) {
    parser.body_limit(kMaxAnswer);
    error = connection_->read(parser, until());
  } else {
    while (!error && !parser.is_done() && hand_over(parser.get().body(), on_line)) {
      if (parser.get().body().size() > kMaxAnswer)
        return broken(ErrorCode::corrupt, "endless line");
      error = connection_->read_some(parser, until());
    }
    if (!error && parser.is_done()) hand_over(parser.get().body(), on_line);
  }
  if (error) return broken(ErrorCode::unavailable, in_words(error));
  connection_.reset();
  return response_of(parser);
}

}  // namespace once::client
