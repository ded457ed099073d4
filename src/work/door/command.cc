#include "work/door/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <utility>

#include "api/effects_text.h"
#include "work/door/descriptor.h"

namespace once::work {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGrace = std::chrono::seconds(10);
constexpr int kLeftOver = 1'000;              // Milliseconds for output of what has ended.
constexpr std::size_t kMostError = 4U << 10;  // Of the end of standard error.

std::vector<std::string> environment_of(const Task& task) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
  const auto add = [&](std::string_view name, const std::string& value) {
    const std::string start = std::string(name).append("=");
    std::erase_if(variables, [&](const std::string& old) { return old.starts_with(start); });
    if (value.find('\0') == std::string::npos) variables.push_back(start + value);
  };
  add("ONCE_KEY", task.attempt.key());
  add("ONCE_FENCE", std::to_string(task.attempt.fence()));
  add("ONCE_ATTEMPT", std::to_string(task.attempt.number()));
  add("ONCE_MESSAGE_ID", task.message.id);
  add("ONCE_CONTENT_TYPE", task.message.content_type);
  add("ONCE_EFFECTS_FD", std::to_string(kEffectsDescriptor));
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipes {
  Pipe in;
  Pipe err;
  Pipe effects;
  Pipe failed;  // Why it could not be started.

  bool open() { return in.open() && err.open() && effects.open() && failed.open(); }
};

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become(char* const* words, char* const* variables, const Pipes& pipes,
                         const Guardian& guardian) {
  (void)::setpgid(0, 0);
  guardian.entrust(::getpid());
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  (void)::signal(SIGPIPE, SIG_DFL);
  (void)::signal(SIGXFSZ, SIG_DFL);
  ::dup2(pipes.in.read.get(), STDIN_FILENO);
  ::dup2(pipes.err.write.get(), STDERR_FILENO);
  ::dup2(pipes.effects.write.get(), kEffectsDescriptor);
  ::execvpe(words[0], words, variables);
  const int why = errno;
  (void)!::write(pipes.failed.write.get(), &why, sizeof why);
  ::_exit(127);
}

// One run of the command.
class Running {
 public:
  Running(const Guardian& guardian, const Task& task)
      : guardian_(guardian), left_(task.message.body), stopped_(task.stopped) {}

  Result<Effects> run(const std::vector<std::string>& words, const Task& task) {
    if (Result<void> started = start(words, environment_of(task)); !started) {
      return std::unexpected(std::move(started.error()));
    }
    const std::stop_callback on_stop(stopped_, [this] { wake_.wake(); });
    attend();
    collect_rest();
    return outcome();
  }

 private:
  Result<void> start(const std::vector<std::string>& words,
                     const std::vector<std::string>& variables) {
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<char*> envp = pointers_to(variables);
    if (!pipes_.open() || !wake_.open()) return cannot(errno);
    pid_ = ::fork();
    if (pid_ == 0) become(argv.data(), envp.data(), pipes_, guardian_);
    if (pid_ < 0) return cannot(errno);
    (void)::setpgid(pid_, pid_);  // Whoever is first.
    pipes_.in.read.close();
    pipes_.err.write.close();
    pipes_.effects.write.close();
    pipes_.failed.write.close();
    int why = 0;
    if (::read(pipes_.failed.read.get(), &why, sizeof why) == static_cast<ssize_t>(sizeof why)) {
      reap();
      return failure(ErrorCode::unavailable, words[0] + ": " + std::system_category().message(why));
    }
    // The wrapper in <sys/pidfd.h> of this glibc is not declared for C++.
    ended_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    (void)::fcntl(pipes_.in.write.get(), F_SETFL, O_NONBLOCK);
    return {};
  }

  static std::unexpected<Error> cannot(int why) {
    return failure(ErrorCode::unavailable, std::system_category().message(why));
  }

  // Until the command itself has ended; what it left in the background ends with it.
  void attend() {
    std::optional<Clock::time_point> kill_at;
    if (left_.empty()) pipes_.in.write.close();
    for (;;) {
      std::array<pollfd, 5> watched = {
          pollfd{ended_.get(), POLLIN, 0}, pollfd{pipes_.err.read.get(), POLLIN, 0},
          pollfd{pipes_.effects.read.get(), POLLIN, 0}, pollfd{pipes_.in.write.get(), POLLOUT, 0},
          pollfd{kill_at ? -1 : wake_.get(), POLLIN, 0}};
      const int ready = ::poll(watched.data(), watched.size(), kill_at ? 100 : -1);
      if (kill_at && Clock::now() >= *kill_at) (void)::kill(-pid_, SIGKILL);
      if (ready <= 0) continue;
      if (watched[1].revents != 0) take_errors();
      if (watched[2].revents != 0) take_effects();
      if (watched[3].revents != 0) feed();
      if (watched[4].revents != 0) {
        kill_at = Clock::now() + kGrace;
        (void)::kill(-pid_, SIGTERM);
      }
      if (watched[0].revents != 0) return reap();
    }
  }

  // The number stays the command's until it is waited for.
  void reap() {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    (void)::kill(-pid_, SIGKILL);
    guardian_.release(pid_);
    (void)::waitpid(pid_, &status_, 0);
  }

  void collect_rest() {
    const auto collect = [](Descriptor& from, auto take) {
      pollfd watched{from.get(), POLLIN, 0};
      while (from.is_open() && ::poll(&watched, 1, kLeftOver) > 0) take();
    };
    collect(pipes_.err.read, [this] { take_errors(); });
    collect(pipes_.effects.read, [this] { take_effects(); });
  }

  void feed() {
    const auto count = ::write(pipes_.in.write.get(), left_.data(), left_.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count > 0) left_.remove_prefix(static_cast<std::size_t>(count));
    // It may read no more than it needs.
    if (count < 0 || left_.empty()) pipes_.in.write.close();
  }

  void take_errors() {
    const std::string_view bytes = take(pipes_.err.read);
    (void)!::write(STDERR_FILENO, bytes.data(), bytes.size());
    errors_ += bytes;
    if (errors_.size() > kMostError) errors_.erase(0, errors_.size() - kMostError);
  }

  void take_effects() {
    const std::string_view bytes = take(pipes_.effects.read);
    too_large_ = too_large_ || effects_.size() + bytes.size() > kMaxEffectsText;
    if (!too_large_) effects_ += bytes;
  }

  std::string_view take(Descriptor& from) {
    const auto count = ::read(from.get(), some_.data(), some_.size());
    if (count == 0 || (count < 0 && errno != EINTR)) from.close();
    return {some_.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  Result<Effects> outcome() const {
    if (stopped_.stop_requested()) return failure(ErrorCode::unavailable, "the lease was lost");
    if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0) {
      return failure(ErrorCode::unavailable, how_it_ended());
    }
    if (too_large_) return failure(ErrorCode::too_large, "its effects are larger than 1 MiB");
    if (effects_.find_first_not_of(" \t\r\n") == std::string::npos) return Effects();
    Result<Effects> effects = api::effects_of(effects_);
    if (effects) return effects;
    return failure(ErrorCode::invalid, "its effects are none: " + effects.error().message);
  }

  std::string how_it_ended() const {
    std::string reason = WIFSIGNALED(status_)
                             ? "ended by signal " + std::to_string(WTERMSIG(status_))
                             : "exit code " + std::to_string(WEXITSTATUS(status_));
    const std::size_t end = errors_.find_last_not_of('\n');
    if (end == std::string::npos) return reason;
    const std::size_t line = errors_.find_last_of('\n', end);
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    return reason.append(": ").append(errors_, begin, end + 1 - begin);
  }

  const Guardian& guardian_;
  std::string_view left_;  // Of the message's body.
  const std::stop_token stopped_;
  Pipes pipes_;
  Wake wake_;
  Descriptor ended_;
  pid_t pid_ = 0;
  int status_ = 0;
  std::array<char, 16U << 10> some_{};
  std::string errors_;
  std::string effects_;
  bool too_large_ = false;
};

}  // namespace

Handler command_handler(std::vector<std::string> words, const Guardian& guardian) {
  return [words = std::move(words), &guardian](Task& task) -> Result<Effects> {
    return Running(guardian, task).run(words, task);
  };
}

}  // namespace once::work
