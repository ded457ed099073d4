#include "testing/servers/dynamodb_local.h"

#include <filesystem>
#include <vector>

namespace once::testing {
namespace {

std::filesystem::path home() { return servers_directory() / "dynamodb-local-11.1.0"; }

}  // namespace

std::optional<std::string> DynamoDbLocal::missing() {
  return missing_jar("DynamoDB Local", home() / "DynamoDBLocal.jar");
}

std::unique_ptr<Daemon> DynamoDbLocal::launch() {
  std::vector<std::string> arguments = java_arguments();
  arguments.insert(arguments.end(),
                   {"-Djava.io.tmpdir=" + directory().string(),
                    "-Djava.library.path=" + (home() / "DynamoDBLocal_lib").string(), "-jar",
                    (home() / "DynamoDBLocal.jar").string(), "-port", std::to_string(port()),
                    "-sharedDb", "-disableTelemetry"});
  if (data_ == Data::in_memory) {
    arguments.emplace_back("-inMemory");
  } else {
    arguments.insert(arguments.end(), {"-dbPath", directory().string()});
  }
  return std::make_unique<Daemon>("java", arguments, directory());
}

// What it prints comes before it listens.
bool DynamoDbLocal::comes_up(Daemon& daemon) {
  return answers_while_alive(daemon, [this] { return answers_http(port()); });
}

}  // namespace once::testing
