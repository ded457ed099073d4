#include "testing/servers/port_server.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace once::testing {

void PortServer::begin() {
  // Somebody may take the port before the server does.
  constexpr int kTries = 5;
  for (int tries = 0; tries < kTries; ++tries) {
    port_ = free_port();
    if (launched()) return;
  }
  give_up();
}

void PortServer::start() {
  if (!launched()) give_up();
}

bool PortServer::launched() {
  daemon_ = launch();
  if (comes_up(*daemon_)) return true;
  daemon_->kill();
  return false;
}

void PortServer::give_up() const {
  std::fprintf(stderr, "%s does not start:\n%s\n", name_.c_str(), daemon_->log().c_str());
  std::abort();
}

bool answers_while_alive(Daemon& daemon, const std::function<bool()>& answers) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (daemon.alive() && std::chrono::steady_clock::now() < deadline) {
    if (answers()) return daemon.alive();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::optional<std::string> missing_jar(const std::string& name, const std::filesystem::path& jar) {
  if (!installed("java")) return "there is no java for " + name;
  if (std::filesystem::exists(jar)) return std::nullopt;
  return name + " is not installed; see scripts/install-servers";
}

std::vector<std::string> java_arguments() {
  return {"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"};
}

}  // namespace once::testing
