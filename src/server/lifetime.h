// Signals, limits and the shutdown deadline of a process that serves.
#pragma once

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <thread>

namespace once::server {

// Blocks TERM and INT, and `more`, in every thread from now on, so that one thread can wait for
// them. Writing to a closed socket is an error from now on, not a signal.
sigset_t hold_signals(std::initializer_list<int> more = {});

// Blocks until one of them arrives, and returns it.
int wait_for(const sigset_t& signals);

// The same, but calls `reload` for each SIGHUP meanwhile.
int serve_until(const sigset_t& signals, const std::function<void()>& reload);

void allow_many_descriptors();

// Ends the process if stopping takes too long, for example because the store does not answer.
// Everything answered is safe in the store, as after a crash.
class ShutdownDeadline {
 public:
  ShutdownDeadline() = default;
  ~ShutdownDeadline();  // Disarms it.
  ShutdownDeadline(const ShutdownDeadline&) = delete;
  ShutdownDeadline& operator=(const ShutdownDeadline&) = delete;

  void arm(std::chrono::milliseconds patience);  // Starts now. To be called once.

 private:
  std::mutex mutex_;
  std::condition_variable signal_;
  bool in_time_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace once::server
