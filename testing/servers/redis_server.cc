#include "testing/servers/redis_server.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace once::testing {

std::optional<std::string> RedisServer::missing() {
  for (const char* const program : {"redis-server", "redis-cli"}) {
    if (!installed(program)) return "there is no " + std::string(program);
  }
  return std::nullopt;
}

RedisServer::RedisServer(std::vector<std::string> more) : more_(std::move(more)) {
  // Somebody may take the port before the server does.
  for (int tries = 0; tries < 5; ++tries) {
    port_ = free_port();
    if (launch()) return;
  }
  std::fprintf(stderr, "redis-server does not start:\n%s\n", daemon_->log().c_str());
  std::abort();
}

void RedisServer::start() {
  if (launch()) return;
  std::fprintf(stderr, "redis-server does not start again:\n%s\n", daemon_->log().c_str());
  std::abort();
}

std::string RedisServer::cli(const std::string& command) const {
  const std::string line = "redis-cli -p " + std::to_string(port_) + " " + command + " 2>&1";
  std::string said;
  FILE* const out = ::popen(line.c_str(), "r");
  if (out == nullptr) std::abort();
  std::array<char, 4096> room{};
  while (std::fgets(room.data(), room.size(), out) != nullptr) said += room.data();
  ::pclose(out);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

bool RedisServer::launch() {
  std::vector<std::string> arguments = {
      "--port", std::to_string(port_), "--bind", "127.0.0.1",     "--save",
      "",       "--appendonly",        "yes",    "--appendfsync", "always"};
  arguments.insert(arguments.end(), more_.begin(), more_.end());
  daemon_ = std::make_unique<Daemon>("redis-server", arguments, directory_.path());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (daemon_->alive() && std::chrono::steady_clock::now() < deadline) {
    const std::string said = cli("ping");
    if (said == "PONG" || said.starts_with("NOAUTH")) return daemon_->alive();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  daemon_->kill();
  return false;
}

}  // namespace once::testing
