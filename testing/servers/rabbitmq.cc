#include "testing/servers/rabbitmq.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

namespace once::testing {
namespace {

// The program itself, not the wrapper of that name that changes to another user.
constexpr const char* kServer = "/usr/lib/rabbitmq/bin/rabbitmq-server";

// A broker that is up answers a greeting that is none with the one it wants.
bool answers_amqp(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  std::array<char, 4> answer{};
  const bool good =
      ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      ::send(socket, "NOTAMQP!", 8, MSG_NOSIGNAL) == 8 &&
      ::recv(socket, answer.data(), answer.size(), MSG_WAITALL) == 4 &&
      std::string_view(answer.data(), 4) == "AMQP";
  ::close(socket);
  return good;
}

}  // namespace

std::optional<std::string> RabbitMq::missing() {
  if (!installed("epmd") || !std::filesystem::exists(kServer)) {
    return "RabbitMQ is not installed; see scripts/install-deps";
  }
  return std::nullopt;
}

RabbitMq::RabbitMq() {
  const std::filesystem::path& dir = directory_.path();
  for (const char* sub : {"mnesia", "logs", "home"}) std::filesystem::create_directory(dir / sub);
  std::ofstream(dir / "enabled_plugins") << "[].\n";
  std::ofstream(dir / "home/.erlang.cookie") << "only-for-this-test\n";
  std::filesystem::permissions(dir / "home/.erlang.cookie", std::filesystem::perms::owner_read);
  // Somebody may take a port before the server does.
  for (int tries = 0; tries < 3; ++tries) {
    port_ = free_port();
    names_port_ = free_port();
    peer_port_ = free_port();
    names_ = std::make_unique<Daemon>(
        "epmd",
        std::vector<std::string>{"-port", std::to_string(names_port_), "-address", "127.0.0.1"},
        names_directory_.path());
    if (launch()) return;
  }
  std::fprintf(stderr, "RabbitMQ does not start:\n%s\n", broker_->log().c_str());
  std::abort();
}

void RabbitMq::start() {
  if (launch()) return;
  std::fprintf(stderr, "RabbitMQ does not start again:\n%s\n", broker_->log().c_str());
  std::abort();
}

bool RabbitMq::launch() {
  const std::string dir = directory_.path().string();
  const std::string port = std::to_string(port_);
  std::ofstream(dir + "/rabbitmq.conf")
      << "listeners.tcp.1 = 127.0.0.1:" << port << "\nloopback_users.guest = true\n"
      << "log.console = true\nlog.console.level = error\n"
      << "vm_memory_high_watermark.absolute = 1GB\ndisk_free_limit.absolute = 50MB\n";
  broker_ = std::make_unique<Daemon>(
      "env",
      std::vector<std::string>{
          "HOME=" + dir + "/home",
          "RABBITMQ_ALLOW_INPUT=1",  // Then the script becomes the broker, and does not wait for
                                     // it.
          "RABBITMQ_NODENAME=t" + port + "@localhost", "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
          "RABBITMQ_NODE_PORT=" + port, "RABBITMQ_DIST_PORT=" + std::to_string(peer_port_),
          "RABBITMQ_MNESIA_BASE=" + dir + "/mnesia", "RABBITMQ_LOG_BASE=" + dir + "/logs",
          "RABBITMQ_CONFIG_FILE=" + dir + "/rabbitmq.conf",
          "RABBITMQ_ENABLED_PLUGINS_FILE=" + dir + "/enabled_plugins",
          "RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_PID_FILE=" + dir + "/pid",
          "ERL_EPMD_PORT=" + std::to_string(names_port_), "ERL_EPMD_ADDRESS=127.0.0.1",
          "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-noinput +S 2:2 "
          "-kernel inet_dist_use_interface {127,0,0,1}",
          kServer},
      directory_.path());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (broker_->alive() && std::chrono::steady_clock::now() < deadline) {
    if (answers_amqp(port_)) return broker_->alive();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  broker_->kill();
  return false;
}

}  // namespace once::testing
