// Sockets on this machine's own address, for servers that tests play.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>

namespace once::testing {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

struct Listener {
  int socket = -1;
  std::uint16_t port = 0;
};

// At port 0, one is chosen. The caller closes the socket.
inline Listener listen_on_loopback(std::uint16_t port = 0) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = loopback(port);
  socklen_t length = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, name, length) != 0 || ::listen(socket, 128) != 0 ||
      ::getsockname(socket, name, &length) != 0) {
    std::abort();
  }
  return {socket, ntohs(address.sin_port)};
}

}  // namespace once::testing
