// A server on loopback that does, connection by connection, just what a test scripted.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "testing/loopback.h"

namespace once::testing {

// One connection, from the server's side.
class Conversation {
 public:
  explicit Conversation(int socket) : socket_(socket) {}
  ~Conversation() { close(); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // The next request, headers and body; "" if the client closed the connection instead.
  std::string read_request() {
    std::size_t whole = std::string::npos;
    while ((whole = length_of_request()) > read_.size()) {
      std::array<char, 4096> buffer;
      const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (count <= 0) return "";
      read_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return std::exchange(read_, read_.substr(whole)).substr(0, whole);
  }

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // An answer with a body of JSON, after which the connection stays open.
  void answer(std::string_view status, std::string_view body,
              std::string_view type = "application/json") {
    send("HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }

  // A problem of ours: "401 X", "unauthorized".
  void refuse(std::string_view status, std::string_view code) {
    answer(status, R"({"code":")" + std::string(code) + R"(","detail":"no"})",
           "application/problem+json");
  }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  std::size_t length_of_request() const {
    const std::size_t end = read_.find("\r\n\r\n");
    if (end == std::string::npos) return std::string::npos;
    const std::size_t field = read_.find("Content-Length: ");
    return end + 4 + (field < end ? std::stoul(read_.substr(field + 16)) : 0);
  }

  int socket_;
  std::string read_;
};

class ScriptedPeer {
 public:
  using Script = std::function<void(Conversation&)>;

  // The first connection gets the first script, and so on; when the last one ended, it listens no
  // more.
  explicit ScriptedPeer(std::vector<Script> scripts) {
    thread_ = std::thread([this, scripts = std::move(scripts)] { serve(scripts); });
  }
  ~ScriptedPeer() {
    end();
    ::close(listener_.socket);
  }
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  // Takes no further connection. What the scripts have noted may be read after this.
  void end() {
    ::shutdown(listener_.socket, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port); }
  int connections() const { return connections_; }

 private:
  void serve(const std::vector<Script>& scripts) {
    for (const Script& script : scripts) {
      const int socket = ::accept(listener_.socket, nullptr, nullptr);
      if (socket < 0) return;
      ++connections_;
      Conversation conversation(socket);
      script(conversation);
    }
    ::shutdown(listener_.socket, SHUT_RDWR);
  }

  const Listener listener_ = listen_on_loopback();
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

}  // namespace once::testing
