// The binary from outside: what it prints where, and what it exits with.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome once(const std::string& arguments) {
  std::string name = std::filesystem::temp_directory_path() / "once-cli-XXXXXX";
  const std::filesystem::path directory = mkdtemp(name.data());
  const auto out = directory / "out";
  const auto err = directory / "err";
  const std::string line =
      "'" ONCE_BINARY "' " + arguments + " >'" + out.string() + "' 2>'" + err.string() + "'";
  const int status = std::system(line.c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
  std::filesystem::remove_all(directory);
  return outcome;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Cli, VersionNamesTheVersionAndTheStoresBuiltIn) {
  const Outcome outcome = once("version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.starts_with("once " ONCE_VERSION "\n")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, "\nstore memory: ")) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST(Cli, VersionForMachinesIsOneLineOfJson) {
  const Outcome outcome = once("version --json");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.starts_with(R"({"version":")" ONCE_VERSION R"(",)")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, R"("stores":["memory")")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("]}\n")) << outcome.out;
}

TEST(Cli, HelpListsEveryCommandAndExplainsEachWithAnExample) {
  const Outcome list = once("help");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.err, "");
  for (const std::string command : {"help", "version"}) {
    EXPECT_TRUE(holds(list.out, "\n  " + command + " ")) << list.out;
    const Outcome help = once("help " + command);
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_TRUE(holds(help.out, "Usage: once " + command)) << help.out;
    EXPECT_TRUE(holds(help.out, "Example:\n  once " + command)) << help.out;
  }
}

TEST(Cli, OptionsThatPeopleTryFirstWork) {
  EXPECT_EQ(once("--help").out, once("help").out);
  EXPECT_EQ(once("-h").out, once("help").out);
  EXPECT_EQ(once("--version").out, once("version").out);
  EXPECT_EQ(once("--version").exit_code, 0);
}

TEST(Cli, AMistypedCommandIsRefusedWithTheNearestName) {
  const Outcome outcome = once("verison");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(holds(outcome.err, "no command 'verison'; did you mean 'version'?")) << outcome.err;
}

TEST(Cli, AnUnlikeCommandIsRefusedWithoutAGuess) {
  const Outcome outcome = once("frobnicate");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_FALSE(holds(outcome.err, "did you mean")) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, "once help")) << outcome.err;
}

TEST(Cli, ArgumentsACommandDoesNotTakeAreRefused) {
  EXPECT_EQ(once("version --jsn").exit_code, 64);
  EXPECT_EQ(once("version --json --json").exit_code, 64);
  EXPECT_EQ(once("help version help").exit_code, 64);
  EXPECT_EQ(once("help frobnicate").exit_code, 64);
}

TEST(Cli, WithoutACommandItSaysThatOneIsMissing) {
  const Outcome outcome = once("");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(holds(outcome.err, "once help")) << outcome.err;
  EXPECT_EQ(once("''").exit_code, 64);
}

}  // namespace
