#include "testing/servers/elasticmq.h"

#include <filesystem>
#include <fstream>
#include <vector>

namespace once::testing {
namespace {

std::filesystem::path jar() {
  return servers_directory() / "elasticmq-0.7.1" / "elasticmq-server-0.7.1.jar";
}

}  // namespace

std::optional<std::string> ElasticMq::missing() { return missing_jar("ElasticMQ", jar()); }

std::unique_ptr<Daemon> ElasticMq::launch() {
  std::ofstream(directory() / "emq.conf")
      << "include classpath(\"application.conf\")\n"
      << "node-address { protocol = http, host = \"127.0.0.1\", port = " << port()
      << ", context-path = \"\" }\n"
      << "rest-sqs { enabled = true, bind-port = " << port()
      << ", bind-hostname = \"127.0.0.1\", sqs-limits = strict }\n"
      << "rest-stats { enabled = false }\n"
      << "generate-node-address = false\n";
  std::vector<std::string> arguments = java_arguments();
  arguments.insert(arguments.end(), {"--add-opens", "java.base/java.util.regex=ALL-UNNAMED",
                                     "-Dconfig.file=emq.conf", "-jar", jar().string()});
  return std::make_unique<Daemon>("java", arguments, directory());
}

bool ElasticMq::comes_up(Daemon& daemon) { return daemon.says(") started in "); }

}  // namespace once::testing
