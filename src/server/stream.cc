#include "server/stream.h"

#include <netinet/tcp.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace once::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kEncryptedBytes = 16U << 10;  // Read at once.
constexpr std::string_view kSpeakTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 28\r\n"
    "Connection: close\r\n\r\nThis port speaks https only.";

// A socket, and what both kinds of stream do with it.
class SocketStream : public Stream {
 public:
  explicit SocketStream(tcp::socket socket) : socket_(std::move(socket)) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  void close() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }
  bool is_open() const override { return socket_.is_open(); }
  void end_sending() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  void discard_unsent() override {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  }
  std::string local_address() const override {
    error_code ignored;
    return socket_.local_endpoint(ignored).address().to_string();
  }
  bool peer_closed() const override {
    tcp_info info{};
    socklen_t length = sizeof info;
    const int handle = const_cast<tcp::socket&>(socket_).native_handle();
    if (::getsockopt(handle, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
    return info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_CLOSE;
  }

 protected:
  tcp::socket socket_;
};

class PlainStream final : public SocketStream {
 public:
  using SocketStream::SocketStream;

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)]() mutable { done({}, 0); });
  }
  void read_some(asio::mutable_buffer room, Done done) override {
    socket_.async_read_some(room, std::move(done));
  }
  void write(std::string_view bytes, Done done) override {
    asio::async_write(socket_, asio::buffer(bytes), std::move(done));
  }
};

// Moves bytes between the socket and a session in memory. Encrypted bytes are read only when the
// session wants some, and written piece by piece, so that little is held.
class TlsStream final : public SocketStream, public std::enable_shared_from_this<TlsStream> {
 public:
  TlsStream(tcp::socket socket, std::unique_ptr<net::TlsSession> session)
      : SocketStream(std::move(socket)), session_(std::move(session)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  bool needs_handshake() const override { return true; }

  void handshake(Done done) override {
    await_input([self = shared_from_this(), done = std::move(done)](const error_code& error,
                                                                    std::size_t) mutable {
      self->continue_handshake(error, std::move(done));
    });
  }

  void read_some(asio::mutable_buffer room, Done done) override {
    if (is_broken_) return socket_.async_read_some(room, std::move(done));
    if (const auto [over, error, count] = try_read(room); over) {
      return asio::post(socket_.get_executor(),
                        [done = std::move(done), error, count]() mutable { done(error, count); });
    }
    await_input([self = shared_from_this(), room, done = std::move(done)](const error_code& error,
                                                                          std::size_t) mutable {
      self->continue_read(error, room, std::move(done));
    });
  }

  void write(std::string_view bytes, Done done) override {
    rest_ = bytes;
    size_ = bytes.size();
    if (is_sending_) {
      waiting_ = std::move(done);
    } else {
      send(std::move(done));
    }
  }

  // Without the peer's own farewell, which need not come.
  void end_sending() override {
    say_farewell();
    SocketStream::end_sending();
  }

  void close() override {
    if (is_open() && !discards_) say_farewell();
    waiting_ = nullptr;
    SocketStream::close();
  }

  void discard_unsent() override {
    discards_ = true;
    SocketStream::discard_unsent();
  }

 private:
  struct Tried {
    bool over = false;
    error_code error;
    std::size_t count = 0;
  };

  Tried try_read(asio::mutable_buffer room) {
    const auto came = session_->read({static_cast<char*>(room.data()), room.size()});
    send_output();
    if (!came) return {true, asio::error::eof, 0};
    return {*came > 0, {}, *came};
  }

  void continue_read(const error_code& error, asio::mutable_buffer room, Done done) {
    if (error) return done(error, 0);
    if (const auto [over, failed, count] = try_read(room); over) return done(failed, count);
    await_input([self = shared_from_this(), room, done = std::move(done)](const error_code& later,
                                                                          std::size_t) mutable {
      self->continue_read(later, room, std::move(done));
    });
  }

  void continue_handshake(const error_code& error, Done done) {
    if (error) return done(error, 0);
    const net::TlsSession::Handshake shaken = session_->handshake();
    is_broken_ = shaken == net::TlsSession::Handshake::failed;
    if (session_->met_plain_http()) {
      error_code ignored;
      socket_.write_some(asio::buffer(kSpeakTls), ignored);
    } else {
      send_output();
    }
    if (is_broken_) return done(asio::error::connection_refused, 0);
    if (shaken == net::TlsSession::Handshake::done) return done({}, 0);
    handshake(std::move(done));
  }

  // Hands the session what has come once something has. No buffer is held while nothing comes.
  void await_input(Done done) {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this(), done = std::move(done)](
                                                   const error_code& error) mutable {
      if (error) return done(error, 0);
      std::array<char, kEncryptedBytes> room;
      error_code failed;
      const std::size_t came = self->socket_.read_some(asio::buffer(room), failed);
      if (failed == asio::error::would_block || failed == asio::error::try_again) {
        return self->await_input(std::move(done));
      }
      if (failed) return done(failed, 0);
      self->session_->take_in({room.data(), came});
      done({}, came);
    });
  }

  void send_output() {
    if (!is_sending_) send(nullptr);
  }

  // Sends what the session has for the peer, then the next piece of `rest_`, until there is no
  // more.
  void send(Done done) {
    out_.clear();
    session_->take_out(out_);
    if (out_.empty() && !rest_.empty()) {
      const auto taken = session_->write(rest_);
      if (!taken) {
        rest_ = {};
        return finish(std::move(done), asio::error::broken_pipe);
      }
      rest_.remove_prefix(*taken);
      session_->take_out(out_);
    }
    if (out_.empty()) return finish(std::move(done), {});
    is_sending_ = true;
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this(), done = std::move(done)](const error_code& error,
                                                                          std::size_t) mutable {
                        self->is_sending_ = false;
                        if (!done) done = std::exchange(self->waiting_, nullptr);
                        if (!error) return self->send(std::move(done));
                        self->rest_ = {};
                        if (done) done(error, 0);
                      });
  }

  void finish(Done done, const error_code& error) {
    if (!done) return;
    asio::post(socket_.get_executor(),
               [done = std::move(done), error, size = size_]() mutable { done(error, size); });
  }

  void say_farewell() {
    session_->end_sending();
    if (is_sending_) return;
    out_.clear();
    session_->take_out(out_);
    error_code ignored;
    if (!out_.empty()) socket_.write_some(asio::buffer(out_), ignored);
  }

  const std::unique_ptr<net::TlsSession> session_;
  std::string_view rest_;  // Of what is to be written.
  std::size_t size_ = 0;
  std::string out_;  // Encrypted, being sent.
  bool is_sending_ = false;
  bool is_broken_ = false;  // The handshake failed.
  bool discards_ = false;
  Done waiting_;  // A write that came while the session itself was sending.
};

}  // namespace

std::shared_ptr<Stream> plain_stream(tcp::socket socket) {
  return std::make_shared<PlainStream>(std::move(socket));
}

std::shared_ptr<Stream> tls_stream(tcp::socket socket, std::unique_ptr<net::TlsSession> session) {
  return std::make_shared<TlsStream>(std::move(socket), std::move(session));
}

}  // namespace once::server
