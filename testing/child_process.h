// Another process, spoken to by lines on its standard input and output.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace once::testing {

class ChildProcess {
 public:
  // Its standard error is `errors`, or ours if it is not given.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
               int errors = -1) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    if (errors >= 0) posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) != 0) {
      std::abort();
    }
    posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    input_ = to[1];
    output_ = from[0];
  }
  ~ChildProcess() {
    kill();
    ::close(output_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Blocks until there is a whole line; empty at the end of output. A line that was cut off by the
  // end is not given.
  std::optional<std::string> read_line() {
    for (;;) {
      if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
        std::string line = read_.substr(0, end);
        read_.erase(0, end + 1);
        return line;
      }
      std::array<char, 4096> buffer;
      const ssize_t count = ::read(output_, buffer.data(), buffer.size());
      if (count <= 0) return std::nullopt;
      read_.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

  void end_input() {
    if (input_ >= 0) ::close(input_);
    input_ = -1;
  }

  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }

  // The exit status, or minus the signal that ended it.
  int wait() {
    if (pid_ <= 0) return status_;
    end_input();
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    return status_;
  }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  int output_ = -1;
  int status_ = 0;
  std::string read_;
};

}  // namespace once::testing
