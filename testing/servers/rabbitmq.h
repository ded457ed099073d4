// Debian's rabbitmq-server as a node of its own on loopback, which takes five seconds to start: one
// for a whole test program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testing/servers/port_server.h"

namespace once::testing {

class RabbitMq final : public PortServer {
 public:
  // Why it cannot be started on this machine; nothing if it can.
  static std::optional<std::string> missing();

  // With a directory of a certificate.pem and a key.pem it speaks TLS, too, on 127.0.0.1 and
  // 127.0.0.2.
  explicit RabbitMq(std::optional<std::filesystem::path> certificate = std::nullopt);

  std::string address(const std::string& queue) const {
    return "amqp://127.0.0.1:" + std::to_string(port()) + "/" + queue;
  }
  std::uint16_t tls_port() const { return tls_port_; }

  // Runs rabbitmqctl with these words, to its end.
  void control(const std::vector<std::string>& words) const;

 private:
  std::unique_ptr<Daemon> launch() override;
  bool comes_up(Daemon& daemon) override;

  std::string node() const { return "t" + std::to_string(port()) + "@localhost"; }

  const std::optional<std::filesystem::path> certificate_;
  const TempDir names_directory_;
  std::uint16_t tls_port_ = 0;
  std::uint16_t names_port_ = 0;
  std::unique_ptr<Daemon> names_;  // Where nodes are found by name; it would outlive the node.
};

// Started when it is first asked for. Its process ends with the thread that asked.
inline RabbitMq& shared_rabbitmq() {
  static RabbitMq server;
  return server;
}

}  // namespace once::testing
