// Every example of the help is run.
#include <sstream>

#include "cli/cli_fixture.h"

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

TEST_F(Help, EveryCommandHasExamplesAndTheyWork) {
  const std::vector<std::string> names = commands(once("help").out);
  EXPECT_GE(names.size(), 4U);
  for (const std::string& name : names) {
    const std::string help = once("help " + name).out;
    const std::size_t examples = help.find("\nExample:\n");
    ASSERT_NE(examples, std::string::npos) << name;
    int ran = 0;
    for (const std::string& line : lines_of(help.substr(examples))) {
      if (!line.starts_with("  ")) continue;
      const Outcome outcome = shell(line);
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
