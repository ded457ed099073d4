// HTTP messages off a socket, as they are: a relay passes on what it read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace once::testing {

// The value of a header in a head of a message, whatever the name's case; "" if it is missing.
std::string_view header_in(std::string_view head, std::string_view name);

struct HttpMessage {
  std::string head;  // With the blank line at its end.
  std::string body;  // Without the framing of chunks.
};

// Its bytes on the wire, with a Content-Length for the body it has now.
std::string bytes_of(const HttpMessage& message);

// Owns a connected socket. Used by one thread, except that another may shut it down.
class HttpStream {
 public:
  explicit HttpStream(int socket) : socket_(socket) {}
  ~HttpStream() { close(); }
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  int socket() const { return socket_; }

  // Nothing if the connection ended before there was a whole one, or at more than 64 MiB.
  std::optional<HttpMessage> read_request() { return read(Body::as_the_head_says); }
  std::optional<HttpMessage> read_reply(std::string_view method);

  bool send(std::string_view bytes);

  // Returns when the other side has closed the connection.
  void wait_for_end();

  void close();

 private:
  enum class Body { as_the_head_says, none };

  std::optional<HttpMessage> read(Body body);
  std::optional<std::string> take_line();  // With its line break.
  std::optional<std::string> take(std::size_t length);
  bool fill();  // Reads more; false at the end.

  int socket_;
  std::string read_;
};

}  // namespace once::testing
