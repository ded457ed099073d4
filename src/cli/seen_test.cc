#include <algorithm>
#include <set>

#include "cli/cli_fixture.h"
#include "testing/child_process.h"

namespace once::cli {
namespace {

using SeenVerb = Cli;

TEST_F(SeenVerb, TellsWhichAreFirst) {
  const Outcome first = once("seen a b a");
  EXPECT_EQ(first.out, "first  a\nfirst  b\nseen   a\n");
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_EQ(once("seen c").exit_code, 0);
  EXPECT_TRUE(once("seen a d --json").out.starts_with("{\"first\":[false,true],\"at\":[\"2"));
  EXPECT_EQ(once("seen e --ttl soon").exit_code, 64);
}

TEST_F(SeenVerb, TakesIdsByTheLineAndByTheThousand) {
  const Outcome outcome = shell("seq 25000 | once seen --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(holds(outcome.out, "false"));
  const Outcome again = shell("printf '24999\\n\\n25001' | once seen");
  EXPECT_EQ(again.out, "seen   24999\nfirst  25001\n");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(shell("once seen </dev/null").exit_code, 0);
}

// Ids that come again in a later batch are not first, whatever the request.
TEST_F(SeenVerb, H11_ARepeatUnderItsRequestIsAnsweredTheSame) {
  const std::string ask = "{ seq 12000; echo 1; } | once seen --request r";
  const Outcome first = shell(ask);
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_TRUE(first.out.ends_with("first  12000\nseen   1\n"));
  EXPECT_EQ(shell(ask).out, first.out);
  EXPECT_TRUE(shell("seq 12000 | once seen --request other").out.starts_with("seen   1\n"));
}

// A pipe that pauses gets its answers, and does not hold the directory.
TEST_F(SeenVerb, APauseIsUsedToAnswerAndToLetOthersIn) {
  testing::ChildProcess reader(
      "/bin/sh", {"-c", "(echo a; read unused; echo b) | '" ONCE_BINARY "' seen --store '" +
                            store().string() + "'"});
  EXPECT_EQ(reader.read_line(), "first  a");
  EXPECT_EQ(once("seen a b").out, "seen   a\nfirst  b\n");
  reader.end_input();
  EXPECT_EQ(reader.read_line(), "seen   b");
  EXPECT_EQ(reader.wait(), 1);
}

TEST_F(SeenVerb, ProcessesSideBySideShareOneDirectory) {
  constexpr int kProcesses = 12;
  std::string script = "for i in $(seq 12); do once seen a b c >out-$i 2>err-$i & done; wait";
  shell(script);
  std::size_t first = 0;
  for (int i = 1; i <= kProcesses; ++i) {
    const std::string out = content_of(dir() / ("out-" + std::to_string(i)));
    EXPECT_EQ(std::ranges::count(out, '\n'), 3) << content_of(dir() / ("err-" + std::to_string(i)));
    for (std::size_t at = 0; (at = out.find("first", at)) != std::string::npos; ++at) ++first;
  }
  EXPECT_EQ(first, 3U);
}

TEST_F(SeenVerb, ADirectoryThatCannotBeUsedIsUnavailableAtOnce) {
  write("file", "in the way");
  const Outcome outcome = once("seen a --store ./file/store");
  EXPECT_EQ(outcome.exit_code, 69);
  EXPECT_TRUE(holds(outcome.err, "cannot be written")) << outcome.err;
}

TEST_F(SeenVerb, ASeenIdIsNoClaimAndAClaimIsNoSeenId) {
  EXPECT_EQ(once("seen job-77").exit_code, 0);
  EXPECT_EQ(once("run job-77 -- echo ran").out, "ran\n");
  once("claim take busy");
  EXPECT_EQ(once("seen busy").out, "first  busy\n");
}

TEST_F(SeenVerb, AnIdIsShownAndForgotten) {
  EXPECT_EQ(once("seen --show a").exit_code, 1);
  once("seen a");
  EXPECT_EQ(once("seen --show a --field id").out, "a\n");
  EXPECT_TRUE(holds(once("seen --show a").out, "until")) << once("seen --show a").out;
  EXPECT_EQ(once("seen --forget a").exit_code, 0);
  EXPECT_EQ(once("seen --forget a").exit_code, 1);
  EXPECT_EQ(once("seen a").out, "first  a\n");
  EXPECT_EQ(once("seen --show a b").exit_code, 64);
}

}  // namespace
}  // namespace once::cli
