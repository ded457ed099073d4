#include <algorithm>

#include "cli/cli_fixture.h"
#include "testing/scripted_peer.h"

namespace once::cli {
namespace {

class ExportVerbs : public Cli {
 protected:
  // Something of everything, two namespaces.
  void fill() const {
    const Outcome outcome = shell(R"(set -e
      once claim take held --field ticket >ticket
      once claim forget gone; once claim take gone --field fence >fence; once claim forget gone
      once seen a b c --ttl 7d
      once log append s one two --batch x; once log trim s --before 2
      once doc put d --create '{"n":1}' --id y
      once tally add sum 5 --id z; once tally min low -5; once tally distinct u a b c
      once tally top pages x y x --window day
      once seen a --namespace other
    )");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
};

TEST_F(ExportVerbs, AnImportGoesOnWhereTheExportEnded) {
  fill();
  const std::string etag = once("doc get d --field etag").out;
  EXPECT_EQ(shell("once export >all && once import --store ./copy <all").exit_code, 0);
  const auto copy = [&](const std::string& arguments) {
    return once(arguments + " --store ./copy");
  };
  EXPECT_EQ(copy("claim take held").exit_code, 75);
  EXPECT_EQ(shell("once claim complete held --ticket \"$(cat ticket)\" --store ./copy").exit_code,
            0);
  EXPECT_EQ(copy("seen a b c d").out, "seen   a\nseen   b\nseen   c\nfirst  d\n");
  EXPECT_EQ(copy("log append s one two --batch x").out, "appended 1 to 2, as before\n");
  EXPECT_EQ(copy("log append s three").out, "appended 3\n");
  EXPECT_EQ(copy("log read s --field next").out, "4\n");
  EXPECT_EQ(copy("doc get d --field etag").out, etag);
  EXPECT_EQ(copy("tally add sum 5 --id z").out, "5\n");
  EXPECT_EQ(copy("tally read low").out, "-5\n");
  EXPECT_EQ(copy("tally read u").out, "3\n");
  EXPECT_EQ(copy("seen a --namespace other").exit_code, 1);
  EXPECT_EQ(
      shell("test $(once claim take gone --field fence --store ./copy) -gt $(cat fence)").exit_code,
      0)
      << "a fence only rises";
  EXPECT_EQ(shell("once export --store ./copy2 | once import --store ./copy2").exit_code, 0);
}

TEST_F(ExportVerbs, AnExportOfAnImportIsTheSame) {
  fill();
  shell("once export >all; once import --store ./copy <all; once export --store ./copy >again");
  EXPECT_EQ(content_of(dir() / "all"), content_of(dir() / "again"));
  EXPECT_GT(content_of(dir() / "all").size(), 1'000U);
}

TEST_F(ExportVerbs, ANamespaceIsTakenAlone) {
  fill();
  const Outcome other = once("export --namespace other");
  EXPECT_EQ(std::ranges::count(other.out, '\n'), 3) << other.out;
  EXPECT_TRUE(holds(other.out, R"("home":"claim/other/a")")) << other.out;
  shell("once export | once import --namespace other --store ./copy");
  EXPECT_EQ(once("seen a --store ./copy").exit_code, 0);
  EXPECT_EQ(once("seen a --store ./copy --namespace other").exit_code, 1);
  EXPECT_EQ(once("export --namespace a/b").exit_code, 64);
  EXPECT_EQ(shell("once export | once import --store ./copy --namespace a/b").exit_code, 64);
}

TEST_F(ExportVerbs, AnImportAgainChangesNothingAndOthersAreLeftAlone) {
  once("seen a");
  shell("once export >all");
  EXPECT_EQ(shell("once import <all").out, "imported 0 items, 1 were there already\n");
  EXPECT_EQ(shell("once import --json --store ./copy <all").out,
            R"({"imported":1,"known":0,"refused":0})"
            "\n");
  once("claim forget a");
  const Outcome outcome = shell("once import <all");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(holds(outcome.err, "1 items were not imported")) << outcome.err;
  EXPECT_EQ(once("seen a").exit_code, 0);
}

TEST_F(ExportVerbs, WhatIsNoWholeExportIsRefused) {
  fill();
  shell("once export >all");
  const auto complaint = [&](const std::string& change) {
    const Outcome outcome = shell(change + " | once import --store ./copy");
    EXPECT_EQ(outcome.exit_code, 64) << change;
    return outcome.err;
  };
  EXPECT_TRUE(holds(complaint("head -n -1 all"), "its last line is missing"));
  EXPECT_TRUE(holds(complaint("sed 3d all"), " items, not "));
  EXPECT_TRUE(holds(complaint("tail -n +2 all"), "line 1: this is no export of once"));
  EXPECT_TRUE(holds(complaint("cat all all"), "this is no export of once"));
  EXPECT_TRUE(holds(complaint("sed '2s/version/verison/' all"), "line 2: "));
  EXPECT_TRUE(holds(complaint("sed '2s/\"bytes\":\"/&!/' all"), "line 2: bytes is missing"));
  EXPECT_TRUE(holds(complaint("echo hello"), "line 1: "));
  EXPECT_TRUE(holds(complaint("true"), "its last line is missing"));
  const Outcome newer = shell(R"(echo '{"export":"once","format":2}' | once import)");
  EXPECT_TRUE(holds(newer.err, "newer format")) << newer.err;
}

TEST_F(ExportVerbs, BehindAServerTheyAreRefusedWithTheReason) {
  testing::ScriptedPeer peer({});
  const Outcome outcome = once("export --store " + peer.url());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(holds(outcome.err, "a server stands before the store")) << outcome.err;
  EXPECT_EQ(shell("once import </dev/null --store " + peer.url()).exit_code, 1);
}

TEST_F(ExportVerbs, OutputThatCannotBeWrittenIsNoSuccess) {
  fill();
  EXPECT_EQ(shell("once export >/dev/full").exit_code, 1);
}

}  // namespace
}  // namespace once::cli
