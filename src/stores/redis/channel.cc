#include "stores/redis/channel.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace once::redis {
namespace {

class PlainChannel final : public Channel {
 public:
  explicit PlainChannel(Socket socket) : socket_(std::move(socket)) {}

  int descriptor() const override { return socket_.descriptor(); }
  short wants() const override { return 0; }
  std::optional<std::size_t> send(std::string_view bytes) override { return socket_.send(bytes); }
  std::optional<std::size_t> receive(std::span<char> room) override {
    return socket_.receive(room);
  }

 private:
  const Socket socket_;
};

struct Addresses {
  addrinfo* first = nullptr;
  Addresses() = default;
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

bool connect_one(const Socket& socket, const addrinfo& address, Deadline deadline) {
  if (::connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS || !wait_for(socket.descriptor(), POLLOUT, deadline)) return false;
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0;
}

}  // namespace

std::string to_text(const Endpoint& endpoint) {
  std::string text = endpoint.host;
  return text.append(":").append(std::to_string(endpoint.port));
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<std::size_t> Socket::send(std::string_view bytes) const {
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return 0;
  return std::nullopt;
}

std::optional<std::size_t> Socket::receive(std::span<char> room) const {
  const ssize_t came = ::recv(descriptor_, room.data(), room.size(), 0);
  if (came > 0) return static_cast<std::size_t>(came);
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return std::nullopt;
}

bool wait_for(int descriptor, short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd one{.fd = descriptor, .events = events, .revents = 0};
    constexpr std::int64_t kLongest = 60'000;
    const int ready = ::poll(&one, 1, static_cast<int>(std::min(left.count(), kLongest)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Result<Socket> connect_to(const Endpoint& endpoint, Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  Addresses addresses;
  const std::string port = std::to_string(endpoint.port);
  if (::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &addresses.first) != 0) {
    return failure(ErrorCode::unavailable, "redis: there is no host " + endpoint.host);
  }
  for (const addrinfo* at = addresses.first; at != nullptr; at = at->ai_next) {
    const int descriptor =
        ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
    if (descriptor < 0) continue;
    Socket socket(descriptor);
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect_one(socket, *at, deadline)) return socket;
  }
  return failure(ErrorCode::unavailable, "redis: nobody answers at " + to_text(endpoint));
}

std::unique_ptr<Channel> plain_channel(Socket socket) {
  return std::make_unique<PlainChannel>(std::move(socket));
}

}  // namespace once::redis
