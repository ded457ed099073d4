// A connection that sends just the bytes it is told to, and reads answers as they come.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace once::testing {

struct RawAnswer {
  int status = 0;
  std::string head;
  std::string body;

  std::string header(std::string_view name) const {
    const std::string wanted = "\r\n" + std::string(name) + ": ";
    const std::size_t at = head.find(wanted);
    if (at == std::string::npos) return "";
    const std::size_t from = at + wanted.size();
    return head.substr(from, head.find("\r\n", from) - from);
  }
};

class RawHttp {
 public:
  explicit RawHttp(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~RawHttp() { close(); }
  RawHttp(RawHttp&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        connected_(other.connected_),
        in_(std::move(other.in_)) {}

  RawHttp& operator=(RawHttp&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(connected_, other.connected_);
    std::swap(in_, other.in_);
    return *this;
  }

  bool connected() const { return connected_; }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  void send(std::string_view method, std::string_view target, std::string_view body,
            std::string_view more_headers = "") {
    std::string out(method);
    out.append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(more_headers);
    out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
    send(out.append(body));
  }

  // The next answer; nothing if the connection ended before it was whole, or a minute passed.
  std::optional<RawAnswer> receive(bool head_only = false) {
    std::size_t end = 0;
    while ((end = in_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_some()) return std::nullopt;
    }
    RawAnswer answer;
    answer.head = in_.substr(0, end + 2);
    in_.erase(0, end + 4);
    answer.status = std::atoi(answer.head.c_str() + 9);
    const std::string length = answer.header("Content-Length");
    const std::size_t wanted = length.empty() || head_only ? 0 : std::stoul(length);
    while (in_.size() < wanted) {
      if (!read_some()) return std::nullopt;
    }
    answer.body = in_.substr(0, wanted);
    in_.erase(0, wanted);
    return answer;
  }

  std::optional<RawAnswer> call(std::string_view method, std::string_view target,
                                std::string_view body = "", std::string_view more_headers = "") {
    send(method, target, body, more_headers);
    return receive(method == "HEAD");
  }

  // A line of a stream, without its end.
  std::optional<std::string> receive_line() {
    std::size_t end = 0;
    while ((end = in_.find('\n')) == std::string::npos) {
      if (!read_some()) return std::nullopt;
    }
    std::string line = in_.substr(0, end);
    in_.erase(0, end + 1);
    return line;
  }

  // Whether there is something to read, which may be the end, within so long.
  bool wait_readable(std::chrono::milliseconds patience) const {
    pollfd ready{fd_, POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(patience.count())) > 0;
  }

  // Whether the peer has ended the connection within so long, even if not all of it was read.
  bool hung_up(std::chrono::milliseconds patience) const {
    pollfd ready{fd_, POLLRDHUP, 0};
    return ::poll(&ready, 1, static_cast<int>(patience.count())) > 0;
  }

  // Whether the peer has closed, within a minute.
  bool ended() {
    while (read_some()) {
    }
    return true;
  }

 private:
  bool read_some() {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, 60'000) <= 0) return false;
    std::array<char, 65'536> some;
    const auto count = ::recv(fd_, some.data(), some.size(), 0);
    if (count <= 0) return false;
    in_.append(some.data(), static_cast<std::size_t>(count));
    return true;
  }

  int fd_;
  bool connected_ = false;
  std::string in_;
};

}  // namespace once::testing
