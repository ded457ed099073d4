// Finding one that answers among several addresses.
#include "net/channel.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <list>

namespace once::net {
namespace {

using std::chrono::milliseconds;

class Listener {
 public:
  explicit Listener(int backlog)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address_);
    EXPECT_EQ(::bind(socket_.descriptor(), name(), length), 0);
    EXPECT_EQ(::listen(socket_.descriptor(), backlog), 0);
    EXPECT_EQ(::getsockname(socket_.descriptor(), name(), &length), 0);
  }

  addrinfo info(addrinfo* next = nullptr) {
    addrinfo info{};
    info.ai_family = AF_INET;
    info.ai_socktype = SOCK_STREAM;
    info.ai_addr = name();
    info.ai_addrlen = sizeof(address_);
    info.ai_next = next;
    return info;
  }

  std::uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  sockaddr* name() { return reinterpret_cast<sockaddr*>(&address_); }

  const Socket socket_;
  sockaddr_in address_{};
};

Deadline within(milliseconds length) { return std::chrono::steady_clock::now() + length; }

TEST(Channel, AnAddressThatSaysNothingDoesNotKeepUsFromTheNext) {
  Listener silent(0);
  // Nobody takes these: when there is no room for more, connecting is not answered.
  std::list<std::optional<Socket>> waiting;
  const addrinfo alone = silent.info();
  do {
    waiting.push_back(connect_to_any(&alone, within(milliseconds(100))));
    ASSERT_LT(waiting.size(), 100U);
  } while (waiting.back());
  Listener open(8);
  addrinfo second = open.info();
  const addrinfo first = silent.info(&second);
  const std::optional<Socket> socket = connect_to_any(&first, within(milliseconds(1'000)));
  ASSERT_TRUE(socket.has_value());
  sockaddr_in peer{};
  socklen_t length = sizeof(peer);
  ASSERT_EQ(::getpeername(socket->descriptor(), reinterpret_cast<sockaddr*>(&peer), &length), 0);
  EXPECT_EQ(ntohs(peer.sin_port), open.port());
}

TEST(Channel, WhatIsThereIsTakenWhenTheTimeIsOver) {
  Listener listener(8);
  const addrinfo info = listener.info();
  const std::optional<Socket> socket = connect_to_any(&info, within(milliseconds(1'000)));
  ASSERT_TRUE(socket.has_value());
  EXPECT_TRUE(wait_for(socket->descriptor(), POLLOUT, within(milliseconds(-1'000))));
  EXPECT_FALSE(wait_for(socket->descriptor(), POLLIN, within(milliseconds(-1'000))));
}

}  // namespace
}  // namespace once::net
