#include "net/channel.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace once::net {
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
  bool was_closed() const override { return socket_.was_closed(); }
  bool is_idle() override { return socket_.is_idle(); }

 private:
  Socket socket_;
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

// Leaves the reason in errno if it fails.
bool connect_one(const Socket& socket, const addrinfo& address, const Until& until) {
  if (::connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  int error = ETIMEDOUT;
  if (wait_for(socket.descriptor(), POLLOUT, until)) {
    socklen_t length = sizeof(error);
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  errno = error;
  return error == 0;
}

// Detects a peer that vanished: by probes while idle, and otherwise when what was sent is not
// acknowledged.
void set_options(int descriptor) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(descriptor, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
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

std::optional<std::size_t> Socket::receive(std::span<char> room) {
  const ssize_t came = ::recv(descriptor_, room.data(), room.size(), 0);
  if (came > 0) return static_cast<std::size_t>(came);
  closed_ = came == 0;
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return std::nullopt;
}

bool Socket::is_idle() const {
  char byte = 0;
  const ssize_t came = ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool wait_for(std::span<pollfd> descriptors, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    constexpr std::int64_t kLongest = 60'000;
    const auto patience = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongest));
    const int ready = ::poll(descriptors.data(), descriptors.size(), patience);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (left.count() <= 0) return false;
  }
}

bool wait_for(int descriptor, short events, const Until& until) {
  std::array<pollfd, 2> both = {pollfd{.fd = descriptor, .events = events, .revents = 0},
                                pollfd{.fd = until.interrupt, .events = POLLIN, .revents = 0}};
  return wait_for(both, until.deadline) && both[1].revents == 0;
}

Result<Socket> connect_to(const Endpoint& endpoint, const Until& until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  Addresses addresses;
  const std::string port = std::to_string(endpoint.port);
  if (::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &addresses.first) != 0) {
    return failure(ErrorCode::unavailable, "cannot connect: there is no host " + endpoint.host);
  }
  if (std::optional<Socket> socket = connect_to_any(addresses.first, until)) {
    return std::move(*socket);
  }
  const std::string why = std::system_category().message(errno);
  return failure(ErrorCode::unavailable, "cannot connect: " + why);
}

std::optional<Socket> connect_to_any(const addrinfo* addresses, const Until& until) {
  int left = 0;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) ++left;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next, --left) {
    const int descriptor =
        ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
    if (descriptor < 0) continue;
    Socket socket(descriptor);
    set_options(descriptor);
    if (connect_one(socket, *at, {share_of(until.deadline, left), until.interrupt})) return socket;
  }
  return std::nullopt;
}

Deadline share_of(Deadline deadline, int shares) {
  const Deadline now = std::chrono::steady_clock::now();
  return now + (std::max(deadline, now) - now) / shares;
}

std::unique_ptr<Channel> plain_channel(Socket socket) {
  return std::make_unique<PlainChannel>(std::move(socket));
}

}  // namespace once::net
