#include "testing/servers/elasticmq.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace once::testing {
namespace {

std::filesystem::path jar() {
  return servers_directory() / "elasticmq-0.7.1" / "elasticmq-server-0.7.1.jar";
}

}  // namespace

std::optional<std::string> ElasticMq::missing() {
  if (!installed("java")) return "there is no java for ElasticMQ";
  if (std::filesystem::exists(jar())) return std::nullopt;
  return "ElasticMQ is not installed; see scripts/install-servers";
}

ElasticMq::ElasticMq() {
  // Somebody may take the port before the server does.
  for (int tries = 0; tries < 5; ++tries) {
    port_ = free_port();
    if (launch()) return;
  }
  std::fprintf(stderr, "ElasticMQ does not start:\n%s\n", daemon_->log().c_str());
  std::abort();
}

void ElasticMq::start() {
  if (launch()) return;
  std::fprintf(stderr, "ElasticMQ does not start again:\n%s\n", daemon_->log().c_str());
  std::abort();
}

bool ElasticMq::launch() {
  const std::string port = std::to_string(port_);
  std::ofstream(directory_.path() / "emq.conf")
      << "include classpath(\"application.conf\")\n"
      << "node-address { protocol = http, host = \"127.0.0.1\", port = " << port
      << ", context-path = \"\" }\n"
      << "rest-sqs { enabled = true, bind-port = " << port
      << ", bind-hostname = \"127.0.0.1\", sqs-limits = strict }\n"
      << "rest-stats { enabled = false }\n"
      << "generate-node-address = false\n";
  daemon_ = std::make_unique<Daemon>(
      "java",
      std::vector<std::string>{"--add-opens", "java.base/java.util.regex=ALL-UNNAMED", "-Xmx256m",
                               "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                               "-Dconfig.file=emq.conf", "-jar", jar().string()},
      directory_.path());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (daemon_->alive() && std::chrono::steady_clock::now() < deadline) {
    if (answers_http(port_)) return daemon_->alive();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  daemon_->kill();
  return false;
}

}  // namespace once::testing
