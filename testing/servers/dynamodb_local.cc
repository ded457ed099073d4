#include "testing/servers/dynamodb_local.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

namespace once::testing {
namespace {

std::filesystem::path home() { return servers_directory() / "dynamodb-local-11.1.0"; }

}  // namespace

std::optional<std::string> DynamoDbLocal::missing() {
  if (!installed("java")) return "there is no java for DynamoDB Local";
  if (std::filesystem::exists(home() / "DynamoDBLocal.jar")) return std::nullopt;
  return "DynamoDB Local is not installed; see scripts/install-servers";
}

DynamoDbLocal::DynamoDbLocal(Data data) : data_(data) {
  // Somebody may take the port before the server does.
  for (int tries = 0; tries < 5; ++tries) {
    port_ = free_port();
    if (launch()) return;
  }
  std::fprintf(stderr, "DynamoDB Local does not start:\n%s\n", daemon_->log().c_str());
  std::abort();
}

void DynamoDbLocal::start() {
  if (launch()) return;
  std::fprintf(stderr, "DynamoDB Local does not start again:\n%s\n", daemon_->log().c_str());
  std::abort();
}

bool DynamoDbLocal::launch() {
  const std::string directory = directory_.path().string();
  std::vector<std::string> arguments = {
      // Small and quick to start: several lanes and tests share the machine.
      "-Xmx256m",
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-XX:-UsePerfData",
      "-Djava.io.tmpdir=" + directory,
      "-Djava.library.path=" + (home() / "DynamoDBLocal_lib").string(),
      "-jar",
      (home() / "DynamoDBLocal.jar").string(),
      "-port",
      std::to_string(port_),
      "-sharedDb",
      "-disableTelemetry"};
  if (data_ == Data::in_memory) {
    arguments.emplace_back("-inMemory");
  } else {
    arguments.insert(arguments.end(), {"-dbPath", directory});
  }
  daemon_ = std::make_unique<Daemon>("java", arguments, directory);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (daemon_->alive() && std::chrono::steady_clock::now() < deadline) {
    if (answers_http(port_)) return daemon_->alive();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  daemon_->kill();
  return false;
}

}  // namespace once::testing
