// Completions are tried in the shells themselves; manual pages by a linter of such pages.
#include <sstream>

#include "cli/cli_fixture.h"

namespace once::cli {
namespace {

using Completion = Cli;
using Manual = Cli;

// What bash offers for a line, of which the last word is being typed.
std::string bash_offers(const std::string& words, int position) {
  return "bash -c 'source <(once completion bash); COMP_WORDS=(" + words +
         "); COMP_CWORD=" + std::to_string(position) + "; _once; echo \"${COMPREPLY[*]}\"'";
}

TEST_F(Completion, BashOffersCommandsVerbsAndOptions) {
  EXPECT_EQ(shell(bash_offers("once vers", 1)).out, "version\n");
  EXPECT_EQ(shell(bash_offers("once claim ren", 2)).out, "renew\n");
  EXPECT_EQ(shell(bash_offers("once claim take k --own", 4)).out, "--owner\n");
  EXPECT_EQ(shell(bash_offers("once run k --names", 3)).out, "--namespace\n");
  EXPECT_EQ(shell(bash_offers("once help see", 2)).out, "seen\n");
}

TEST_F(Completion, BashLeavesTheUsersOwnCommandAlone) {
  EXPECT_EQ(shell(bash_offers("once run k -- ls --le", 5)).out, "\n");
}

TEST_F(Completion, FishOffersCommandsVerbsAndOptions) {
  const auto offers = [&](const std::string& line) {
    return shell("once completion fish >c.fish; fish -N -c 'source c.fish; complete -C \"" + line +
                 "\"'")
        .out;
  };
  EXPECT_TRUE(holds(offers("once vers"), "version\tSays which version"));
  EXPECT_EQ(offers("once claim ren"), "renew\n");
  EXPECT_EQ(offers("once claim take k --own"), "--owner\n");
}

// zsh completes only in a terminal, so it is asked which words it would offer.
TEST_F(Completion, ZshOffersVerbsAndOptions) {
  const auto offers = [&](const std::string& words, int position) {
    return shell(
               "once completion zsh >_once; zsh -f -c 'compdef() { :; }; source ./_once; "
               "compadd() { shift; print -l -- $@; }; _files() { print files; }; words=(" +
               words + "); CURRENT=" + std::to_string(position) + "; _once'")
        .out;
  };
  EXPECT_TRUE(holds(offers("once claim x", 3), "renew\n"));
  EXPECT_TRUE(holds(offers("once claim take k --own", 5), "--owner\n"));
  EXPECT_EQ(offers("once run k -- ls x", 6), "files\n");
}

TEST_F(Completion, AnotherShellIsRefused) { EXPECT_EQ(once("completion tcsh").exit_code, 64); }

TEST_F(Manual, EveryPageIsWithoutFault) {
  // A page has the program's version in place of a date.
  const auto faults = [&](const std::string& help) {
    return shell(help + " --man | mandoc -T lint -W warning | grep -v 'missing date'").out;
  };
  std::istringstream list(
      shell("once completion bash | sed -n \"s/^    candidates='//p\" | tr -d \"'\"").out);
  int pages = 0;
  for (std::string name; list >> name; ++pages) {
    EXPECT_EQ(faults("once help " + name), "") << name;
  }
  EXPECT_GT(pages, 15);
  EXPECT_EQ(faults("once help"), "");
}

TEST_F(Manual, APageHasWhatTheHelpSays) {
  const std::string page = shell("once help claim --man | mandoc -T ascii | sed 's/.\\x08//g'").out;
  EXPECT_TRUE(holds(page, "once-claim - Grants a key"));
  EXPECT_TRUE(holds(page, "SYNOPSIS"));
  EXPECT_TRUE(holds(page, "once claim renew KEY --ticket TICKET"));
  EXPECT_TRUE(holds(page, "EXAMPLES"));
}

}  // namespace
}  // namespace once::cli
