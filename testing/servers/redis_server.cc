#include "testing/servers/redis_server.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace once::testing {

std::optional<std::string> RedisServer::missing() {
  for (const char* const program : {"redis-server", "redis-cli"}) {
    if (!installed(program)) return "there is no " + std::string(program);
  }
  return std::nullopt;
}

std::string RedisServer::cli(const std::string& command) const {
  const std::string line = "redis-cli -p " + std::to_string(port()) + " " + command + " 2>&1";
  std::string said;
  FILE* const out = ::popen(line.c_str(), "r");
  if (out == nullptr) std::abort();
  std::array<char, 4096> room{};
  while (std::fgets(room.data(), room.size(), out) != nullptr) said += room.data();
  ::pclose(out);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

std::unique_ptr<Daemon> RedisServer::launch() {
  std::vector<std::string> arguments = {
      "--port", std::to_string(port()), "--bind", "127.0.0.1",     "--save",
      "",       "--appendonly",         "yes",    "--appendfsync", "always"};
  arguments.insert(arguments.end(), more_.begin(), more_.end());
  return std::make_unique<Daemon>("redis-server", arguments, directory());
}

bool RedisServer::comes_up(Daemon& daemon) { return daemon.says("Ready to accept connections"); }

}  // namespace once::testing
