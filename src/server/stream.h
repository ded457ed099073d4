// The bytes of one connection, with or without TLS: the one place that knows which. Lives on the
// thread of its connection.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls_session.h"

namespace once::server {

class Stream {
 public:
  // Called once, and never before the call that it was given to has returned. Keeps alive what it
  // needs, the owner of the stream for example: after close() it may still be called.
  using Done = std::move_only_function<void(const boost::system::error_code&, std::size_t)>;

  virtual ~Stream() = default;

  virtual bool needs_handshake() const { return false; }
  virtual void handshake(Done done) = 0;  // If it needs one; to be done before all else.

  // Bytes that have come; at least one, unless there is an error. One call at a time.
  virtual void read_some(boost::asio::mutable_buffer room, Done done) = 0;
  // All of them. One call at a time. The bytes must stay until it is done.
  virtual void write(std::string_view bytes, Done done) = 0;

  virtual void end_sending() = 0;  // Tells the peer that this was all. After the last write.
  virtual void close() = 0;        // At once. What is under way ends with an error.
  virtual bool is_open() const = 0;

  // To be closed without the bytes that the peer did not take yet: the kernel would keep them for
  // it otherwise.
  virtual void discard_unsent() = 0;

  virtual std::string local_address() const = 0;  // Without the port.

  // The peer has closed its end, also if that cannot be read yet because of unread requests.
  virtual bool peer_closed() const { return false; }
};

std::shared_ptr<Stream> plain_stream(boost::asio::ip::tcp::socket socket);
std::shared_ptr<Stream> tls_stream(boost::asio::ip::tcp::socket socket,
                                   std::unique_ptr<net::TlsSession> session);

}  // namespace once::server
