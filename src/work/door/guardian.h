// A process that does nothing but wait for the end of this one, whatever ends it, and then ends the
// process groups that were entrusted to it: a command has children of its own, and kill -9 gives us
// no time to end them (H29).
#pragma once

#include <sys/types.h>

#include "once/error.h"

namespace once::work {

class Guardian {
 public:
  // Before any thread is started.
  static Result<Guardian> start();
  Guardian(Guardian&& other) noexcept;
  ~Guardian();

  // In the group's first process, before it becomes another program: safe between fork and exec.
  void entrust(pid_t group) const { tell(group); }

  // Before its number may be somebody else's.
  void release(pid_t group) const { tell(-group); }

 private:
  Guardian(pid_t pid, int lifeline) : pid_(pid), lifeline_(lifeline) {}

  void tell(pid_t word) const;

  pid_t pid_;
  int lifeline_;  // When we are gone, its other end comes to its end.
};

}  // namespace once::work
