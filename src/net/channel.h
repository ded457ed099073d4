// Bytes to and from a server: a socket, with or without TLS. Nothing here waits, except for
// opening.
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

namespace once::net {

using Deadline = std::chrono::steady_clock::time_point;

// How long to wait: until a deadline, or until `interrupt` becomes readable.
struct Until {
  Until(Deadline when, int interrupt_descriptor = -1)  // NOLINT(google-explicit-constructor)
      : deadline(when), interrupt(interrupt_descriptor) {}

  Deadline deadline;
  int interrupt;  // A descriptor; -1 for none.
};

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
  Socket(Socket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), closed_(other.closed_) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;

  int descriptor() const { return descriptor_; }

  // How many bytes were sent; 0 if there is no room, nothing if the connection is broken.
  std::optional<std::size_t> send(std::string_view bytes) const;
  // How many bytes came; 0 if none have come yet, nothing if the connection is broken or closed.
  std::optional<std::size_t> receive(std::span<char> room);

  bool is_idle() const;  // As of a Channel.

  // The peer closed the connection in the regular way, after its last byte.
  bool was_closed() const { return closed_; }

 private:
  int descriptor_;
  bool closed_ = false;
};

// `unavailable` if no server answers there in time.
Result<Socket> connect_to(const Endpoint& endpoint, const Until& until);

// Connects to the first address that accepts. Each gets its share of the time, so that one that
// does not answer leaves time for the next.
std::optional<Socket> connect_to_any(const addrinfo* addresses, const Until& until);

// Waits for one of `events`. True if one came in time, or is there already when the deadline is
// past; false at the deadline, or when interrupted.
bool wait_for(int descriptor, short events, const Until& until);
// The same for any of several descriptors.
bool wait_for(std::span<pollfd> descriptors, Deadline deadline);

// The end of the first of so many equal parts of the time that is left.
Deadline share_of(Deadline deadline, int shares);

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int descriptor() const = 0;
  virtual short wants() const = 0;  // What to wait for besides POLLIN, if there is nothing to send.
  virtual std::optional<std::size_t> send(std::string_view bytes) = 0;
  virtual std::optional<std::size_t> receive(std::span<char> room) = 0;

  // After receive() returned nothing: the peer said that this was the end. False: it was cut off.
  virtual bool was_closed() const = 0;

  // Nothing has come since the last byte that was received: no bytes, and no end either.
  virtual bool is_idle() = 0;

  // After receive() or send() returned nothing: why the peer refused this side of the connection,
  // our certificate for example. Then it has taken nothing that was sent. Empty if it did not.
  virtual std::string refusal() const { return ""; }
};

std::unique_ptr<Channel> plain_channel(Socket socket);

}  // namespace once::net
