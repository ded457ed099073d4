#include "process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace once::process {
namespace {

constexpr auto kGrace = std::chrono::seconds(10);
constexpr auto kLinger = std::chrono::seconds(1);  // For more output of a command that has ended.
constexpr int kSoon = 100;                         // Milliseconds.
constexpr std::array kEnding = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
constexpr std::array kOthers = {SIGUSR1, SIGUSR2, SIGWINCH};

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kEnding) sigaddset(&set, signal);
  return set;
}

sigset_t passed_on_signals() {
  sigset_t set = ending_signals();
  for (const int signal : kOthers) sigaddset(&set, signal);
  return set;
}

// What opens the store is not the command's: it would be in the hands of all that the command runs.
constexpr std::array<std::string_view, 3> kWithheld = {"ONCE_TOKEN", "ONCE_TOKEN_FILE",
                                                       "ONCE_STORE"};

// This process's variables with more of them, or other values. A value with a NUL cannot be passed.
std::vector<std::string> variables_with(const Environment& more) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable(*at);
    const std::string_view name = variable.substr(0, variable.find('='));
    const bool replaced =
        std::ranges::any_of(more, [&](const auto& pair) { return pair.first == name; });
    const bool withheld = std::ranges::find(kWithheld, name) != kWithheld.end();
    if (!replaced && !withheld) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : more) {
    if (value.find('\0') != std::string::npos) continue;
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

std::unexpected<Error> cannot_start(int why) {
  return failure(ErrorCode::unavailable, std::system_category().message(why));
}

// The reason why exec failed; nothing once it succeeded, which closes the other end.
std::optional<int> read_reason(int from) {
  int why = 0;
  for (;;) {
    const auto count = ::read(from, &why, sizeof why);
    if (count < 0 && errno == EINTR) continue;
    return count == static_cast<ssize_t>(sizeof why) ? std::optional(why) : std::nullopt;
  }
}

// In the child.
[[noreturn]] void fail_to_start(int to, int why) {
  (void)!::write(to, &why, sizeof why);
  ::_exit(127);
}

}  // namespace

struct Process::Pipes {
  Pipe input;
  std::vector<Pipe> outputs;
  Pipe failed;  // Why it could not be started.

  bool open(const Command& command) {
    outputs.resize(command.outputs.size());
    return (!command.input || input.open()) && failed.open() &&
           std::ranges::all_of(outputs, [](Pipe& pipe) { return pipe.open(); });
  }
};

Result<std::unique_ptr<Process>> Process::start(Command command, const Guardian& guardian) {
  std::unique_ptr<Process> process(new Process(std::move(command), guardian));
  if (Result<void> launched = process->launch(); !launched) {
    return std::unexpected(std::move(launched.error()));
  }
  return process;
}

Result<void> Process::launch() {
  const std::vector<std::string> variables = variables_with(command_.environment);
  const std::vector<char*> argv = pointers_to(command_.words);
  const std::vector<char*> envp = pointers_to(variables);
  Pipes pipes;
  if (!pipes.open(command_) || !stop_.open()) return cannot_start(errno);
  const bool foreground = command_.job == Job::foreground;
  has_terminal_ =
      foreground && ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  pid_ = ::fork();
  if (pid_ == 0) become_command(argv.data(), envp.data(), pipes);
  if (pid_ < 0) return cannot_start(errno);
  group_ = pid_;
  (void)::setpgid(pid_, pid_);  // Here and in the child: whichever is first.
  pipes.input.read.close();
  pipes.failed.write.close();
  for (std::size_t i = 0; i < pipes.outputs.size(); ++i) {
    const Output& output = command_.outputs[i];
    pipes.outputs[i].write.close();
    outputs_.emplace_back(std::move(pipes.outputs[i].read), output.pass_to, output.keep);
  }
  if (const auto why = read_reason(pipes.failed.read.get())) {
    end_group();
    return failure(ErrorCode::unavailable,
                   command_.words[0] + ": " + std::system_category().message(*why));
  }
  // The wrapper in <sys/pidfd.h> of this glibc is not declared for C++.
  ended_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (command_.input) {
    input_ = std::move(pipes.input.write);
    (void)::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
  }
  const sigset_t signals = passed_on_signals();
  if (foreground) signals_ = Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  return {};
}

// In the child, between fork and exec: only what is safe there. The guardian is told first: if this
// process's parent is killed from here on, nothing of the command outlives it. What is over already
// is not entrusted: the guardian would end this process before it can say why.
void Process::become_command(char* const* words, char* const* variables, const Pipes& pipes) const {
  (void)::setpgid(0, 0);
  if (command_.lifetime.is_over()) fail_to_start(pipes.failed.write.get(), ETIME);
  guardian_.entrust(::getpid(), command_.lifetime);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (has_terminal_) {
    (void)::signal(SIGTTOU, SIG_IGN);
    (void)::tcsetpgrp(STDIN_FILENO, ::getpid());
    (void)::signal(SIGTTOU, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  (void)::signal(SIGPIPE, SIG_DFL);
  (void)::signal(SIGXFSZ, SIG_DFL);
  if (command_.input) ::dup2(pipes.input.read.get(), STDIN_FILENO);
  for (std::size_t i = 0; i < pipes.outputs.size(); ++i) {
    ::dup2(pipes.outputs[i].write.get(), command_.outputs[i].descriptor);
  }
  if (command_.lifetime.is_over()) fail_to_start(pipes.failed.write.get(), ETIME);
  ::execvpe(words[0], words, variables);
  fail_to_start(pipes.failed.write.get(), errno);
}

Process::~Process() {
  if (pid_ > 0) end_group();
}

// Does not reap it: until then its number, and its group's, cannot be another's.
bool Process::has_ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

bool Process::has_passed_on_all() const {
  return std::ranges::all_of(outputs_, [](const OutputTee& tee) { return tee.is_done(); });
}

// The command, and what it left in the background without a group of its own.
void Process::end_group() {
  (void)::kill(-pid_, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  guardian_.release(pid_);
  (void)::waitpid(pid_, &status_, 0);
  pid_ = 0;
  input_.close();
  if (has_terminal_) {
    (void)::signal(SIGTTOU, SIG_IGN);
    (void)::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  }
}

void Process::feed() {
  const auto count = ::write(input_.get(), unfed_.data(), unfed_.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count > 0) unfed_.remove_prefix(static_cast<std::size_t>(count));
  // A command may read no more than it needs.
  if (count < 0 || unfed_.empty()) input_.close();
}

void Process::extend(const Lifetime& lifetime) {
  const Lock lock(mutex_);
  warned_ = warned_ || lifetime_.is_warned();
  lifetime_ = lifetime;
  guardian_.extend(group_, lifetime);
}

bool Process::was_warned() {
  const Lock lock(mutex_);
  return warned_ || lifetime_.is_warned();
}

void Process::leave_soon() {
  leaves_ = true;
  if (cut_at_) cut_at_ = Clock::now();
}

void Process::take_stop() {
  stop_.clear();
  leave_soon();
  if (kill_at_ || cut_at_) return;
  stopped_ = true;
  kill_at_ = Clock::now() + kGrace;
  (void)::kill(-pid_, SIGTERM);
}

void Process::pass_on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (pid_ > 0) (void)::kill(-pid_, signal);
    if (std::ranges::find(kEnding, signal) != kEnding.end()) leave_soon();
  }
}

// Waits until something can be passed on or the command ends, and passes on what it can.
void Process::poll_once() {
  std::vector<pollfd> watched = {{stop_.get(), POLLIN, 0},
                                 {signals_.get(), POLLIN, 0},
                                 {input_.get(), POLLOUT, 0},
                                 {pid_ > 0 ? ended_.get() : -1, POLLIN, 0}};
  const std::size_t first_output = watched.size();
  for (const OutputTee& tee : outputs_) watched.push_back(tee.awaited());
  const bool has_deadline = kill_at_ || cut_at_ || !ended_.is_open();
  if (::poll(watched.data(), watched.size(), has_deadline ? kSoon : -1) <= 0) return;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (watched[first_output + i].revents != 0) outputs_[i].advance();
  }
  if (watched[2].revents != 0) feed();
  if (watched[0].revents != 0) take_stop();
  if (watched[1].revents != 0) pass_on_signals();
}

Finished Process::wait() {
  if (unfed_.empty()) input_.close();
  for (;;) {
    if (!cut_at_ && has_ended()) {
      end_group();
      cut_at_ = Clock::now() + kLinger;
    } else if (!cut_at_ && kill_at_ && Clock::now() >= *kill_at_) {
      (void)::kill(-pid_, SIGKILL);
    }
    if (cut_at_ && Clock::now() >= *cut_at_) {
      for (OutputTee& tee : outputs_) tee.cut_off();
      if (leaves_) break;
    }
    if (cut_at_ && has_passed_on_all()) break;
    poll_once();
  }
  Finished finished{.status = status_, .outputs = {}, .stopped = stopped_, .warned = was_warned()};
  for (const OutputTee& tee : outputs_) finished.outputs.push_back(tee.captured());
  return finished;
}

void hold_signals() {
  const sigset_t signals = passed_on_signals();
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  (void)::signal(SIGPIPE, SIG_IGN);
}

std::optional<int> sleep_unless_signalled(Duration length) {
  const sigset_t ending = ending_signals();
  const timespec left{.tv_sec = length.count() / 1'000,
                      .tv_nsec = length.count() % 1'000 * 1'000'000};
  const int signal = ::sigtimedwait(&ending, nullptr, &left);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

}  // namespace once::process
