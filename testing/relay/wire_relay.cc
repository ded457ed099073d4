#include "testing/relay/wire_relay.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace once::testing {
namespace {

constexpr int kLookAroundMs = 20;

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Nothing once the peer has closed.
std::string_view receive(int socket, std::array<char, 1U << 16>& room) {
  const ssize_t came = ::recv(socket, room.data(), room.size(), 0);
  return {room.data(), came > 0 ? static_cast<std::size_t>(came) : 0};
}

}  // namespace

WireRelay::WireRelay(std::uint16_t server_port) : server_port_(server_port) {
  thread_ = std::thread([this] { listen(); });
}

WireRelay::~WireRelay() {
  ending_ = true;
  thread_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_.socket);
}

void WireRelay::decide(Decide decide) {
  const std::lock_guard lock(mutex_);
  decide_ = std::move(decide);
}

WireRelay::Fate WireRelay::decided(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  return decide_ ? decide_(bytes) : Fate::pass;
}

void WireRelay::edit_replies(EditReply edit) {
  const std::lock_guard lock(mutex_);
  edit_ = std::move(edit);
}

std::string WireRelay::edited(std::string_view bytes) {
  std::string text(bytes);
  const std::lock_guard lock(mutex_);
  if (edit_) edit_(text);
  return text;
}

void WireRelay::set_meanwhile(std::function<void()> meanwhile) {
  const std::lock_guard lock(mutex_);
  meanwhile_ = std::move(meanwhile);
}

// Without the lock: it may send something through this relay.
void WireRelay::call_meanwhile() {
  std::unique_lock lock(mutex_);
  const std::function<void()> meanwhile = meanwhile_;
  lock.unlock();
  if (meanwhile) meanwhile();
}

void WireRelay::listen() {
  while (!ending_) {
    pollfd one{.fd = listener_.socket, .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, kLookAroundMs) <= 0) continue;
    const int client = ::accept(listener_.socket, nullptr, nullptr);
    if (client >= 0) threads_.emplace_back([this, client] { serve(client); });
  }
}

void WireRelay::delay() const {
  const auto until = std::chrono::steady_clock::now() + delay_.load();
  while (!ending_ && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookAroundMs));
  }
}

void WireRelay::serve(int client) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(server_port_);
  bool open = ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  bool stalled = false;
  std::array<char, 1U << 16> room{};
  while (open && !ending_) {
    std::array<pollfd, 2> both{{{.fd = client, .events = POLLIN, .revents = 0},
                                {.fd = server, .events = POLLIN, .revents = 0}}};
    if (::poll(both.data(), both.size(), kLookAroundMs) <= 0) continue;
    if (both[1].revents != 0) {
      const std::string_view bytes = receive(server, room);
      open = !bytes.empty() && send_all(client, edited(bytes));
    }
    if (both[0].revents == 0 || !open) continue;
    const std::string_view bytes = receive(client, room);
    const Fate fate = bytes.empty() || stalled ? Fate::pass : decided(bytes);
    stalled = stalled || fate == Fate::stall;
    open = !bytes.empty() && fate != Fate::cut;
    if (!open || stalled) continue;
    if (fate == Fate::delay) delay();
    open = send_all(server, bytes);
    // What comes back shows that it was done.
    if (fate == Fate::drop_reply) {
      receive(server, room);
      open = false;
    }
    if (fate == Fate::repeat) {
      std::array<char, 1U << 16> ignored{};
      receive(server, ignored);
      call_meanwhile();
      open = send_all(server, bytes);
    }
  }
  ::close(server);
  ::close(client);
}

}  // namespace once::testing
