// Publishes to one JetStream stream from many connections at once, each message with an id by which
// NATS knows a repeat, each connection waiting for its acknowledgement before the next. One thread,
// as `once bench` has: bench/compare puts the two side by side.
//
//   nats_load PORT CLIENTS SECONDS     prints {"per_second":…,"p50_ms":…,"p99_ms":…}
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "nats_load: %s\n", why.c_str());
  std::exit(1);
}

class Connection {
 public:
  Connection(std::uint16_t port, std::size_t number)
      : inbox_("inbox." + std::to_string(::getpid()) + "." + std::to_string(number)) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      fail("no server at port " + std::to_string(port));
    }
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    send("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB " + inbox_ + " 1\r\n");
  }
  int fd() const { return fd_; }

  void create_stream() {
    const std::string config =
        R"({"name":"bench","subjects":["bench"],"storage":"file","duplicate_window":120000000000})";
    send("PUB $JS.API.STREAM.CREATE.bench " + inbox_ + " " + std::to_string(config.size()) +
         "\r\n" + config + "\r\n");
    while (!receive()) {
    }
  }

  void publish() {
    const std::string head =
        "NATS/1.0\r\nNats-Msg-Id: " + inbox_ + "." + std::to_string(sent_++) + "\r\n\r\n";
    const std::string body = R"({"data":0})";
    sent_at_ = Clock::now();
    send("HPUB bench " + inbox_ + " " + std::to_string(head.size()) + " " +
         std::to_string(head.size() + body.size()) + "\r\n" + head + body + "\r\n");
  }

  // True once an acknowledgement has arrived.
  bool receive() {
    std::array<char, 8'192> some;
    const auto count = ::recv(fd_, some.data(), some.size(), 0);
    if (count <= 0) fail("the server hung up");
    in_.append(some.data(), static_cast<std::size_t>(count));
    bool acknowledged = false;
    while (take_line(acknowledged)) {
    }
    return acknowledged;
  }

  Clock::duration waited() const { return Clock::now() - sent_at_; }

 private:
  void send(const std::string& text) const {
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
      fail("the server hung up");
    }
  }

  // False if no whole line, with its payload, has arrived.
  bool take_line(bool& acknowledged) {
    const std::size_t end = in_.find("\r\n");
    if (end == std::string::npos) return false;
    const std::string_view line(in_.data(), end);
    std::size_t length = end + 2;
    if (line.starts_with("MSG ")) {
      std::size_t bytes = 0;
      const std::string_view digits = line.substr(line.rfind(' ') + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
      length += bytes + 2;
      if (in_.size() < length) return false;
      const std::string_view payload = std::string_view(in_).substr(end + 2, bytes);
      if (payload.find("\"error\"") != std::string_view::npos) fail(std::string(payload));
      acknowledged = true;
    } else if (line.starts_with("PING")) {
      send("PONG\r\n");
    } else if (line.starts_with("-ERR")) {
      fail(std::string(line));
    }
    in_.erase(0, length);
    return true;
  }

  int fd_ = -1;
  std::string inbox_;
  std::string in_;
  std::uint64_t sent_ = 0;
  Clock::time_point sent_at_;
};

double millis_at(std::vector<Clock::duration>& waits, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(waits.size() - 1));
  std::ranges::nth_element(waits, waits.begin() + at);
  return std::chrono::duration<double, std::milli>(waits[static_cast<std::size_t>(at)]).count();
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) fail("usage: nats_load PORT CLIENTS SECONDS");
  const auto port = static_cast<std::uint16_t>(std::atoi(words[1]));
  const auto clients = static_cast<std::size_t>(std::atoi(words[2]));
  const auto length = std::chrono::seconds(std::atoi(words[3]));
  if (port == 0 || clients == 0 || clients > 1'000 || length.count() <= 0) fail("bad arguments");

  std::vector<Connection> connections;
  for (std::size_t i = 0; i < clients; ++i) connections.emplace_back(port, i);
  connections[0].create_stream();
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < clients; ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i].fd(), &event);
    connections[i].publish();
  }
  const Clock::time_point begun = Clock::now();
  std::vector<Clock::duration> waits;
  std::array<epoll_event, 256> ready;
  while (Clock::now() < begun + length) {
    const int some = ::epoll_wait(epoll, ready.data(), static_cast<int>(ready.size()), 1'000);
    for (int i = 0; i < some; ++i) {
      Connection& connection = connections[ready[static_cast<std::size_t>(i)].data.u64];
      if (!connection.receive()) continue;
      waits.push_back(connection.waited());
      connection.publish();
    }
  }
  if (waits.empty()) fail("nothing was acknowledged");
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  std::printf("{\"per_second\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n",
              static_cast<double>(waits.size()) / seconds, millis_at(waits, 0.5),
              millis_at(waits, 0.99));
}
