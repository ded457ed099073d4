// Debian's redis-server, which starts in some hundredths of a second; and three of them as a
// cluster, which takes two seconds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testing/servers/port_server.h"

namespace once::testing {

class RedisServer final : public PortServer {
 public:
  // Why it cannot be started on this machine; nothing if it can.
  static std::optional<std::string> missing();

  // One that syncs its file before every answer. `more` are further arguments, which go before ours
  // in effect.
  explicit RedisServer(std::vector<std::string> more = {})
      : PortServer("redis-server"), more_(std::move(more)) {
    begin();
  }

  std::string address(int database = 0) const {
    return "redis://127.0.0.1:" + std::to_string(port()) + "/" + std::to_string(database);
  }

  // One command, as redis-cli prints its answer.
  std::string cli(const std::string& command) const;

  // How many seconds Redis takes for so many SET NX by so many clients, by redis-benchmark's own
  // clock: starting it is not counted. Keys and values are as long as a claim's.
  double seconds_of_set_nx(std::size_t clients, std::size_t count) const;

 private:
  std::unique_ptr<Daemon> launch() override;
  bool comes_up(Daemon& daemon) override;

  const std::vector<std::string> more_;
};

}  // namespace once::testing
