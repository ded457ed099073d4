#include "server/lifetime.h"

#include <pthread.h>
#include <sys/resource.h>

namespace once::server {

sigset_t hold_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is a write that failed.
  return signals;
}

int wait_for(const sigset_t& signals) {
  int received = 0;
  (void)sigwait(&signals, &received);
  return received;
}

void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace once::server
