#include "testing/servers/redis_server.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace once::testing {
std::optional<std::string> RedisServer::missing() {
  for (const char* const program : {"redis-server", "redis-cli"}) {
    if (!installed(program)) return "there is no " + std::string(program);
  }
  return std::nullopt;
}

std::string RedisServer::cli(const std::string& command) const {
  return output_of("redis-cli -p " + std::to_string(port()) + " " + command + " 2>&1");
}

double RedisServer::seconds_of_set_nx(std::size_t clients, std::size_t count) const {
  const std::string said = output_of("redis-benchmark -p " + std::to_string(port()) + " -c " +
                                     std::to_string(clients) + " -n " + std::to_string(count) +
                                     " -r 1000000000 --csv SET 'claim/bench/__rand_int__' " +
                                     std::string(100, 'v') + " NX PX 86400000 2>/dev/null");
  const std::size_t line = said.find("\"SET");  // "SET …","12345.67",…
  const std::size_t at = line == std::string::npos ? line : said.find("\",\"", line);
  const double rate = at == std::string::npos ? 0 : std::strtod(said.c_str() + at + 3, nullptr);
  if (rate <= 0) throw std::runtime_error("redis-benchmark says no rate: " + said);
  return static_cast<double>(count) / rate;
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
