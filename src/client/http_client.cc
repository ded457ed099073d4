#include "client/http_client.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <charconv>
#include <exception>
#include <optional>
#include <utility>

#include "base/header_text.h"
#include "net/channel.h"
#include "net/tls.h"

namespace once::client {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Parser = http::response_parser<http::string_body>;
using PieceParser = http::response_parser<http::buffer_body>;

constexpr const char* kNoUrl = "a server's address is http://host:port, or https://host:port";
constexpr Duration kConnectWithin = std::chrono::seconds(5);
constexpr std::size_t kMaxAnswer = 256U << 20;  // Bytes of a body, or of a line that is followed.
constexpr std::uint32_t kMaxHeaders = 64 << 10;
constexpr std::size_t kPiece = 64U << 10;
constexpr std::size_t kMaxUnparsed =
    kMaxHeaders;  // Bytes before a line of a chunk or trailer ends.

// What would end a line or a header early is refused, not sent.
bool is_sound(const api::Request& request, std::string_view token) {
  const auto ends_line = [](char c) { return !is_header_value({&c, 1}); };
  const auto ends_word = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  const auto ends_field = [&](const api::Headers::Field& field) {
    return !is_header_name(field.name) || !is_header_value(field.value);
  };
  return !request.method.empty() && std::ranges::none_of(request.method, ends_word) &&
         std::ranges::none_of(request.target, ends_word) &&
         std::ranges::none_of(token, ends_line) &&
         std::ranges::none_of(request.headers.fields(), ends_field);
}

// The bytes of a request. Throws what Beast throws: a header may be longer than it can hold.
std::string bytes_of(const api::Request& request, const Url& url, const std::string& token) {
  http::request<http::empty_body> head;
  head.method_string(request.method);
  head.target(request.target);
  head.set(http::field::host, url.authority);
  if (!token.empty()) head.set(http::field::authorization, "Bearer " + token);
  for (const auto& [name, value] : request.headers.fields()) head.insert(name, value);
  // Not by Beast, which takes a body of TRACE for a reason to throw.
  const bool expects_body =
      request.method == "POST" || request.method == "PUT" || request.method == "OPTIONS";
  if (expects_body || !request.body.empty()) head.content_length(request.body.size());
  std::string bytes = request.method + " " + request.target + " HTTP/1.1\r\n";
  for (const auto& field : head) {
    bytes.append(field.name_string()).append(": ").append(field.value()).append("\r\n");
  }
  return bytes.append("\r\n").append(request.body);
}

std::optional<std::string> try_bytes_of(const api::Request& request, const Url& url,
                                        const std::string& token) {
  try {
    return bytes_of(request, url, token);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool only_reads(const api::Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

// A request whose answer is lost.
ErrorCode lost(const api::Request& request) {
  return only_reads(request) ? ErrorCode::unavailable : ErrorCode::unknown;
}

constexpr const char* kTooLate = "no answer in time";

std::string in_words(const error_code& error) {
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

api::Response response_of(Parser& parser) {
  api::Response response = head_of(parser, Kept::all_but_framing);
  response.body = std::move(parser.get().body());
  return response;
}

Result<SharedTls> make_shared_tls(const net::TlsFiles& files) {
  Result<std::unique_ptr<net::TlsContext>> made = net::make_tls_context(files);
  if (!made) return std::unexpected(std::move(made.error()));
  return std::move(*made);
}

// Read once: it is slow.
Result<SharedTls> authorities() {
  static const Result<SharedTls> context = make_shared_tls({});
  return context;
}

// Becomes readable when a stop is requested.
class StopSignal {
 public:
  explicit StopSignal(std::stop_token stopped)
      : event_(stopped.stop_possible() ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1),
        callback_(std::move(stopped), Raise{event_.descriptor}) {}

  int descriptor() const { return event_.descriptor; }

 private:
  struct Event {
    explicit Event(int opened) : descriptor(opened) {}
    ~Event() {
      if (descriptor >= 0) ::close(descriptor);
    }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    const int descriptor;
  };
  struct Raise {
    int descriptor;
    void operator()() const { (void)::eventfd_write(descriptor, 1); }
  };

  // In this order: the event is closed when no callback can write to it any more.
  const Event event_;
  const std::stop_callback<Raise> callback_;
};

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

// One connection. After any failure it is of no more use.
class HttpClient::Connection {
 public:
  explicit Connection(std::stop_token stopped) : stop_(std::move(stopped)) {}

  Result<void> open(const Url& url, net::TlsContext* tls, Deadline deadline) {
    const net::Until until(deadline, stop_.descriptor());
    net::Endpoint endpoint{url.host, 0};
    std::from_chars(url.port.data(), url.port.data() + url.port.size(), endpoint.port);
    Result<net::Socket> socket = net::connect_to(endpoint, until);
    if (!socket) return std::unexpected(std::move(socket.error()));
    if (tls == nullptr) {
      channel_ = net::plain_channel(std::move(*socket));
    } else {
      auto channel = tls->wrap(std::move(*socket), url.host, until);
      if (!channel) return std::unexpected(std::move(channel.error()));
      channel_ = std::move(*channel);
    }
    used_ = std::chrono::steady_clock::now();
    return {};
  }

  void take_over(std::unique_ptr<net::Channel> channel) {
    channel_ = std::move(channel);
    used_ = std::chrono::steady_clock::now();
  }

  enum class Sent : std::uint8_t { all, broken, too_late };

  // `sent` tells how many bytes went when it ended.
  Sent write(std::string_view bytes, Deadline deadline, std::size_t& sent) {
    for (sent = 0; sent < bytes.size();) {
      const auto some = channel_->send(bytes.substr(sent));
      if (!some) return Sent::broken;
      sent += *some;
      if (*some == 0 && !wait_for(POLLOUT, deadline)) return Sent::too_late;
    }
    return Sent::all;
  }

  // Each reads until the parser has what its name says. Nothing: it has; else what went wrong.
  using Trouble = std::optional<std::string>;

  template <class AnyParser>
  Trouble read(AnyParser& parser, Deadline deadline) {
    parser.eager(true);
    return read_until(parser, deadline, [&] { return parser.is_done(); });
  }
  template <class AnyParser>
  Trouble read_header(AnyParser& parser, Deadline deadline) {
    parser.eager(false);
    return read_until(parser, deadline, [&] { return parser.is_header_done(); });
  }
  template <class AnyParser>
  Trouble read_some(AnyParser& parser, Deadline deadline) {
    if (parser.is_done()) return std::nullopt;
    for (;;) {
      if (!unread_.empty()) {
        error_code error;
        unread_.erase(0, parser.put(boost::asio::buffer(unread_), error));
        if (!error || error == http::error::need_buffer) return std::nullopt;
        if (error != http::error::need_more) return in_words(error);
        if (unread_.size() > kMaxUnparsed) return "a line of the answer is too long";
      }
      const Filled filled = fill(deadline);
      if (filled == Filled::too_late) return kTooLate;
      if (filled == Filled::ended) return end(parser);
    }
  }

  // Since it was opened, or since bytes of an answer came.
  std::chrono::steady_clock::duration idle_for() const {
    return std::chrono::steady_clock::now() - used_;
  }

  // Not if anything came since the last answer: the server's farewell, or the end of the stream.
  bool is_idle() const { return unread_.empty() && channel_->is_idle(); }

  // Why the server refused the connection after it was opened, before its first answer: with TLS
  // 1.3 it sees our certificate only then. Empty if it did not.
  std::string refusal() const { return has_answered_ ? "" : channel_->refusal(); }

 private:
  enum class Filled : std::uint8_t { some, ended, too_late };

  template <class AnyParser, class IsEnough>
  Trouble read_until(AnyParser& parser, Deadline deadline, IsEnough is_enough) {
    while (!is_enough()) {
      if (Trouble trouble = read_some(parser, deadline)) return trouble;
    }
    return std::nullopt;
  }

  // An answer without a length ends with the connection, if that was closed and not cut off.
  template <class AnyParser>
  Trouble end(AnyParser& parser) const {
    error_code error = http::error::end_of_stream;
    if (parser.got_some() && channel_->was_closed()) parser.put_eof(error = {});
    if (error) return in_words(error);
    return std::nullopt;
  }

  Filled fill(Deadline deadline) {
    for (;;) {
      const auto came = channel_->receive(room_);
      if (!came) return Filled::ended;
      if (*came > 0) {
        used_ = std::chrono::steady_clock::now();
        has_answered_ = true;
        unread_.append(room_.data(), *came);
        return Filled::some;
      }
      const auto events = static_cast<short>(POLLIN | channel_->wants());
      if (!wait_for(events, deadline)) return Filled::too_late;
    }
  }

  bool wait_for(short events, Deadline deadline) const {
    return net::wait_for(channel_->descriptor(), events, {deadline, stop_.descriptor()});
  }

  const StopSignal stop_;
  std::unique_ptr<net::Channel> channel_;
  std::string unread_;
  bool has_answered_ = false;
  std::array<char, kPiece> room_{};  // Not on the stack, where it would be cleared for each read.
  std::chrono::steady_clock::time_point used_;
};

Result<SharedTls> read_tls(const ClientFiles& files) {
  if (files == ClientFiles{}) return nullptr;
  return make_shared_tls({files.certificate, files.key, files.ca});
}

void replace_tls(net::TlsContext& used, const net::TlsContext& fresh) { used.adopt(fresh); }

ServerTrust trusting(SharedTls tls) {
  if (tls == nullptr) return {};
  return {.challenge = {}, .tls = [tls = std::move(tls)] { return tls; }};
}

HttpClient::HttpClient(std::string_view url, std::string token, ServerTrust trust)
    : url_(parse_url(url)), token_(std::move(token)), trust_(std::move(trust)) {}

HttpClient::HttpClient(std::string_view url, const Forwarding& forwarding)
    : url_(parse_url(url)), forwarding_(forwarding) {}

HttpClient::~HttpClient() = default;

std::unexpected<Error> HttpClient::broken(ErrorCode code, const std::string& why) {
  connection_.reset();
  const std::string scheme = url_->tls ? "https://" : "http://";
  return failure(code, scheme + url_->authority + ": " + why);
}

// What a server does not take at all, because it refuses who sent it, has not happened.
std::unexpected<Error> HttpClient::unanswered(const api::Request& request, const std::string& why) {
  const std::string refusal = connection_->refusal();
  if (refusal.empty()) return broken(lost(request), why);
  return broken(ErrorCode::unavailable, "the server refused TLS: " + refusal);
}

// Null without TLS.
Result<SharedTls> HttpClient::tls() const {
  if (!url_->tls) return nullptr;
  if (forwarding_ && forwarding_->tls != nullptr) return forwarding_->tls;
  Result<SharedTls> own = trust_.tls ? trust_.tls() : nullptr;
  return own && *own == nullptr ? authorities() : own;
}

Result<void> HttpClient::connect(Deadline until) {
  const Result<SharedTls> tls = this->tls();
  if (!tls) return failure(tls.error().code, tls.error().message);
  connection_ =
      std::make_unique<Connection>(forwarding_ ? forwarding_->stopped : std::stop_token());
  if (forwarding_ && forwarding_->dial) {
    Result<std::unique_ptr<net::Channel>> channel = forwarding_->dial();
    if (!channel) return broken(ErrorCode::unavailable, channel.error().message);
    connection_->take_over(std::move(*channel));
    return {};
  }
  const Deadline soon = std::chrono::steady_clock::now() + kConnectWithin;
  const Result<void> opened = connection_->open(*url_, tls->get(), std::min(until, soon));
  if (!opened) return broken(ErrorCode::unavailable, opened.error().message);
  return trust_.challenge ? challenge(std::min(until, soon)) : Result<void>();
}

Result<void> HttpClient::challenge(Deadline until) {
  const Challenge asked = trust_.challenge();
  const std::optional<std::string> bytes = try_bytes_of(asked.request, *url_, "");
  std::size_t sent = 0;
  if (!bytes || connection_->write(*bytes, until, sent) != Connection::Sent::all) {
    return broken(ErrorCode::unavailable, "the connection broke");
  }
  const Result<api::Response> answer = receive(asked.request, until);
  if (!answer) return std::unexpected(answer.error());
  if (connection_ == nullptr || !asked.is_answered_by(*answer)) {
    return broken(ErrorCode::unavailable, "another program listens there");
  }
  return {};
}

bool HttpClient::may_reuse(Purpose purpose) const {
  if (connection_ == nullptr || !connection_->is_idle()) return false;
  const bool any_age = purpose == Purpose::read || !forwarding_;
  return any_age || connection_->idle_for() <= forwarding_->reuse_within;
}

Result<void> HttpClient::send(const api::Request& request, Deadline until) {
  if (!url_) return failure(ErrorCode::invalid, kNoUrl);
  if (!is_sound(request, token_)) {
    return failure(ErrorCode::invalid,
                   "control characters in a method, a header, a path or a token");
  }
  const std::optional<std::string> bytes = try_bytes_of(request, *url_, token_);
  if (!bytes) return failure(ErrorCode::invalid, "a header is too long to be sent");
  bool reused = may_reuse(only_reads(request) ? Purpose::read : Purpose::change);
  for (;; reused = false) {
    if (!reused) {
      if (Result<void> ok = connect(until); !ok) return ok;
    }
    std::size_t sent = 0;
    const Connection::Sent ended = connection_->write(*bytes, until, sent);
    if (ended == Connection::Sent::too_late) {
      return broken(sent > 0 ? lost(request) : ErrorCode::unavailable, "cannot send in time");
    }
    // A server may answer and close before it has read all.
    if (ended == Connection::Sent::all || sent > 0) return {};
    if (!reused) return broken(ErrorCode::unavailable, "the connection broke");
  }
}

Result<api::Response> HttpClient::receive(const api::Request& request, Deadline until) {
  for (;;) {
    Parser parser;
    parser.header_limit(kMaxHeaders);
    parser.body_limit(forwarding_ ? forwarding_->max_answer : kMaxAnswer);
    parser.skip(request.method == "HEAD");
    // Trailers are dropped: the head is copied before they come.
    auto trouble = connection_->read_header(parser, until);
    if (!trouble && parser.get().result_int() < 200) continue;  // The answer is still to come.
    api::Response response = head_of(parser, forwarding_ ? Kept::all : Kept::all_but_framing);
    if (!trouble) trouble = connection_->read(parser, until);
    if (trouble) return unanswered(request, *trouble);
    response.body = std::move(parser.get().body());
    if (!parser.keep_alive()) connection_.reset();
    return response;
  }
}

Result<api::Response> HttpClient::receive_streamed(const api::Request& request,
                                                   const StreamOptions& options,
                                                   const std::function<Deadline()>& until) {
  std::optional<PieceParser> parser;
  do {  // Interim ones are passed over.
    parser.emplace();
    parser->header_limit(kMaxHeaders);
    parser->body_limit(boost::none);
    parser->skip(request.method == "HEAD");
    const auto trouble = connection_->read_header(*parser, until());
    if (trouble) return unanswered(request, *trouble);
  } while (parser->get().result_int() < 200);
  api::Response response = head_of(*parser, Kept::all);
  const bool is_held = options.timeout_kind == StreamOptions::TimeoutKind::whole ||
                       parser->content_length().value_or(SIZE_MAX) <= options.hold;
  bool begun = !is_held && !parser->is_done();
  if (begun) options.begin(response);
  for (std::array<char, kPiece> some; !parser->is_done();) {
    parser->get().body().data = some.data();
    parser->get().body().size = some.size();
    const auto trouble = connection_->read_some(*parser, until());
    if (trouble) return unanswered(request, *trouble);
    response.body.append(some.data(), some.size() - parser->get().body().size);
    if (!begun && response.body.size() <= options.hold) continue;
    const std::string piece = std::exchange(response.body, {});
    if (!std::exchange(begun, true)) options.begin(response);
    if (!piece.empty() && !options.piece(piece)) {
      return broken(lost(request), "the rest of the answer was not wanted");
    }
  }
  if (!parser->keep_alive()) connection_.reset();
  return response;
}

Result<api::Response> HttpClient::call_streaming(const api::Request& request,
                                                 const StreamOptions& options) {
  const auto since = std::chrono::steady_clock::now();
  const auto until = [&]() -> Deadline {
    const bool steps = options.timeout_kind == StreamOptions::TimeoutKind::steps;
    return (steps ? std::chrono::steady_clock::now() : since) + options.timeout;
  };
  try {
    if (Result<void> sent = send(request, until()); !sent) return std::unexpected(sent.error());
    return receive_streamed(request, options, until);
  } catch (const std::exception& error) {
    return broken(lost(request), error.what());
  }
}

Result<void> HttpClient::prepare(Duration timeout) {
  if (!url_) return failure(ErrorCode::invalid, kNoUrl);
  if (may_reuse(Purpose::change)) return {};
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
  auto trouble = connection_->read_header(parser, until());
  if (!trouble && parser.get().result() != http::status::ok) {
    parser.body_limit(kMaxAnswer);
    trouble = connection_->read(parser, until());
  } else {
    while (!trouble && !parser.is_done() && hand_over(parser.get().body(), on_line)) {
      if (parser.get().body().size() > kMaxAnswer)
        return broken(ErrorCode::corrupt, "endless line");
      trouble = connection_->read_some(parser, until());
    }
    if (!trouble && parser.is_done()) hand_over(parser.get().body(), on_line);
  }
  if (trouble) return broken(ErrorCode::unavailable, *trouble);
  connection_.reset();
  return response_of(parser);
}

}  // namespace once::client
