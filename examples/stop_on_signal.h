// TERM and INT let a worker finish what it is at, and begin nothing else.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>

#include "once/work.h"

namespace examples {

// To be made before there are other threads: all of them must leave the signals alone.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  once::Result<void> run(once::Worker& worker) const {
    std::thread waiting([&] {
      int signal = 0;
      sigwait(&signals_, &signal);
      worker.stop();
    });
    const once::Result<void> ended = worker.run();
    pthread_kill(waiting.native_handle(), SIGTERM);  // If none came.
    waiting.join();
    return ended;
  }

 private:
  sigset_t signals_{};
};

}  // namespace examples
