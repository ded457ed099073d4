#include "server/session.h"

#include <boost/asio/buffer.hpp>
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
#include "server/stream.h"
#include "wire/problem.h"

namespace once::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Instant = std::chrono::steady_clock::time_point;

constexpr std::size_t kReadBytes = 16U << 10;
constexpr std::size_t kFramingPerByte = 16;    // Of a body in chunks, beside one header's worth.
constexpr std::size_t kLargeBody = 16U << 10;  // Buffered only after the token was checked.
constexpr std::size_t kBodyStep = 64U << 10;   // What has arrived of it is charged in such steps.
constexpr auto kLinger = std::chrono::seconds(2);
constexpr std::size_t kLingerBytes = 64U << 20;
constexpr auto kGrace = std::chrono::milliseconds(250);  // Lets the driver's deadline fire first.
constexpr auto kHeartbeat = std::chrono::seconds(15);
constexpr std::string_view kHeartbeatText = ":\n\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::uint64_t next_connection() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

AnswerKind answer_kind(std::string_view method) {
  if (method == "GET" || method == "HEAD") return AnswerKind::to_read;
  return method == "POST" ? AnswerKind::to_post : AnswerKind::to_other;
}

// What has arrived and was not taken yet. While a read is under way, its room does not move: a
// flat_buffer that is emptied starts over, and would take stale bytes for what the read brings.
class Received {
 public:
  std::size_t size() const { return buffer_.size() - taken_; }
  std::string_view bytes() const {
    return std::string_view(static_cast<const char*>(buffer_.data().data()), buffer_.size())
        .substr(taken_);
  }

  // Room for a read. Until end_read(), bytes that are taken stay where they are.
  asio::mutable_buffer begin_read(std::size_t most) {
    reading_ = true;
    return buffer_.prepare(most);
  }
  void end_read(std::size_t count) {
    reading_ = false;
    buffer_.commit(count);
    take(0);
  }

  void take(std::size_t count) {
    taken_ += count;
    if (!reading_) buffer_.consume(std::exchange(taken_, 0));
  }

 private:
  boost::beast::flat_buffer buffer_;
  std::size_t taken_ = 0;  // At its front.
  bool reading_ = false;
};

class Connection final : public Session,
                         public Executor,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(IoThread& thread, std::shared_ptr<Stream> stream, Shared shared,
             ConnectionSeats::Seat seat)
      : thread_(thread),
        stream_(std::move(stream)),
        shared_(shared),
        seat_(std::move(seat)),
        owed_(shared.clock, shared.budgets.answers),
        body_(shared.budgets.bodies) {}

  void start() override {
    reached_ = stream_->local_address();
    peer_ = {.address = seat_.machine(), .connection = next_connection()};
    after_handshake([](Connection& self) {
      self.idle_since_ = std::chrono::steady_clock::now();
      self.next_request();
      self.read();
    });
  }

  void turn_away(std::string_view why) override {
    after_handshake([why = std::string(why)](Connection& self) {
      self.next_request();
      self.refuse(api::problem(api::Code::overloaded, why));
    });
  }

  void finish() override {
    finishing_ = true;
    if (follower_ || lingering_ || handshaking_) return abort();
    if (owed_.empty() && !writing_ && !in_request()) abort();
  }

  void abort() override {
    hang_up();
    owed_.cancel();
    if (follower_) shared_.handler.hub()->unfollow(*std::exchange(follower_, std::nullopt));
    stream_->close();
    seat_.leave();
    thread_.remove(this);
  }

  // Executor: plans continue on this thread while the connection is open.
  void post(std::move_only_function<void()> task) override { thread_.post(std::move(task)); }
  bool is_cancelled() const override { return hung_up_; }

  void end_if_late(Instant now) override {
    if (follower_ && shared_.handler.admit(follows_).refusal) return abort();  // Token was revoked.
    if (follower_ && !writing_ && now - written_since_ >= kHeartbeat) return send(kHeartbeatText);
    if (owed_.time_out(now)) {
      flush();
      go_on_after_wait();
    }
    if (waits_for_ && !reading_ && stream_->peer_closed()) hang_up();
    if (now < deadline()) return;
    // Otherwise the kernel would keep the unsent bytes for a peer that reads nothing.
    if (writing_ || handshaking_) stream_->discard_unsent();
    if (handshaking_) shared_.seats.refused(ConnectionRefusal::handshake);
    if (writing_ || handshaking_ || !in_request() || refused_) return abort();
    refuse(api::Problem(api::Code::invalid, "the request took too long to arrive")
               .status(408)
               .finish());
  }

  Instant last_active(Instant now) const override {
    const bool is_busy = follower_ || writing_ || in_request() || !owed_.empty();
    return is_busy ? now : idle_since_;
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  // Without TLS at once.
  void after_handshake(std::move_only_function<void(Connection&)> next) {
    if (!stream_->needs_handshake()) return next(*this);
    handshaking_ = true;
    handshake_since_ = std::chrono::steady_clock::now();
    stream_->handshake([self = shared_from_this(), next = std::move(next)](const error_code& error,
                                                                           std::size_t) mutable {
      self->handshaking_ = false;
      if (!self->stream_->is_open()) return;
      if (!error) return next(*self);
      self->shared_.seats.refused(ConnectionRefusal::handshake);
      self->linger();  // Lets the peer read why it was refused.
    });
  }

  // No deadline while a request is worked on: that has limits of its own.
  Instant deadline() const {
    if (handshaking_) return handshake_since_ + shared_.settings.handshake;
    if (writing_) return written_since_ + shared_.settings.send;
    if (lingering_) return written_since_ + kLinger;
    if (follower_) return Instant::max();
    if (in_request() && !is_full()) return request_since_ + shared_.settings.receive;
    return owed_.empty() ? idle_since_ + shared_.settings.idle : Instant::max();
  }

  // Who waits is told to the handler at once: a claim that was granted to it now would block others
  // until its lease ends.
  void hang_up() {
    if (hung_up_.exchange(true) || !waits_for_) return;
    shared_.handler.hung_up(*this);
  }

  // A request that waits for others has its answer: those behind it start.
  void go_on_after_wait() {
    if (!waits_for_ || owed_.awaits(*waits_for_)) return;
    waits_for_.reset();
    request_since_ = std::chrono::steady_clock::now();
    if (!stream_->is_open()) return;
    take_requests();
    flush();
    read();
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
    answer_headers_.clear();
  }

  // So much is owed or unsent that no further request is read. One request always fits.
  bool is_full() const {
    return waits_for_ || owed_.size() >= shared_.settings.max_pipelined ||
           !owed_.has_room(shared_.settings.max_output_bytes);
  }

  bool may_read() const {
    const bool taken = !refused_ || follower_ || lingering_;
    // Behind a request that waits, a little is read all the same: to notice that the peer hangs up.
    const bool room = waits_for_ ? in_.size() < kReadBytes : !is_full();
    return !reading_ && taken && !ended_ && stream_->is_open() && room;
  }

  void read() {
    if (!may_read()) return;
    reading_ = true;
    stream_->read_some(in_.begin_read(kReadBytes),
                       [self = shared_from_this()](const error_code& error, std::size_t count) {
                         self->reading_ = false;
                         self->on_read(error, count);
                       });
  }

  void on_read(const error_code& error, std::size_t count) {
    if (!stream_->is_open()) return;
    if (lingering_) return on_lingering_read(error, count);
    if (error) {
      in_.end_read(0);
      ended_ = true;
      // The peer may have closed only its sending half, but usually it is gone.
      hang_up();
      if (owed_.empty() && !writing_) abort();
      return;
    }
    if (follower_) {
      in_.end_read(0);  // Bytes from a follower are ignored.
      return read();
    }
    if (!in_request()) request_since_ = std::chrono::steady_clock::now();
    in_.end_read(count);
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

  // Both return false if nothing can be done with what has arrived: more has to, or it was refused.
  bool take_head() {
    const std::size_t most = shared_.settings.max_header_bytes;
    const auto length = scan_.find_end(in_.bytes());
    if (!length) return give_up(not_http(length.error()));
    if (*length ? **length > most : in_.size() >= most) return give_up(header_too_long());
    if (!*length) return false;
    if (auto refusal = judge_header(in_.bytes().substr(0, **length))) {
      return give_up(std::move(*refusal));
    }
    error_code error;
    const std::size_t parsed = parser_->put(asio::buffer(in_.bytes().substr(0, **length)), error);
    if (error) return give_up(refusal_of(error, shared_.settings));
    if (parsed != **length || !parser_->is_header_done()) {
      return give_up(not_http("the end of its header is in doubt"));
    }
    in_.take(parsed);
    head_.emplace(parser_->get().base(), parser_->keep_alive());
    return may_ask();
  }

  bool take_some_body() {
    const std::size_t before = parser_->get().body().size();
    error_code error;
    const std::size_t parsed = parser_->put(asio::buffer(in_.bytes()), error);
    in_.take(parsed);
    const bool incomplete = error == http::error::need_more;
    if (error && !incomplete) return give_up(refusal_of(error, shared_.settings));
    const std::size_t body = parser_->get().body().size();
    framing_bytes_ += parsed - (body - before);
    if (incomplete && has_bare_line_end(in_.bytes()))
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

  // Judges each request once, as soon as its header is there: before its body is read, and before
  // anything looks at its path.
  bool may_ask() {
    Verdict verdict = shared_.judgement.judge(head_->request, reached_);
    answer_headers_ = std::move(verdict.headers);
    if (verdict.refusal) refuse(refusal_of(*verdict.refusal));
    return !verdict.refusal;
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

  // Checks the token before buffering a large body. Bodies are bounded together, by what has
  // arrived and not by what was announced.
  bool may_be_sent() {
    if (body_bytes() <= kLargeBody) return true;
    if (!std::exchange(judged_, true)) {
      Admission admission = shared_.handler.admit(head_->request);
      if (admission.refusal) return give_up(std::move(*admission.refusal));
      body_.move_to(admission.tenant);
    }
    const std::size_t arrived = parser_->get().body().size();
    const std::size_t charged = (arrived + kBodyStep - 1) / kBodyStep * kBodyStep;
    if (charged <= body_.bytes() || body_.resize(charged)) return true;
    return give_up(api::problem(api::Code::overloaded, "too many large bodies are under way"));
  }

  void invite_body() {
    if (std::exchange(continued_, true)) return;
    if (!head_->expects_continue || !owed_.empty()) return;
    owed_.say(kContinue);
  }

  void take_request() {
    api::Request request = std::move(head_->request);
    request.body = std::move(parser_->get().body());
    request.peer = peer_;
    const bool keep_alive = head_->keep_alive && !finishing_;
    if (!keep_alive) refused_ = true;  // Later requests are not read.
    const std::string headers = std::move(answer_headers_);
    const Framing framing{.head = request.method == "HEAD",
                          .keep_alive = keep_alive,
                          .http_1_0 = head_->http_1_0,
                          .headers = headers};
    next_request();
    if (in_.size() > 0) request_since_ = std::chrono::steady_clock::now();
    const Outbox::Id id =
        owed_.owe(framing, {.request_bytes = request.body.size(),
                            .answer = answer_kind(request.method),
                            .body = std::exchange(body_, Charge(shared_.budgets.bodies))});
    answer(std::move(request), id, headers);
  }

  void answer(api::Request request, Outbox::Id id, const std::string& headers) {
    const AnswerKind kind = answer_kind(request.method);
    Reply reply =
        shared_.handler.respond(std::move(request), *this,
                                [self = shared_from_this(), id, kind](
                                    api::Response response, const ReplyCallback::Body& body,
                                    const ReplyCallback::Tenant& tenant) {
                                  self->deliver(id, kind, std::move(response), body, tenant);
                                });
    owed_.belongs_to(reply.tenant);
    if (auto* ready = std::get_if<api::Response>(&reply)) {
      return owed_.settle(id, std::move(*ready));
    }
    if (auto* followed = std::get_if<Followed>(&reply)) {
      return start_following(id, std::move(*followed), headers);
    }
    auto& awaited = std::get<Awaited>(reply);
    if (awaited.waits) waits_for_ = id;
    if (awaited.pending) {
      const auto due = std::chrono::steady_clock::now() + awaited.patience + kGrace;
      owed_.answer_by(id, due, std::move(awaited.pending));
    }
  }

  // Called on any thread. A long answer is charged before it is this thread's: many connections may
  // get theirs at the same moment.
  void deliver(Outbox::Id id, AnswerKind kind, api::Response response,
               const ReplyCallback::Body& body, const ReplyCallback::Tenant& tenant) {
    if (thread_.is_here()) return settle_and_flush(id, std::move(response), body);
    Charge charge(shared_.budgets.answers);
    charge.move_to(tenant);
    charge_on_its_way(charge, kind, response);
    thread_.post([self = shared_from_this(), id, response = std::move(response), body,
                  charge = std::move(charge)]() mutable {
      charge.count(0);
      self->settle_and_flush(id, std::move(response), body);
    });
  }

  void settle_and_flush(Outbox::Id id, api::Response response, const ReplyCallback::Body& body) {
    if (body) {
      begin(id, response, body);
    } else {
      owed_.settle(id, std::move(response));
    }
    flush();
    go_on_after_wait();
  }

  void begin(Outbox::Id id, const api::Response& head, const ReplyCallback::Body& body) {
    if (!stream_->is_open()) return body->cancel();
    owed_.begin(id, head, body);
    body->watch([self = weak_from_this()] {
      const auto alive = self.lock();
      if (alive) alive->thread_.post([alive] { alive->flush(); });
    });
  }

  // From here on the connection carries events instead of answers. It asks the hub for more only
  // after the last events were sent, so a slow peer delays nobody else.
  void start_following(Outbox::Id id, Followed followed, const std::string& headers) {
    const api::Following& what = followed.what;
    follows_ = std::move(followed.request);
    refused_ = true;
    if (what.limit) to_follow_ = *what.limit;
    owed_.drop(id);
    send(encode_stream_head("text/event-stream", headers, shared_.clock.now()));
    follower_ = shared_.handler.hub()->follow(what.name_space, what.stream, {what.from, what.since},
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
    if (events == api::kEndOfLog) return send(events, false);
    std::size_t end = 0;
    while (to_follow_ > 0 && end < events.size()) {
      end = events.find("\n\n", end) + 2;
      --to_follow_;
    }
    if (end > 0) send(events.substr(0, end), to_follow_ > 0);
  }

  // A follower that does not read while too much waits for others is cut: it may resume.
  void send(std::string_view bytes, bool goes_on = true) {
    if (!stream_->is_open()) return;
    if (!owed_.say(bytes, goes_on)) return abort();
    flush();
  }

  // Answers bytes that are no valid request, and reads no other.
  void refuse(api::Response response) {
    refused_ = true;
    lingers_ = true;
    body_ = Charge(shared_.budgets.bodies);
    shared_.handler.refused(response);
    const Outbox::Id id = owed_.owe({.keep_alive = false, .headers = answer_headers_}, {});
    owed_.settle(id, std::move(response));
    flush();
  }

  // Sends everything up to the first answer that is not ready.
  void flush() {
    if (writing_ || !stream_->is_open()) return;
    Outbox::Ready ready = owed_.take();
    out_ = std::move(ready.bytes);
    closing_ |= ready.is_last;
    if (out_.empty()) return closing_ && !lingering_ ? abort() : void();
    writing_ = true;
    written_since_ = std::chrono::steady_clock::now();
    stream_->write(out_, [self = shared_from_this()](const error_code& error, std::size_t) {
      self->writing_ = false;
      self->on_written(error);
    });
  }

  void on_written(const error_code& error) {
    if (!stream_->is_open()) return;
    // The time in which we did not read, because too much was owed, does not count as the peer's.
    if (is_full()) request_since_ = std::chrono::steady_clock::now();
    owed_.sent(std::exchange(out_, {}).size());  // A connection that is idle keeps no answer.
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
    in_.take(in_.size());
    stream_->end_sending();
    written_since_ = std::chrono::steady_clock::now();
    read();
  }

  void on_lingering_read(const error_code& error, std::size_t count) {
    in_.end_read(0);
    dropped_ += count;
    if (error || dropped_ > kLingerBytes) return abort();
    read();
  }

  IoThread& thread_;
  const std::shared_ptr<Stream> stream_;
  const Shared shared_;
  ConnectionSeats::Seat seat_;
  Received in_;
  // Of the request that is coming in.
  HeaderScan scan_;
  std::optional<RequestHead> head_;  // Once it is complete.
  std::optional<Parser> parser_;
  std::size_t framing_bytes_ = 0;  // Of chunk headers and trailers.
  std::string answer_headers_;     // Lines that the answer to it gets.

  api::Peer peer_;
  std::string reached_;  // The address here that the peer connected to.
  Outbox owed_;
  std::string out_;  // Being sent.
  Charge body_;      // Of the request that is coming in.
  std::size_t dropped_ = 0;
  std::optional<Outbox::Id> waits_for_;  // The request that waits for others.
  std::optional<FollowHub::FollowerId> follower_;
  api::Request follows_;
  std::int64_t to_follow_ = std::numeric_limits<std::int64_t>::max();  // So many events.
  bool fed_ = false;  // Got events and has not asked for more yet.
  Instant handshake_since_;
  Instant idle_since_;
  Instant request_since_;
  Instant written_since_;
  bool handshaking_ = false;
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

std::shared_ptr<Session> Session::make(IoThread& thread, std::shared_ptr<Stream> stream,
                                       Shared shared, ConnectionSeats::Seat seat) {
  return std::make_shared<Connection>(thread, std::move(stream), shared, std::move(seat));
}

}  // namespace once::server
