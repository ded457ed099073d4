// A command in a process group of its own: its output is passed on and kept, signals are passed on
// to it, and it does not outlive this process, whatever ends that.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output_passage.h"
#include "once/error.h"
#include "once/time.h"

namespace once::cli {

struct Finished {
  int exit_code = 0;  // 128 + N if signal N ended it, as shells say it.
  Captured out;
  Captured err;
  bool stopped = false;  // By stop().
};

// Keeps signals from ending this process from now on, in every thread that is started later; the
// command gets them. Called before any thread is.
void hold_signals();

// Waits so long, or until a signal comes that would have ended this process: then its number.
std::optional<int> pause_for(Duration length);

class CommandProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // After hold_signals(). `unavailable` if it cannot be started; the message says why.
  static Result<CommandProcess> start(const std::vector<std::string>& words,
                                      const Environment& environment);
  CommandProcess(CommandProcess&& other) noexcept;
  ~CommandProcess();

  // Passes on output and signals until the command has ended, and its output with it: of what still
  // holds that open, nobody waits long for more. Once the command has ended, a signal that would
  // have ended this process ends the wait.
  Finished wait();

  // From another thread: TERM now, KILL ten seconds later.
  void stop() const;

 private:
  struct Watch;

  CommandProcess() = default;

  bool pass_on_signals() const;
  bool has_ended() const;
  int end_group();
  void end_guardian();
  void take_stop(Watch& watch) const;
  void pass_on(Watch& watch) const;
  int await_exit(Watch& watch);

  pid_t pid_ = 0;  // None any more once it was waited for: its number may be another's.
  int out_ = -1;
  int err_ = -1;
  int signals_ = -1;
  int stop_ = -1;      // An eventfd.
  int lifeline_ = -1;  // Its other end is the guardian's: when we are gone, it kills the group.
  pid_t guardian_ = 0;
  bool terminal_ = false;  // The command was given the terminal.
};

}  // namespace once::cli
