// ElasticMQ, which speaks like Amazon SQS, as scripts/install-servers puts it down. It takes about
// a second to start. What it holds is forgotten with it, and it knows neither attributes of
// messages nor groups.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "testing/servers/daemon.h"
#include "testing/temp_dir.h"

namespace once::testing {

class ElasticMq {
 public:
  // Why there is none to start on this machine; nothing if there is one.
  static std::optional<std::string> missing();

  // Starts one on a free loopback port; back when it answers. Ends the process with what the server
  // said if it does not within a minute.
  ElasticMq();

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }

  void kill() { daemon_->kill(); }
  void start();  // Again after kill(), on the same port and empty.

 private:
  bool launch();

  const TempDir directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace once::testing
