// A process that waits for the end of this one, whatever ends it, and then ends the process groups
// that were entrusted to it. A command has children of its own, and kill -9 leaves this process no
// time to end them (docs/hazards.md#h29). It also ends a group whose lifetime is over, since this
// process may be stopped, or wait for something else (docs/hazards.md#h38).
#pragma once

#include <sys/types.h>

#include <chrono>

#include "once/error.h"
#include "once/time.h"

namespace once::process {

// The time since the machine was started: the same for all of its processes, and going on while the
// machine sleeps.
using BootTime = std::chrono::nanoseconds;
BootTime since_boot();

// Until when a group may run.
struct Lifetime {
  BootTime warn_at = BootTime::max();  // TERM,
  BootTime end_at = BootTime::max();   // and KILL.

  // Of what must end with a lease of that length that is over at `until` by the system's clock: it
  // is warned a tenth of the length before, or a second if that is less. kNever: no end.
  static Lifetime of_lease(Time until, Duration length);

  bool is_warned() const { return since_boot() >= warn_at; }
  bool is_over() const { return since_boot() >= end_at; }
};

// Safe to share between threads.
class Guardian {
 public:
  // Before any thread is started. `unavailable` if it cannot be.
  static Result<Guardian> start();
  Guardian(Guardian&& other) noexcept;
  ~Guardian();

  // In the group's first process, before it becomes another program: safe between fork and exec.
  void entrust(pid_t group, const Lifetime& lifetime) const {
    send({Message::Kind::entrust, group, lifetime});
  }

  // A group that was released, or is over, stays so.
  void extend(pid_t group, const Lifetime& lifetime) const {
    send({Message::Kind::extend, group, lifetime});
  }

  // Before the group's number can be another's.
  void release(pid_t group) const { send({Message::Kind::release, group, {}}); }

 private:
  struct Message {
    enum class Kind : std::uint8_t { entrust, extend, release };
    Kind kind;
    pid_t group;
    Lifetime lifetime;
  };
  class Groups;

  Guardian(pid_t pid, int lifeline) : pid_(pid), lifeline_(lifeline) {}

  [[noreturn]] static void guard(int lifeline);
  void send(const Message& message) const;

  pid_t pid_;
  int lifeline_;  // A pipe to the guardian, which ends with this process.
};

}  // namespace once::process
