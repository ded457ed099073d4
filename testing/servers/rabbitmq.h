// Debian's rabbitmq-server as a node of its own on loopback, which takes five seconds to start: one
// for a whole test program.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "testing/servers/daemon.h"
#include "testing/temp_dir.h"

namespace once::testing {

class RabbitMq {
 public:
  // Why there is none to start on this machine; nothing if there is one.
  static std::optional<std::string> missing();

  // Back when it answers. Ends the process with what the server said if it does not within two
  // minutes.
  RabbitMq();

  std::uint16_t port() const { return port_; }
  std::string address(const std::string& queue) const {
    return "amqp://127.0.0.1:" + std::to_string(port_) + "/" + queue;
  }

  void kill() { broker_->kill(); }  // -9.
  void start();                     // Again after kill(), on the same port and data.

 private:
  bool launch();

  const TempDir directory_;
  const TempDir names_directory_;
  std::uint16_t port_ = 0;
  std::uint16_t names_port_ = 0;
  std::uint16_t peer_port_ = 0;
  std::unique_ptr<Daemon> names_;  // Where nodes are found by name; it would outlive the node.
  std::unique_ptr<Daemon> broker_;
};

// Started when it is first asked for. Its process ends with the thread that asked.
inline RabbitMq& shared_rabbitmq() {
  static RabbitMq server;
  return server;
}

}  // namespace once::testing
