// A process that waits for the end of this one, whatever ends it, and then ends the process groups
// that were entrusted to it. A command has children of its own, and kill -9 leaves this process no
// time to end them (docs/hazards.md#h29).
#pragma once

#include <sys/types.h>

#include "once/error.h"

namespace once::process {

// Safe to share between threads.
class Guardian {
 public:
  // Before any thread is started. `unavailable` if it cannot be.
  static Result<Guardian> start();
  Guardian(Guardian&& other) noexcept;
  ~Guardian();

  // In the group's first process, before it becomes another program: safe between fork and exec.
  void entrust(pid_t group) const { send(group); }

  // Before the group's number can be another's.
  void release(pid_t group) const { send(-group); }

 private:
  Guardian(pid_t pid, int lifeline) : pid_(pid), lifeline_(lifeline) {}

  void send(pid_t word) const;

  pid_t pid_;
  int lifeline_;  // A pipe to the guardian, which ends with this process.
};

}  // namespace once::process
