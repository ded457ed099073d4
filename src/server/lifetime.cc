#include "server/lifetime.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace once::server {

sigset_t hold_signals(std::initializer_list<int> more) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  for (const int one : more) sigaddset(&signals, one);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);  // A file size limit is an error of the write, not a signal.
  return signals;
}

int wait_for(const sigset_t& signals) {
  int received = 0;
  (void)sigwait(&signals, &received);
  return received;
}

int serve_until(const sigset_t& signals, const std::function<void()>& reload) {
  for (;;) {
    const int received = wait_for(signals);
    if (received != SIGHUP) return received;
    reload();
  }
}

void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

ShutdownDeadline::~ShutdownDeadline() {
  {
    const std::lock_guard lock(mutex_);
    in_time_ = true;
  }
  signal_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ShutdownDeadline::arm(std::chrono::milliseconds patience) {
  thread_ = std::thread([this, patience] {
    std::unique_lock lock(mutex_);
    if (signal_.wait_for(lock, patience, [this] { return in_time_; })) return;
    constexpr std::string_view kWhy = "once: stopped without waiting for the store any longer\n";
    (void)!::write(STDERR_FILENO, kWhy.data(), kWhy.size());
    std::_Exit(EXIT_SUCCESS);
  });
}

}  // namespace once::server
