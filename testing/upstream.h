// Servers that do what a test wants of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testing/loopback.h"
#include "testing/scripted_peer.h"

namespace once::testing {

// A server that answers each request of each connection as `answer` says, connections side by side,
// and counts. An answer of "" closes the connection.
class Upstream {
 public:
  using Answer = std::function<std::string(const std::string& request, int number)>;

  // At port 0, one is chosen.
  explicit Upstream(Answer answer, std::uint16_t port = 0)
      : answer_(std::move(answer)), listener_(listen_on_loopback(port)) {
    acceptor_ = std::thread([this] { accept(); });
  }
  ~Upstream() { end(); }

  // Every connection ends.
  void end() {
    ::shutdown(listener_.socket, SHUT_RDWR);
    if (!acceptor_.joinable()) return;
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    for (const int socket : sockets_) ::close(socket);
    ::close(listener_.socket);
  }

  std::uint16_t port() const { return listener_.port; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

  int requests() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(seen_.size());
  }
  int connections() {
    const std::lock_guard lock(mutex_);
    return connections_;
  }
  std::string last() {
    const std::lock_guard lock(mutex_);
    return seen_.empty() ? "" : seen_.back();
  }
  void await_requests(int count) {
    std::unique_lock lock(mutex_);
    signal_.wait(lock, [&] { return static_cast<int>(seen_.size()) >= count; });
  }

 private:
  void accept() {
    for (;;) {
      const int socket = ::accept(listener_.socket, nullptr, nullptr);
      if (socket < 0) return;
      const std::lock_guard lock(mutex_);
      ++connections_;
      sockets_.push_back(::dup(socket));
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }

  void serve(int socket) {
    Conversation conversation(socket);
    for (;;) {
      const std::string request = conversation.read_request();
      if (request.empty()) return;
      int number = 0;
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(request);
        number = static_cast<int>(seen_.size());
      }
      signal_.notify_all();
      const std::string answer = answer_(request, number);
      if (answer.empty()) break;
      conversation.send(answer);
      if (answer.find("\r\nConnection: close") != std::string::npos) break;
    }
    // A duplicate is kept to end it from outside, so closing alone would tell nobody.
    ::shutdown(socket, SHUT_RDWR);
  }

  const Answer answer_;
  const Listener listener_;
  std::mutex mutex_;
  std::condition_variable signal_;
  std::vector<std::string> seen_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  int connections_ = 0;
  std::thread acceptor_;
};

// An answer of an upstream.
inline std::string http_answer(const std::string& status, const std::string& body,
                               const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// What an upstream answers that counts its requests.
inline std::string numbered(const std::string&, int number) {
  return http_answer("201 Created", std::to_string(number));
}

// What an upstream waits for until the test says so.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    signal_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    signal_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable signal_;
  bool open_ = false;
};

}  // namespace once::testing
