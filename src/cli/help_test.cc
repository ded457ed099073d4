// Every example of the help is run.
#include <optional>
#include <sstream>

#include "cli/cli_fixture.h"
#include "once/queues.h"
#include "open/store_kinds.h"
#include "testing/raw_http.h"
#include "testing/servers/dynamodb_local.h"
#include "testing/servers/elasticmq.h"
#include "testing/servers/needs.h"

namespace once::cli {
namespace {

using Help = Cli;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The names in the list of commands.
std::vector<std::string> commands(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(list.substr(0, list.find("Every command")))) {
    if (line.starts_with("  ")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

// What the examples of a command need around them, as lines of the shell; nothing if it is not
// here.
std::optional<std::string> surroundings(const std::string& command) {
  const std::string keys = "export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret ";
  if (command == "table") {
    if (store_kind("dynamodb") == nullptr) return std::nullopt;
    if (testing::DynamoDbLocal::missing() && testing::may_skip()) return std::nullopt;
    static const testing::DynamoDbLocal server;
    return keys + "AWS_ENDPOINT_URL_DYNAMODB=" + server.url() + "\n";
  }
  if (command == "work") {
    if (open_queue("nowhere").error().message.find("sqs:") == std::string::npos)
      return std::nullopt;
    if (testing::ElasticMq::missing() && testing::may_skip()) return std::nullopt;
    static const testing::ElasticMq server;
    const auto made = testing::RawHttp(server.port())
                          .call("POST", "/", "Action=CreateQueue&QueueName=jobs",
                                "Content-Type: application/x-www-form-urlencoded\r\n");
    EXPECT_TRUE(made && made->status == 200);
    return keys + "AWS_ENDPOINT_URL_SQS=" + server.url() + "\n";
  }
  return "";
}

TEST_F(Help, EveryCommandHasExamplesAndTheyWork) {
  const std::vector<std::string> names = commands(once("help").out);
  EXPECT_GE(names.size(), 4U);
  for (const std::string& name : names) {
    const std::string help = once("help " + name).out;
    const std::size_t examples = help.find("\nExample:\n");
    ASSERT_NE(examples, std::string::npos) << name;
    const std::optional<std::string> before = surroundings(name);
    if (!before) continue;
    int ran = 0;
    for (const std::string& line : lines_of(help.substr(examples))) {
      if (!line.starts_with("  ")) continue;
      const Outcome outcome = shell(*before + line);
      EXPECT_EQ(outcome.exit_code, 0) << line << '\n' << outcome.out << outcome.err;
      EXPECT_TRUE(holds(line, "once " + name)) << line;
      ++ran;
    }
    EXPECT_GT(ran, 0) << name;
  }
}

TEST_F(Help, NoLineIsTooLongForATerminal) {
  for (const std::string& name : commands(once("help").out)) {
    for (const std::string& line : lines_of(once("help " + name).out)) {
      EXPECT_LE(line.size(), 102U) << line;
    }
  }
}

}  // namespace
}  // namespace once::cli
