#include "demo/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

namespace once::demo {
namespace {

// The sockets to its siblings, too: a socket that another process holds is never closed.
void close_all_but(int socket) {
  const auto own = static_cast<unsigned>(socket);
  if (own > 3) (void)::close_range(3, own - 1, 0);
  (void)::close_range(own + 1, UINT_MAX, 0);
}

[[noreturn]] void become(const std::function<void(int)>& body, int socket, pid_t parent) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  close_all_but(socket);
  body(socket);
  ::_exit(0);
}

std::unexpected<Error> no_process() {
  return failure(ErrorCode::unavailable,
                 "no process can be started: " + std::system_category().message(errno));
}

}  // namespace

bool send_message(int socket, std::string_view message) {
  message = message.substr(0, kMaxMessage);
  return ::send(socket, message.data(), message.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(message.size());
}

std::optional<std::string> receive_message(int socket) {
  std::array<char, kMaxMessage> bytes{};
  ssize_t size = -1;
  do {
    size = ::recv(socket, bytes.data(), bytes.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  return std::string(bytes.data(), static_cast<std::size_t>(size));
}

Result<Child> Child::start(const std::function<void(int socket)>& body) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return no_process();
  }
  Child child;
  child.socket_ = ends[0];
  const pid_t parent = ::getpid();
  child.pid_ = ::fork();
  if (child.pid_ == 0) become(body, ends[1], parent);
  ::close(ends[1]);
  if (child.pid_ < 0) return no_process();
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), socket_(std::exchange(other.socket_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  return *this;
}

Child::~Child() { end(); }

void Child::end() noexcept {
  if (pid_ > 0) {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  if (socket_ >= 0) ::close(socket_);
  pid_ = 0;
  socket_ = -1;
}

bool Child::send(std::string_view message) const { return send_message(socket_, message); }

std::optional<std::string> Child::receive() const { return receive_message(socket_); }

std::optional<std::string> Child::receive_within(Duration patience) const {
  pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(patience.count())) != 1) return std::nullopt;
  return receive();
}

bool Child::was_killed() {
  int status = 0;
  const bool ended = pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_;
  if (ended) pid_ = 0;
  return ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace once::demo
