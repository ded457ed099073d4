#include "server/session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <optional>
#include <utility>

#include "server/header_scan.h"
#include "server/incoming.h"
#include "server/io_thread.h"
#include "server/outbox.h"
#include "wire/problem.h"

namespace once::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Instant = std::chrono::steady_clock::time_point;

constexpr std::size_t kReadBytes = 16U << 10;
constexpr std::size_t kFramingPerByte = 16;    // Of a body in chunks, beside one header's worth.
constexpr std::size_t kLargeBody = 64U << 10;  // Buffered only after the token was checked.
constexpr auto kLinger = std::chrono::seconds(2);
constexpr std::size_t kLingerBytes = 64U << 20;
constexpr auto kGrace = std::chrono::milliseconds(250);  // Lets the driver's deadline fire first.
constexpr auto kHeartbeat = std::chrono::seconds(15);
constexpr std::string_view kHeartbeatText = ":\n\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

class Connection final : public Session,
                         public Executor,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(IoThread& thread, tcp::socket socket, Shared shared)
      : thread_(thread),
        socket_(std::move(socket)),
        shared_(shared),
        owed_(shared.clock, shared.bodies) {}

  ~Connection() override { release(reserving_); }

  void start() override {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    idle_since_ = std::chrono::steady_clock::now();
    next_request();
    read();
  }

  void turn_away() override {
    next_request();
    refuse(api::problem(api::Code::overloaded, "too many connections are open"));
  }

  void finish() override {
    finishing_ = true;
    if (follower_ || lingering_) return abort();
    if (owed_.empty() && !writing_ && !in_request()) abort();
  }

  void abort() override {
    hung_up_ = true;
    owed_.cancel();
    if (follower_) shared_.handler.hub()->unfollow(*std::exchange(follower_, std::nullopt));
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
    thread_.remove(this);
  }

  // Executor: plans continue on this thread while the connection is open.
  void post(std::move_only_function<void()> task) override { thread_.post(std::move(task)); }
  bool is_cancelled() const override { return hung_up_; }

  void end_if_late(Instant now) override {
    if (follower_ && shared_.handler.refusal(follows_)) return abort();  // Token was revoked.
    if (follower_ && !writing_ && now - written_since_ >= kHeartbeat) return send(kHeartbeatText);
    if (owed_.time_out(now)) flush();
    if (now < deadline()) return;
    if (writing_) discard_unsent();
    if (writing_ || !in_request() || refused_) return abort();
    refuse(api::Problem(api::Code::invalid, "the request took too long to arrive")
               .status(408)
               .finish());
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  // Otherwise the kernel would keep the unsent bytes for a peer that reads nothing.
  void discard_unsent() {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  }

  // No deadline while a request is worked on: that has limits of its own.
  Instant deadline() const {
    if (writing_) return written_since_ + shared_.settings.send;
    if (lingering_) return written_since_ + kLinger;
    if (follower_) return Instant::max();
    if (in_request() && !is_full()) return request_since_ + shared_.settings.receive;
    return owed_.empty() ? idle_since_ + shared_.settings.idle : Instant::max();
  }

  bool in_request() const { return parser_ && (parser_->got_some() || in_.size() > 0); }

  void next_request() {
    parser_.emplace();
    scan_ = {};
    head_.reset();
    framing_bytes_ = 0;
    parser_->header_limit(static_cast<std::uint32_t>(shared_.settings.max_header_bytes));
    parser_->body_limit(largest_body_limit(shared_.settings));
    parser_->eager(false);
    continued_ = false;
    judged_ = false;
  }

  // So much is owed or unsent that no further request is read. One request always fits.
  bool is_full() const {
    return owed_.size() >= shared_.settings.max_pipelined ||
           owed_.bytes() >= shared_.settings.max_output_bytes;
  }

  bool may_read() const {
    const bool taken = !refused_ || follower_ || lingering_;
    return !reading_ && taken && !ended_ && socket_.is_open() && !is_full();
  }

  void read() {
    if (!may_read()) return;
    reading_ = true;
    socket_.async_read_some(
        in_.prepare(kReadBytes),
        [self = shared_from_this()](const error_code& error, std::size_t count) {
          self->reading_ = false;
          self->on_read(error, count);
        });
  }

  void on_read(const error_code& error, std::size_t count) {
    if (!socket_.is_open()) return;
    if (lingering_) return on_lingering_read(error, count);
    if (error) {
      ended_ = true;
      // The peer may have closed only its sending half, but usually it is gone: a claim granted to
      // it now would block others until its lease ends.
      hung_up_ = true;
      if (owed_.empty() && !writing_) abort();
      return;
    }
    if (follower_) return read();  // Bytes from a follower are ignored.
    if (!in_request()) request_since_ = std::chrono::steady_clock::now();
    in_.commit(count);
    take_requests();
    flush();
    read();
  }

  // Takes every complete request in the buffer.
  void take_requests() {
    while (in_.size() > 0 && !refused_ && !is_full()) {
      if (head_ ? !take_some_body() : !take_head()) break;
      if (!body_fits() || !may_be_sent()) return;
      if (parser_->is_done()) take_request();
    }
    if (head_ && !refused_) invite_body();
  }

  std::string_view unread() const {
    return {static_cast<const char*>(in_.data().data()), in_.size()};
  }

  // Both return false if nothing can be done with what has arrived: more has to, or it was refused.
  bool take_head() {
    const std::size_t most = shared_.settings.max_header_bytes;
    const auto length = scan_.find_end(unread());
    if (!length) return give_up(not_http(length.error()));
    if (*length ? **length > most : in_.size() >= most) return give_up(header_too_long());
    if (!*length) return false;
    if (auto refusal = judge_header(unread().substr(0, **length))) {
      return give_up(std::move(*refusal));
    }
    error_code error;
    const std::size_t parsed = parser_->put(asio::buffer(in_.data(), **length), error);
    if (error) return give_up(refusal_of(error, shared_.settings));
    if (parsed != **length || !parser_->is_header_done()) {
      return give_up(not_http("the end of its header is in doubt"));
    }
    in_.consume(parsed);
    head_.emplace(parser_->get().base(), parser_->keep_alive());
    return true;
  }

  bool take_some_body() {
    const std::size_t before = parser_->get().body().size();
    error_code error;
    const std::size_t parsed = parser_->put(in_.data(), error);
    in_.consume(parsed);
    const bool incomplete = error == http::error::need_more;
    if (error && !incomplete) return give_up(refusal_of(error, shared_.settings));
    const std::size_t body = parser_->get().body().size();
    framing_bytes_ += parsed - (body - before);
    if (incomplete && has_bare_line_end(unread()))
      return give_up(not_http("a CR or LF alone in a body of chunks"));
    const std::size_t most = shared_.settings.max_header_bytes;
    if ((incomplete && in_.size() >= most) || framing_bytes_ > most + kFramingPerByte * body) {
      return give_up(api::problem(api::Code::too_large, "what divides the body is too long"));
    }
    return !incomplete;
  }

  bool give_up(api::Response refusal) {
    refuse(std::move(refusal));
    return false;
  }

  // Of the body that is coming in, as far as it is known.
  std::uint64_t body_bytes() const {
    const std::uint64_t announced = parser_->content_length().value_or(0);
    return std::max<std::uint64_t>(announced, parser_->get().body().size());
  }

  std::size_t limit_of_body() const {
    const api::Request& request = head_->request;
    const api::BodyLimit limit = shared_.handler.body_limit(request.method, request.target);
    return body_limit(limit, shared_.settings);
  }

  // Most bodies are small enough for every operation, so that the operation need not be looked up.
  bool body_fits() {
    if (body_bytes() <= smallest_body_limit(shared_.settings)) return true;
    const std::size_t limit = limit_of_body();
    if (body_bytes() <= limit) return true;
    refuse(too_large(limit));
    return false;
  }

  // Checks the token before buffering a large body; buffered bodies are bounded.
  bool may_be_sent() {
    if (judged_ || body_bytes() <= kLargeBody) return true;
    judged_ = true;
    std::optional<api::Response> refusal = shared_.handler.refusal(head_->request);
    const auto announced = parser_->content_length();
    if (!refusal && !reserve(announced ? *announced : limit_of_body())) {
      refusal = api::problem(api::Code::overloaded, "too many large bodies are under way");
    }
    if (refusal) refuse(std::move(*refusal));
    return !refusal;
  }

  bool reserve(std::size_t bytes) {
    if (shared_.bodies.fetch_add(bytes) + bytes > shared_.settings.max_bodies_bytes) {
      release(bytes);
      return false;
    }
    reserving_ = bytes;
    return true;
  }
  void release(std::size_t bytes) { shared_.bodies -= bytes; }

  void invite_body() {
    if (std::exchange(continued_, true)) return;
    if (!head_->expects_continue || !owed_.empty()) return;
    owed_.say(kContinue);
  }

  void take_request() {
    api::Request request = std::move(head_->request);
    request.body = std::move(parser_->get().body());
    const bool keep_alive = head_->keep_alive && !finishing_;
    if (!keep_alive) refused_ = true;  // Later requests are not read.
    const Framing framing{
        .head = request.method == "HEAD", .keep_alive = keep_alive, .http_1_0 = head_->http_1_0};
    next_request();
    if (in_.size() > 0) request_since_ = std::chrono::steady_clock::now();
    const Outbox::Id id =
        owed_.owe(framing, {.held = weight_of(request), .reserved = std::exchange(reserving_, 0)});
    answer(std::move(request), id);
  }

  void answer(api::Request request, Outbox::Id id) {
    Reply reply = shared_.handler.respond(
        std::move(request), *this,
        [self = shared_from_this(), id](api::Response response, const ReplyCallback::Body& body) {
          if (self->thread_.is_here()) return self->settle_and_flush(id, response, body);
          self->thread_.post([self, id, response = std::move(response), body] {
            self->settle_and_flush(id, response, body);
          });
        });
    if (const auto* ready = std::get_if<api::Response>(&reply)) return owed_.settle(id, *ready);
    if (auto* followed = std::get_if<Followed>(&reply)) {
      return start_following(id, followed->what, std::move(followed->request));
    }
    auto& awaited = std::get<Awaited>(reply);
    if (awaited.pending) {
      const auto due = std::chrono::steady_clock::now() + awaited.patience + kGrace;
      owed_.answer_by(id, due, std::move(awaited.pending));
    }
  }

  void settle_and_flush(Outbox::Id id, const api::Response& response,
                        const ReplyCallback::Body& body) {
    if (body) {
      begin(id, response, body);
    } else {
      owed_.settle(id, response);
    }
    flush();
  }

  void begin(Outbox::Id id, const api::Response& head, const ReplyCallback::Body& body) {
    if (!socket_.is_open()) return body->cancel();
    owed_.begin(id, head, body);
    body->watch([self = weak_from_this()] {
      const auto alive = self.lock();
      if (alive) alive->thread_.post([alive] { alive->flush(); });
    });
  }

  // From here on the connection carries events instead of answers. It asks the hub for more only
  // after the last events were sent, so a slow peer delays nobody else.
  void start_following(Outbox::Id id, const api::Following& what, api::Request asked) {
    follows_ = std::move(asked);
    refused_ = true;
    if (what.limit) to_follow_ = *what.limit;
    owed_.drop(id);
    send(encode_stream_head("text/event-stream", shared_.clock.now()));
    follower_ = shared_.handler.hub()->follow(what.name_space, what.stream, what.from,
                                              [self = weak_from_this(), this](const Chunk& chunk) {
                                                if (const auto alive = self.lock()) {
                                                  thread_.post([alive, this, chunk] {
                                                    fed_ = true;
                                                    feed(*chunk);
                                                  });
                                                }
                                              });
  }

  // Sends events, each of which ends with an empty line, up to the limit.
  void feed(std::string_view events) {
    std::size_t end = 0;
    while (to_follow_ > 0 && end < events.size()) {
      end = events.find("\n\n", end) + 2;
      --to_follow_;
    }
    if (end > 0) send(events.substr(0, end), to_follow_ > 0);
  }

  void send(std::string_view bytes, bool goes_on = true) {
    if (!socket_.is_open()) return;
    owed_.say(bytes, goes_on);
    flush();
  }

  // Answers bytes that are no valid request, and reads no other.
  void refuse(api::Response response) {
    refused_ = true;
    lingers_ = true;
    release(std::exchange(reserving_, 0));
    shared_.handler.refused(response);
    owed_.settle(owed_.owe({.keep_alive = false}, {}), response);
    flush();
  }

  // Sends everything up to the first answer that is not ready.
  void flush() {
    if (writing_ || !socket_.is_open()) return;
    Outbox::Ready ready = owed_.take();
    out_ = std::move(ready.bytes);
    closing_ |= ready.is_last;
    if (out_.empty()) return closing_ && !lingering_ ? abort() : void();
    writing_ = true;
    written_since_ = std::chrono::steady_clock::now();
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->writing_ = false;
                        self->on_written(error);
                      });
  }

  void on_written(const error_code& error) {
    if (!socket_.is_open()) return;
    // The time in which we did not read, because too much was owed, does not count as the peer's.
    if (is_full()) request_since_ = std::chrono::steady_clock::now();
    owed_.sent(out_.size());
    const bool done = owed_.empty() && (ended_ || (finishing_ && !in_request()));
    if (!error && closing_ && lingers_ && !ended_) return linger();
    if (error || closing_ || done) return abort();
    if (follower_ && owed_.empty() && std::exchange(fed_, false)) {
      shared_.handler.hub()->ready(*follower_);
    }
    idle_since_ = std::chrono::steady_clock::now();
    take_requests();  // The buffer may hold requests that had to wait.
    flush();
    read();
  }

  // If we closed while the peer still sends, it would see a reset connection instead of our answer.
  // So we read and drop what it sends for a while.
  void linger() {
    lingering_ = true;
    in_.consume(in_.size());
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    written_since_ = std::chrono::steady_clock::now();
    read();
  }

  void on_lingering_read(const error_code& error, std::size_t count) {
    dropped_ += count;
    if (error || dropped_ > kLingerBytes) return abort();
    read();
  }

  IoThread& thread_;
  tcp::socket socket_;
  const Shared shared_;
  boost::beast::flat_buffer in_;
  // Of the request that is coming in.
  HeaderScan scan_;
  std::optional<RequestHead> head_;  // Once it is complete.
  std::optional<Parser> parser_;
  std::size_t framing_bytes_ = 0;  // Of chunk headers and trailers.

  Outbox owed_;
  std::string out_;            // Being sent.
  std::size_t reserving_ = 0;  // For the request that is coming in.
  std::size_t dropped_ = 0;
  std::optional<FollowHub::FollowerId> follower_;
  api::Request follows_;
  std::int64_t to_follow_ = std::numeric_limits<std::int64_t>::max();  // So many events.
  bool fed_ = false;  // Got events and has not asked for more yet.
  Instant idle_since_;
  Instant request_since_;
  Instant written_since_;
  bool reading_ = false;
  bool writing_ = false;
  bool continued_ = false;
  bool judged_ = false;
  bool refused_ = false;    // No further request is read.
  bool ended_ = false;      // The peer sends no more.
  bool closing_ = false;    // The connection ends after the current write.
  bool finishing_ = false;  // The server is stopping.
  bool lingers_ = false;    // Linger after the last write.
  bool lingering_ = false;
  std::atomic<bool> hung_up_ = false;
};

}  // namespace

std::shared_ptr<Session> Session::make(IoThread& thread, tcp::socket socket, Shared shared) {
  return std::make_shared<Connection>(thread, std::move(socket), shared);
}

}  // namespace once::server
