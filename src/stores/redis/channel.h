// Bytes to and from a server: a socket, with or without TLS. Nothing here waits, but for opening.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "once/error.h"

struct addrinfo;

namespace once::redis {

using Deadline = std::chrono::steady_clock::time_point;

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

std::string to_text(const Endpoint& endpoint);

// An open socket that does not block.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;

  int descriptor() const { return descriptor_; }

  // How many bytes went; 0 if there is no room, nothing if the connection is broken.
  std::optional<std::size_t> send(std::string_view bytes) const;
  // How many came; 0 if there are none, nothing if it is broken or closed.
  std::optional<std::size_t> receive(std::span<char> room) const;

 private:
  int descriptor_;
};

// `unavailable` if nobody answers there in time.
Result<Socket> connect_to(const Endpoint& endpoint, Deadline deadline);

// To the first of them that takes it. Each has its share of the time, so that one that says nothing
// does not keep us from the next.
std::optional<Socket> connect_to_any(const addrinfo* addresses, Deadline deadline);

// Whether one of `events` came before the deadline, or is there already when it is past.
bool wait_for(int descriptor, short events, Deadline deadline);
// The same of any of them.
bool wait_for(std::span<pollfd> descriptors, Deadline deadline);

// When the first of so many equal parts of the time that is left is over.
Deadline share_of(Deadline deadline, int shares);

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int descriptor() const = 0;
  virtual short wants() const = 0;  // What to wait for besides POLLIN, if there is nothing to send.
  virtual std::optional<std::size_t> send(std::string_view bytes) = 0;
  virtual std::optional<std::size_t> receive(std::span<char> room) = 0;
};

std::unique_ptr<Channel> plain_channel(Socket socket);

}  // namespace once::redis
