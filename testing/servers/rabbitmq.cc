#include "testing/servers/rabbitmq.h"

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

namespace once::testing {
namespace {

// The program itself, not the wrapper of that name that changes to another user.
constexpr const char* kServer = "/usr/lib/rabbitmq/bin/rabbitmq-server";
constexpr const char* kControl = "/usr/lib/rabbitmq/bin/rabbitmqctl";

}  // namespace

std::optional<std::string> RabbitMq::missing() {
  if (!installed("epmd") || !std::filesystem::exists(kServer)) {
    return "RabbitMQ is not installed; see scripts/install-deps";
  }
  return std::nullopt;
}

RabbitMq::RabbitMq(std::optional<std::filesystem::path> certificate)
    : PortServer("RabbitMQ"), certificate_(std::move(certificate)) {
  for (const char* sub : {"mnesia", "logs", "home"}) {
    std::filesystem::create_directory(directory() / sub);
  }
  std::ofstream(directory() / "enabled_plugins") << "[].\n";
  const std::filesystem::path cookie = directory() / "home/.erlang.cookie";
  std::ofstream(cookie) << "only-for-this-test\n";
  std::filesystem::permissions(cookie, std::filesystem::perms::owner_read);
  begin();
}

std::unique_ptr<Daemon> RabbitMq::launch() {
  if (!names_ || !names_->alive()) {
    names_port_ = free_port();
    names_ = std::make_unique<Daemon>(
        "epmd",
        std::vector<std::string>{"-port", std::to_string(names_port_), "-address", "127.0.0.1"},
        names_directory_.path());
  }
  const std::string dir = directory().string();
  const std::string port = std::to_string(this->port());
  std::ofstream settings(dir + "/rabbitmq.conf");
  settings << "listeners.tcp.1 = 127.0.0.1:" << port << "\nloopback_users.guest = true\n"
           << "log.console = true\nlog.console.level = info\n"
           << "vm_memory_high_watermark.absolute = 1GB\ndisk_free_limit.absolute = 50MB\n";
  if (certificate_) {
    tls_port_ = free_port();
    settings << "listeners.ssl.1 = 127.0.0.1:" << tls_port_
             << "\nlisteners.ssl.2 = 127.0.0.2:" << tls_port_
             << "\nssl_options.certfile = " << (*certificate_ / "certificate.pem").string()
             << "\nssl_options.keyfile = " << (*certificate_ / "key.pem").string() << "\n";
  }
  settings.close();
  return std::make_unique<Daemon>(
      "env",
      std::vector<std::string>{
          "HOME=" + dir + "/home",
          "RABBITMQ_ALLOW_INPUT=1",  // Then the script becomes the broker, and does not wait for
                                     // it.
          "RABBITMQ_NODENAME=" + node(), "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
          "RABBITMQ_NODE_PORT=" + port, "RABBITMQ_DIST_PORT=" + std::to_string(free_port()),
          "RABBITMQ_MNESIA_BASE=" + dir + "/mnesia", "RABBITMQ_LOG_BASE=" + dir + "/logs",
          "RABBITMQ_CONFIG_FILE=" + dir + "/rabbitmq.conf",
          "RABBITMQ_ENABLED_PLUGINS_FILE=" + dir + "/enabled_plugins",
          "RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_PID_FILE=" + dir + "/pid",
          "ERL_EPMD_PORT=" + std::to_string(names_port_), "ERL_EPMD_ADDRESS=127.0.0.1",
          "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-noinput +S 2:2 "
          "-kernel inet_dist_use_interface {127,0,0,1}",
          kServer},
      directory());
}

void RabbitMq::control(const std::vector<std::string>& words) const {
  std::vector<std::string> arguments = {"HOME=" + (directory() / "home").string(),
                                        "RABBITMQ_CONF_ENV_FILE=/dev/null",
                                        "ERL_EPMD_PORT=" + std::to_string(names_port_),
                                        "ERL_EPMD_ADDRESS=127.0.0.1",
                                        kControl,
                                        "-n",
                                        node()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const TempDir output;
  Daemon program("env", arguments, output.path());
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (program.alive() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool RabbitMq::comes_up(Daemon& daemon) { return daemon.says("Server startup complete"); }

}  // namespace once::testing
