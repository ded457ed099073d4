// The real binary, serving in a process of its own.
#pragma once

#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "testing/child_process.h"

namespace once::testing {

class ServerProcess {
 public:
  // Serves `store` on a free loopback port; back when it is ready.
  explicit ServerProcess(std::string store, std::vector<std::string> more = {})
      : store_(std::move(store)), more_(std::move(more)) {
    start();
  }

  void start(std::uint16_t port = 0) {
    const std::string listen = "127.0.0.1:" + std::to_string(port);
    std::vector<std::string> arguments = {"serve", "--store", store_, "--listen", listen};
    arguments.insert(arguments.end(), more_.begin(), more_.end());
    child_ = std::make_unique<ChildProcess>(ONCE_BINARY, arguments);
    ready_line_ = child_->read_line().value_or("");
    const std::size_t at = ready_line_.find("http");
    if (at == std::string::npos) return;
    url_ = ready_line_.substr(at, ready_line_.find(' ', at) - at);
    const std::string digits = url_.substr(url_.rfind(':') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), port_);
  }

  bool running() const { return port_ != 0; }
  const std::string& ready_line() const { return ready_line_; }
  const std::string& url() const { return url_; }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return child_->pid(); }

  void kill() { child_->kill(); }  // -9.

  // Asks it to stop; its exit status.
  int terminate() {
    ::kill(child_->pid(), SIGTERM);
    return child_->wait();
  }

 private:
  const std::string store_;
  const std::vector<std::string> more_;
  std::unique_ptr<ChildProcess> child_;
  std::string ready_line_;
  std::string url_;
  std::uint16_t port_ = 0;
};

}  // namespace once::testing
