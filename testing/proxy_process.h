// The real binary as a proxy, and what stands between it and its store.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testing/child_process.h"
#include "testing/raw_http.h"
#include "testing/scripted_peer.h"
#include "testing/upstream.h"

namespace once::testing {

class ProxyProcess {
 public:
  ProxyProcess(const std::string& upstream, const std::string& store,
               std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"proxy", "--upstream", upstream,     "--store",
                                          store,   "--listen",   "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    child_ = std::make_unique<ChildProcess>(ONCE_BINARY, arguments);
    ready_line_ = child_->read_line().value_or("");
    const std::size_t at = ready_line_.find("http");
    if (at == std::string::npos) return;
    const std::string url = ready_line_.substr(at, ready_line_.find(' ', at) - at);
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

  bool running() const { return port_ != 0; }
  const std::string& ready_line() const { return ready_line_; }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return child_->pid(); }
  void kill() { child_->kill(); }  // -9.
  int terminate() {
    ::kill(child_->pid(), SIGTERM);
    return child_->wait();
  }

 private:
  std::unique_ptr<ChildProcess> child_;
  std::string ready_line_;
  std::uint16_t port_ = 0;
};

// Stands between a proxy and the server that keeps its claims, and holds up requests: what `hold`
// says of a request happens when it was answered, or else before it is passed on.
class StoreRelay {
 public:
  enum class Hold { no, before, after };
  using Holding = std::function<Hold(const std::string& request)>;

  StoreRelay(std::uint16_t server, Holding hold)
      : relay_([this, server, hold = std::move(hold)](const std::string& request, int) {
          return pass(server, hold(request), request);
        }) {}
  ~StoreRelay() {
    gate_open();
    relay_.end();
  }

  std::string url() const { return relay_.url(); }
  int requests() { return relay_.requests(); }

  // Until a request is being held.
  void await_held() {
    std::unique_lock lock(mutex_);
    signal_.wait(lock, [this] { return held_ > 0; });
  }

 private:
  std::string pass(std::uint16_t server, Hold hold, const std::string& request) {
    if (hold == Hold::before) {
      wait();
      return "";
    }
    RawHttp peer(server);
    peer.send(request);
    const auto answer = peer.receive();
    if (hold == Hold::after) wait();
    return answer ? answer->head + "\r\n" + answer->body : "";
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ++held_;
    signal_.notify_all();
    signal_.wait(lock, [this] { return open_; });
  }
  void gate_open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    signal_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable signal_;
  int held_ = 0;
  bool open_ = false;
  Upstream relay_;  // Last: it uses all of the above.
};

inline std::string key_header(const std::string& key) { return "Idempotency-Key: " + key + "\r\n"; }

}  // namespace once::testing
