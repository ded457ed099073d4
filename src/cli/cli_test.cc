#include "cli/cli_fixture.h"

namespace once::cli {
namespace {

TEST_F(Cli, VersionNamesTheVersionAndTheStoresBuiltIn) {
  const Outcome outcome = once("version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.starts_with("once " ONCE_VERSION "\n")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, "\nstore memory: ")) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Cli, VersionForMachinesIsOneLineOfJson) {
  const Outcome outcome = once("version --json");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.starts_with(R"({"version":")" ONCE_VERSION R"(",)")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, R"("stores":["memory")")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("]}\n")) << outcome.out;
}

TEST_F(Cli, HelpListsEveryCommandAndExplainsEachWithAnExample) {
  const Outcome list = once("help");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.err, "");
  for (const std::string command : {"claim", "seen", "log", "doc", "tally", "version", "help"}) {
    EXPECT_TRUE(holds(list.out, "\n  " + command + " ")) << list.out;
    const Outcome help = once("help " + command);
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_TRUE(holds(help.out, "Usage: once " + command)) << help.out;
    EXPECT_TRUE(holds(help.out, "Example:\n  once " + command)) << help.out;
  }
}

TEST_F(Cli, OptionsThatPeopleTryFirstWork) {
  EXPECT_EQ(once("--help").out, once("help").out);
  EXPECT_EQ(once("-h").out, once("help").out);
  EXPECT_EQ(once("--version").out, once("version").out);
  EXPECT_EQ(once("--version").exit_code, 0);
}

TEST_F(Cli, AMistypedCommandIsRefusedWithTheNearestName) {
  const Outcome outcome = once("verison");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(holds(outcome.err, "no command 'verison'; did you mean 'version'?")) << outcome.err;
}

TEST_F(Cli, AnUnlikeCommandIsRefusedWithoutAGuess) {
  const Outcome outcome = once("frobnicate");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_FALSE(holds(outcome.err, "did you mean")) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, "once help")) << outcome.err;
}

TEST_F(Cli, ArgumentsACommandDoesNotTakeAreRefused) {
  EXPECT_EQ(once("version --jsn").exit_code, 64);
  EXPECT_EQ(once("version --json --json").exit_code, 64);
  EXPECT_EQ(once("help version help").exit_code, 64);
  EXPECT_EQ(once("help frobnicate").exit_code, 64);
}

TEST_F(Cli, WhatIsWrongIsSaidOnOneLineThatNamesTheHelp) {
  EXPECT_EQ(once("claim").err,
            "once claim: it takes take, renew, complete, release, forget, retry, show or list; "
            "see 'once help claim'\n");
  EXPECT_EQ(once("claim show").err, "once claim show: it takes a KEY; see 'once help claim'\n");
  EXPECT_EQ(once("claim show a b").err,
            "once claim show: 'b' is too much: it takes only a KEY; see 'once help claim'\n");
  EXPECT_EQ(once("claim show a --lease 5s").err,
            "once claim show: there is no option --lease; see 'once help claim'\n");
  EXPECT_EQ(once("claim take a --lease").err,
            "once claim take: --lease needs a value; see 'once help claim'\n");
  EXPECT_EQ(once("claim take a --owner --json").err,
            "once claim take: --owner needs a value; see 'once help claim'\n");
  EXPECT_EQ(once("run a --owner -- true").exit_code, 64);
  EXPECT_EQ(once("claim tkae a").exit_code, 64);
  EXPECT_EQ(once("claim take a -x").exit_code, 64);
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(Cli, AValueMayBeginLikeAnOptionIfItIsSaidToBeOne) {
  EXPECT_EQ(once("seen --store memory: --namespace=--json -- --first").out, "first  --first\n");
}

TEST_F(Cli, HelpIsAlsoAnOptionOfEveryCommand) {
  EXPECT_EQ(once("claim take --help").out, once("help claim").out);
  EXPECT_EQ(once("seen -h").out, once("help seen").out);
  EXPECT_EQ(once("seen -h").exit_code, 0);
}

TEST_F(Cli, EveryVerbTakesTheAddressOfAStore) {
  for (const std::string verb :
       {"log append s a", "log read s", "log trim s --before 1", "doc put d --create x",
        "tally add t 5", "tally distinct d a", "hot", "export"}) {
    const Outcome outcome = once(verb + " --store memory:");
    EXPECT_EQ(outcome.exit_code, 0) << verb << outcome.err;
  }
  EXPECT_EQ(once("tally read t --store memory:").exit_code, 1);
  EXPECT_EQ(once("log read s --store nothing:").exit_code, 64);
  EXPECT_EQ(shell("once export --store memory: | once import --store memory:").out,
            "imported 0 items\n");
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(Cli, OutputThatCannotBeWrittenIsNoSuccess) {
  const Outcome outcome = shell("once help >/dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(holds(outcome.err, "cannot be written")) << outcome.err;
}

TEST_F(Cli, WithoutACommandItSaysThatOneIsMissing) {
  const Outcome outcome = once("");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(holds(outcome.err, "once help")) << outcome.err;
  EXPECT_EQ(once("''").exit_code, 64);
}

}  // namespace
}  // namespace once::cli
