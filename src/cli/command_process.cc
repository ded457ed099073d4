#include "cli/command_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>

namespace once::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGrace = std::chrono::seconds(10);
constexpr auto kLinger = std::chrono::seconds(1);  // For more output of a command that has ended.
constexpr std::array kPassedOn = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

sigset_t passed_on() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassedOn) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// This process's environment with more in it, or other values.
std::vector<std::string> with(const CommandProcess::Environment& more) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable(*at);
    const std::string_view name = variable.substr(0, variable.find('='));
    const bool replaced =
        std::ranges::any_of(more, [&](const auto& pair) { return pair.first == name; });
    if (!replaced) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : more) {
    variables.push_back(std::string(name).append("=").append(value));
  }
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  int read = -1;
  int write = -1;
};

bool open_pipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe = {ends[0], ends[1]};
  return true;
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become(char* const* words, char* const* variables, const Pipe& out,
                         const Pipe& err, int failure, bool terminal) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (terminal) {
    (void)::signal(SIGTTOU, SIG_IGN);
    (void)::tcsetpgrp(STDIN_FILENO, ::getpid());
    (void)::signal(SIGTTOU, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  (void)::signal(SIGPIPE, SIG_DFL);
  ::dup2(out.write, STDOUT_FILENO);
  ::dup2(err.write, STDERR_FILENO);
  ::execvpe(words[0], words, variables);
  const int why = errno;
  (void)!::write(failure, &why, sizeof why);
  ::_exit(127);
}

// A process that does nothing but wait for the end of this one, and then ends the command's group:
// a command has children of its own, and kill -9 gives us no time.
[[noreturn]] void guard(int lifeline, pid_t group) {
  (void)::setsid();
  char byte = 0;
  while (::read(lifeline, &byte, 1) < 0 && errno == EINTR) {
  }
  (void)::kill(-group, SIGKILL);
  ::_exit(0);
}

bool ends_this_process(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

void hold_signals() {
  const sigset_t signals = passed_on();
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  (void)::signal(SIGPIPE, SIG_IGN);
}

std::optional<int> pause_for(Duration length) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&ends, signal);
  const timespec left{.tv_sec = length.count() / 1'000,
                      .tv_nsec = length.count() % 1'000 * 1'000'000};
  const int signal = ::sigtimedwait(&ends, nullptr, &left);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

Result<CommandProcess> CommandProcess::start(const std::vector<std::string>& words,
                                             const Environment& environment) {
  const std::vector<std::string> variables = with(environment);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(variables);
  Pipe out;
  Pipe err;
  Pipe failed;
  Pipe lifeline;
  if (!open_pipe(out) || !open_pipe(err) || !open_pipe(failed) || !open_pipe(lifeline)) {
    return failure(ErrorCode::unavailable, std::system_category().message(errno));
  }
  CommandProcess process;
  const sigset_t signals = passed_on();
  process.terminal_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  process.pid_ = ::fork();
  if (process.pid_ == 0)
    become(argv.data(), envp.data(), out, err, failed.write, process.terminal_);
  (void)::setpgid(process.pid_, process.pid_);  // Whoever is first.
  close_fd(out.write);
  close_fd(err.write);
  close_fd(failed.write);
  process.out_ = out.read;
  process.err_ = err.read;
  int why = 0;
  const bool never_ran =
      process.pid_ < 0 || ::read(failed.read, &why, sizeof why) == static_cast<ssize_t>(sizeof why);
  close_fd(failed.read);
  if (never_ran) {
    close_fd(lifeline.read);
    close_fd(lifeline.write);
    return failure(ErrorCode::unavailable, words[0] + ": " + std::system_category().message(why));
  }
  process.guardian_ = ::fork();
  if (process.guardian_ == 0) {
    ::close(lifeline.write);
    ::close(out.read);
    ::close(err.read);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
    guard(lifeline.read, process.pid_);
  }
  close_fd(lifeline.read);
  process.lifeline_ = lifeline.write;
  process.signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  process.stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return process;
}

CommandProcess::CommandProcess(CommandProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      signals_(std::exchange(other.signals_, -1)),
      stop_(std::exchange(other.stop_, -1)),
      lifeline_(std::exchange(other.lifeline_, -1)),
      guardian_(std::exchange(other.guardian_, 0)),
      terminal_(other.terminal_) {}

CommandProcess::~CommandProcess() {
  if (pid_ > 0) {
    (void)::kill(-pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  end_guardian();
  for (int* fd : {&out_, &err_, &signals_, &stop_, &lifeline_}) close_fd(*fd);
}

void CommandProcess::stop() const {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
}

// What wait() has passed on so far, and what it waits for.
struct CommandProcess::Watch {
  OutputPassage out;
  OutputPassage err;
  std::optional<Clock::time_point> kill_at;  // Once it was stopped,
  std::optional<Clock::time_point> cut_at;   // and once it has ended.
  bool stopped = false;
  bool told = false;  // To leave: by a signal, or because it was stopped.
};

// Whether there was one that would have ended this process.
bool CommandProcess::pass_on_signals() const {
  bool told = false;
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGCHLD && pid_ > 0) (void)::kill(-pid_, signal);
    told = told || ends_this_process(signal);
  }
  return told;
}

// Still to be waited for: until then its number, and its group's, are nobody else's.
bool CommandProcess::has_ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

// What the command left in the background, but for what has a group of its own. Its status.
int CommandProcess::end_group() {
  (void)::kill(-pid_, SIGKILL);
  int status = 0;
  (void)::waitpid(pid_, &status, 0);
  pid_ = 0;
  end_guardian();
  return status;
}

void CommandProcess::end_guardian() {
  if (guardian_ <= 0) return;
  (void)::kill(guardian_, SIGKILL);
  (void)::waitpid(guardian_, nullptr, 0);
  guardian_ = 0;
}

void CommandProcess::take_stop(Watch& watch) const {
  std::uint64_t count = 0;
  (void)!::read(stop_, &count, sizeof count);
  if (watch.kill_at || watch.cut_at) return;
  watch.stopped = true;
  watch.kill_at = Clock::now() + kGrace;
  (void)::kill(-pid_, SIGTERM);
}

// Passes on what is there, or comes within a second.
void CommandProcess::pass_on(Watch& watch) const {
  std::array<pollfd, 6> ready = {watch.out.readable(),        watch.out.writable(),
                                 watch.err.readable(),        watch.err.writable(),
                                 pollfd{signals_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
  const bool soon = watch.kill_at || watch.cut_at;
  if (::poll(ready.data(), ready.size(), soon ? 100 : 1'000) <= 0) return;
  if (ready[0].revents != 0) watch.out.read();
  if (ready[1].revents != 0) watch.out.write();
  if (ready[2].revents != 0) watch.err.read();
  if (ready[3].revents != 0) watch.err.write();
  if (ready[5].revents != 0) take_stop(watch);
  const bool told = (ready[4].revents != 0 && pass_on_signals()) || ready[5].revents != 0;
  watch.told = watch.told || told;
  if (told && watch.cut_at) watch.cut_at = Clock::now();
}

// The command itself has ended when it is waited for; what it left in a group of its own may hold
// its outputs open for ever.
int CommandProcess::await_exit(Watch& watch) {
  int status = 0;
  while (!watch.cut_at || !watch.out.is_done() || !watch.err.is_done()) {
    if (!watch.cut_at && has_ended()) {
      status = end_group();
      watch.cut_at = Clock::now() + kLinger;
    } else if (!watch.cut_at && watch.kill_at && Clock::now() >= *watch.kill_at) {
      (void)::kill(-pid_, SIGKILL);
    }
    if (watch.cut_at && Clock::now() >= *watch.cut_at) {
      watch.out.cut_off();
      watch.err.cut_off();
      if (watch.told) break;  // However slowly our output is read.
    }
    pass_on(watch);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Finished CommandProcess::wait() {
  Watch watch{.out{std::exchange(out_, -1), STDOUT_FILENO},
              .err{std::exchange(err_, -1), STDERR_FILENO}};
  const int exit_code = await_exit(watch);
  Finished finished{exit_code, watch.out.captured(), watch.err.captured(), watch.stopped};
  if (terminal_) {
    (void)::signal(SIGTTOU, SIG_IGN);
    (void)::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  }
  return finished;
}

}  // namespace once::cli
