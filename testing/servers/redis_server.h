// Debian's redis-server, which starts in some hundredths of a second; and three of them as a
// cluster, which takes two seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testing/servers/daemon.h"
#include "testing/temp_dir.h"

namespace once::testing {

class RedisServer {
 public:
  // Why there is none to start on this machine; nothing if there is one.
  static std::optional<std::string> missing();

  // Starts one on a free loopback port, in a private directory, syncing its file before every
  // answer; back when it answers. `more` are further arguments, which go before ours in effect.
  // Ends the process with what the server said if it does not start.
  explicit RedisServer(std::vector<std::string> more = {});

  std::uint16_t port() const { return port_; }
  std::string address(int database = 0) const {
    return "redis://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(database);
  }
  const std::filesystem::path& directory() const { return directory_.path(); }
  pid_t pid() const { return daemon_->pid(); }

  void kill() { daemon_->kill(); }
  void start();  // Again after kill(), on the same port and data.

  // One command, as redis-cli prints its answer.
  std::string cli(const std::string& command) const;

 private:
  bool launch();  // Whether it answers; false if it ended instead.

  const std::vector<std::string> more_;
  const TempDir directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace once::testing
