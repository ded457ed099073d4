#include "process/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

namespace once::process {

BootTime since_boot() {
  timespec now{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + BootTime(now.tv_nsec);
}

// The boot clock is read first: what comes between the two readings makes it end earlier, not
// later.
Lifetime Lifetime::of_lease(Time until, Duration length) {
  constexpr Duration kLongestWarning = std::chrono::seconds(1);
  if (until == kNever) return {};
  const BootTime now = since_boot();
  const Duration left = until - system_clock().now();
  return {.warn_at = now + left - std::min(length / 10, kLongestWarning), .end_at = now + left};
}

// What the guardian knows.
class Guardian::Groups {
 public:
  void take(const Message& message) {
    switch (message.kind) {
      case Message::Kind::entrust: lifetimes_[message.group] = message.lifetime; break;
      case Message::Kind::extend:
        if (const auto found = lifetimes_.find(message.group); found != lifetimes_.end()) {
          found->second = message.lifetime;
        }
        break;
      case Message::Kind::release: lifetimes_.erase(message.group); break;
    }
  }

  // Warns and ends those whose time has come. When the next one's comes.
  BootTime end_those_over(BootTime now) {
    BootTime next = BootTime::max();
    for (auto at = lifetimes_.begin(); at != lifetimes_.end();) {
      auto& [group, lifetime] = *at;
      if (now >= lifetime.end_at) {
        (void)::kill(-group, SIGKILL);
        at = lifetimes_.erase(at);
        continue;
      }
      if (now >= lifetime.warn_at) {
        (void)::kill(-group, SIGTERM);
        lifetime.warn_at = BootTime::max();
      }
      next = std::min({next, lifetime.warn_at, lifetime.end_at});
      ++at;
    }
    return next;
  }

  void end_all() const {
    for (const auto& [group, lifetime] : lifetimes_) (void)::kill(-group, SIGKILL);
  }

 private:
  std::map<pid_t, Lifetime> lifetimes_;
};

namespace {

// Readable from that time on.
void set_timer(int timer, BootTime at) {
  const bool never = at == BootTime::max();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  itimerspec when{};
  when.it_value.tv_sec = never ? 0 : seconds.count();
  when.it_value.tv_nsec = never ? 0 : (at - seconds).count();
  (void)::timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace

// A timer of CLOCK_BOOTTIME ends in time although the machine slept.
void Guardian::guard(int lifeline) {
  (void)::setsid();
  const int timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  Groups groups;
  for (;;) {
    set_timer(timer, groups.end_those_over(since_boot()));
    std::array<pollfd, 2> awaited = {{{lifeline, POLLIN, 0}, {timer, POLLIN, 0}}};
    if (::poll(awaited.data(), awaited.size(), -1) <= 0 || awaited[0].revents == 0) continue;
    Message message{};  // A pipe writes so little in one piece.
    const auto count = ::read(lifeline, &message, sizeof message);
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(sizeof message)) break;
    groups.take(message);
  }
  groups.end_all();
  ::_exit(0);
}

Result<Guardian> Guardian::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return failure(ErrorCode::unavailable, std::system_category().message(errno));
  }
  const pid_t pid = ::fork();
  if (pid < 0) return failure(ErrorCode::unavailable, std::system_category().message(errno));
  if (pid == 0) {
    // Closes all else: others may wait for the end of what it would keep open.
    const int lifeline = ::dup2(ends[0], 0);
    (void)::close_range(1, ~0U, 0);
    guard(lifeline);
  }
  ::close(ends[0]);
  return Guardian(pid, ends[1]);
}

Guardian::Guardian(Guardian&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), lifeline_(std::exchange(other.lifeline_, -1)) {}

Guardian::~Guardian() {
  if (lifeline_ >= 0) ::close(lifeline_);
  if (pid_ > 0) (void)::waitpid(pid_, nullptr, 0);
}

void Guardian::send(const Message& message) const {
  (void)!::write(lifeline_, &message, sizeof message);
}

}  // namespace once::process
