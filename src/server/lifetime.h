// What a process that serves needs of the operating system, from its start to its end.
#pragma once

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace once::server {

// TERM and INT are blocked in every thread from now on, to be waited for in one; a peer that went
// away is an error of its socket, and no signal.
sigset_t hold_signals();

// Until one of them comes; tells which.
int wait_for(const sigset_t& signals);

void allow_many_descriptors();

// Ends the process when stopping takes too long, such as by a store that does not answer: what was
// answered is safe there, as in a crash.
class ExitBy {
 public:
  ExitBy() = default;
  ~ExitBy();  // In time.
  ExitBy(const ExitBy&) = delete;
  ExitBy& operator=(const ExitBy&) = delete;

  void arm(std::chrono::milliseconds length);  // From now; once.

 private:
  std::mutex mutex_;
  std::condition_variable signal_;
  bool in_time_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace once::server
