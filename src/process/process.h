// A command in a process group of its own. It does not outlive this process, whatever ends that:
// a guardian knows its group before its first instruction.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "once/error.h"
#include "once/time.h"
#include "process/descriptor.h"
#include "process/guardian.h"
#include "process/output_tee.h"

namespace once::process {

using Environment = std::vector<std::pair<std::string, std::string>>;

// A descriptor that the command writes to, and this process reads.
struct Output {
  int descriptor;
  int pass_to = -1;  // Where to write it as it comes; -1 for nowhere.
  Keep keep;
};

// A foreground job gets the terminal, and the signals that come to this process: for one command at
// a time, after hold_signals().
enum class Job : std::uint8_t { background, foreground };

// Descriptors that are neither `input` nor an output are this process's.
struct Command {
  std::vector<std::string> words;
  // Besides this process's variables, or in their place. The token and the store's address are not
  // passed on.
  Environment environment;
  std::optional<std::string_view> input;  // All that it can read. Must outlive the process.
  std::vector<Output> outputs;
  Job job = Job::background;
  Lifetime lifetime;  // It is not started after that, and the guardian ends it then.
};

struct Finished {
  int status = 0;                 // As waitpid() tells it.
  std::vector<Captured> outputs;  // In the order of the command's.
  bool stopped = false;           // By stop().
  bool warned = false;            // By the guardian, or would have been by now.

  // 128 + N if signal N ended it, as shells say it.
  int exit_code() const {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
};

class Process {
 public:
  // `unavailable` if it cannot be started; the message says why. `guardian` must outlive it.
  static Result<std::unique_ptr<Process>> start(Command command, const Guardian& guardian);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Passes on input, output and signals until the command has ended and its output was passed on.
  // What it left running in its group ends with it; if something outside its group holds an output
  // open, that is read for one more second. After the command's end, stop() and a signal that would
  // have ended this process end the wait. Called once.
  Finished wait();

  // From any thread: sends TERM now, and KILL ten seconds later.
  void stop() const { stop_.wake(); }

  // From any thread: the guardian lets it run until then.
  void extend(const Lifetime& lifetime);

 private:
  using Clock = std::chrono::steady_clock;

  struct Pipes;

  Process(Command command, const Guardian& guardian)
      : command_(std::move(command)),
        guardian_(guardian),
        lifetime_(command_.lifetime),
        unfed_(command_.input.value_or("")) {}

  Result<void> launch();
  [[noreturn]] void become_command(char* const* words, char* const* variables,
                                   const Pipes& pipes) const;
  bool has_ended() const;
  bool has_passed_on_all() const;
  void end_group();
  void poll_once();
  void feed();
  void take_stop();
  void pass_on_signals();
  void leave_soon();
  bool was_warned();

  // Constant once it was started.
  const Command command_;
  const Guardian& guardian_;
  Descriptor ended_;           // A pidfd.
  Descriptor signals_;         // A signalfd, of a foreground job.
  bool has_terminal_ = false;  // The command was given the terminal.
  pid_t group_ = 0;
  Wake stop_;  // Self-synchronised.

  Mutex mutex_;
  Lifetime lifetime_ ONCE_GUARDED_BY(mutex_);    // The last one.
  bool warned_ ONCE_GUARDED_BY(mutex_) = false;  // In an earlier one.

  // Of the thread that waits.
  pid_t pid_ = 0;  // 0 once it was waited for: its number may be another's.
  int status_ = 0;
  Descriptor input_;
  std::string_view unfed_;
  std::deque<OutputTee> outputs_;
  std::optional<Clock::time_point> kill_at_;  // Set by a stop,
  std::optional<Clock::time_point> cut_at_;   // and by the command's end.
  bool stopped_ = false;
  bool leaves_ = false;  // Waits for no slow reader: a signal came, or a stop.
};

// Keeps signals from ending this process, in this thread and in those it starts later: a foreground
// job gets them.
void hold_signals();

// Sleeps for so long, or until a signal comes that would have ended this process: then its number.
// After hold_signals().
std::optional<int> sleep_unless_signalled(Duration length);

}  // namespace once::process
