// The real binary as a worker, and a store that the test can look into meanwhile.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "once/open.h"
#include "testing/child_process.h"

namespace once::testing {

class WorkerProcess {
 public:
  // `once work QUEUE --store STORE` and these; back when it works. Its standard error is `errors`,
  // or ours if there is none.
  WorkerProcess(const std::string& queue, const std::string& store,
                const std::vector<std::string>& more, int errors = -1) {
    std::vector<std::string> arguments = {"work", queue, "--store", store};
    arguments.insert(arguments.end(), more.begin(), more.end());
    child_ = std::make_unique<ChildProcess>(ONCE_BINARY, arguments, errors);
    ready_line_ = child_->read_line().value_or("");
  }

  const std::string& ready_line() const { return ready_line_; }
  void kill() { child_->kill(); }  // -9.
  void ask_to_stop() const { ::kill(child_->pid(), SIGTERM); }
  void suspend() const { ::kill(child_->pid(), SIGSTOP); }
  void resume() const { ::kill(child_->pid(), SIGCONT); }
  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_->pid()), &info, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           info.si_pid == child_->pid();
  }
  int wait() { return child_->wait(); }  // Its exit status.
  int terminate() {
    ask_to_stop();
    return wait();
  }

 private:
  std::unique_ptr<ChildProcess> child_;
  std::string ready_line_;
};

// Looks again until it is so. There is nothing to be told by when it is another process's doing.
inline bool eventually(const std::function<bool()>& is_so,
                       std::chrono::seconds within = std::chrono::seconds(60)) {
  const auto until = std::chrono::steady_clock::now() + within;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// 0 if it is not there.
inline std::int64_t tally(Once& once, const std::string& name) {
  const auto reading = once.tallies().read(name);
  if (!reading || !*reading) return 0;
  const auto* const number = std::get_if<std::int64_t>(&(*reading)->value);
  return number != nullptr ? *number : 0;
}

inline std::string event(const std::string& id) {
  return R"({"specversion":"1.0","source":"/test","type":"t","id":")" + id + "\"}";
}

}  // namespace once::testing
