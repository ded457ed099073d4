#include <algorithm>

#include "cli/cli_fixture.h"
#include "testing/scripted_peer.h"
#include "testing/server_process.h"

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

  // All but the last line, which has the time of the export.
  std::string items_of(const std::string& name) const {
    const std::string all = content_of(dir() / name);
    return all.substr(0, all.rfind("{\"items\""));
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
}

TEST_F(ExportVerbs, AnExportIntoANewFileIsReadableForItsOwnerOnly) {
  once("seen a");
  EXPECT_EQ(shell("umask 022; once export >all; stat -c %a all").out, "600\n");
  EXPECT_EQ(shell("umask 022; echo >old; once export >>old; stat -c %a old").out, "644\n")
      << "a file that was there before is the user's";
}

TEST_F(ExportVerbs, AnExportOfAnImportIsTheSame) {
  fill();
  shell("once export >all; once import --store ./copy <all; once export --store ./copy >again");
  EXPECT_EQ(items_of("all"), items_of("again"));
  EXPECT_GT(items_of("all").size(), 1'000U);
}

TEST_F(ExportVerbs, ANamespaceIsTakenAlone) {
  fill();
  const Outcome other = once("export --namespace other");
  EXPECT_EQ(std::ranges::count(other.out, '\n'), 3) << other.out;
  EXPECT_TRUE(holds(other.out, R"("home":"seen/other/a")")) << other.out;
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
  once("seen --forget a");
  const Outcome outcome = shell("once import <all");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(holds(outcome.err, "1 items were not imported")) << outcome.err;
  EXPECT_EQ(once("seen a").exit_code, 0);
}

TEST_F(ExportVerbs, ABadLineIsNamedByItsNumberAndNothingIsImported) {
  fill();
  ASSERT_EQ(shell("once export >all").exit_code, 0);
  const auto complaint = [&](const std::string& change) {
    const Outcome outcome = shell(change + " | once import --store ./copy");
    EXPECT_EQ(outcome.exit_code, 64) << change;
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(std::filesystem::exists(dir() / "copy")) << change;
    return outcome.err;
  };
  EXPECT_TRUE(holds(complaint("head -n -1 all"), "its last line is missing"));
  EXPECT_TRUE(holds(complaint("sed 3d all"), " items, not "));
  EXPECT_TRUE(holds(complaint("tail -n +2 all"), "line 1: this is no export of once"));
  EXPECT_TRUE(holds(complaint("cat all all"), "this is no export of once"));
  EXPECT_TRUE(holds(complaint("sed '$p' all"), "there is more after the last line"));
  EXPECT_TRUE(holds(complaint("sed '2s/version/verison/' all"), "line 2: "));
  EXPECT_TRUE(holds(complaint("sed 's/\"bytes\":\"/&!/' all"), ": bytes is missing"));
  EXPECT_TRUE(holds(complaint("sed '2s/\"sort\":0/\"sort\":1/' all"), "line 2: check is "));
  EXPECT_TRUE(holds(complaint("sed '2s/claim/clam/' all"), "line 2: home is none"));
  EXPECT_TRUE(holds(complaint("sed '2s/}$/,\"more\":1}/' all"), "line 2: "));
  EXPECT_TRUE(holds(complaint("echo hello"), "line 1: "));
  EXPECT_TRUE(holds(complaint("printf '\\n\\n{}\\n'"), "line 3: "));
  EXPECT_TRUE(holds(complaint("true"), "its last line is missing"));
  const Outcome newer = shell(R"(echo '{"export":"once","format":2}' | once import)");
  EXPECT_TRUE(holds(newer.err, "newer format")) << newer.err;
  EXPECT_EQ(newer.exit_code, 1);
}

TEST_F(ExportVerbs, ARecordThatDoesNotDecodeIsNamedAndNothingIsImported) {
  write("all", R"({"export":"once","format":1}
{"home":"claim/default/rotten","part":"","sort":0,"version":"573f27da57fdcafe","bytes":"cm90","check":984374577}
{"items":1,"check":984374577,"time":"2026-11-15T09:30:00.000Z"}
)");
  const Outcome outcome = shell("once import --store ./copy <all");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_TRUE(holds(outcome.err, "line 2: home of claim/default/rotten@0: ")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(dir() / "copy"));
}

TEST_F(ExportVerbs, TokensAreImportedOnlyIfTheyAreAskedFor) {
  once("token new");
  once("seen a");
  ASSERT_EQ(shell("once export >all").exit_code, 0);
  const Outcome without = shell("once import --store ./copy <all");
  EXPECT_EQ(without.out, "imported 1 items\n");
  EXPECT_TRUE(holds(without.err, "1 tokens were left out")) << without.err;
  EXPECT_EQ(once("token list --store ./copy").out.find("20"), std::string::npos);
  EXPECT_EQ(shell("once import --with-tokens --store ./copy <all").out,
            "imported 2 items, 1 were there already\n");  // The mark that it had a token, too.
  EXPECT_NE(once("token list --store ./copy").out.find("20"), std::string::npos);
}

TEST_F(ExportVerbs, AnItemTwiceInPlaceOfAnotherIsNoWholeExport) {
  fill();
  const Outcome outcome = shell(
      "once export >all; sed -n 2p all >second; sed -e '3r second' -e 3d all | once import "
      "--store ./copy");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_TRUE(holds(outcome.err, "the export had other items")) << outcome.err;
}

TEST_F(ExportVerbs, AClockThatIsFarBehindIsRefused) {
  once("seen a");
  const Outcome outcome =
      shell(R"(once export | sed 's/"time":"2/"time":"3/' | once import --store ./copy)");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(holds(outcome.err, "fences would not rise")) << outcome.err;
  EXPECT_EQ(once("seen a --store ./copy").exit_code, 0);
}

TEST_F(ExportVerbs, AFileIsReadFromWhereItStands) {
  once("seen a");
  shell("once export >all; (echo skipped; cat all) >more");
  const Outcome outcome = shell("(read line; once import --store ./copy) <more");
  EXPECT_EQ(outcome.out, "imported 1 items\n") << outcome.err;
}

TEST_F(ExportVerbs, ALargeItemComesThroughAServer) {
  shell("head -c 2000000 /dev/urandom >large; once doc put large --create --file large");
  testing::ServerProcess copy(dir() / "copy");
  EXPECT_EQ(shell("once export | once import --store " + copy.url()).out, "imported 2 items\n");
  EXPECT_EQ(shell("once doc get large --store ./copy | cmp - large").exit_code, 0);
  shell("once export >here; once export --store ./copy >there");
  EXPECT_EQ(items_of("here"), items_of("there"));
}

TEST_F(ExportVerbs, AServerThatOwnsTheDirectoryExportsAndImports) {
  fill();
  ASSERT_EQ(shell("once export >direct").exit_code, 0);
  {
    testing::ServerProcess server(store());
    testing::ServerProcess copy(dir() / "copy");
    const Outcome made = shell("once export >all && once import --store ./copy <all");
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_TRUE(made.out.starts_with("imported ")) << made.out;
    EXPECT_EQ(once("seen a b d --store " + copy.url()).out, "seen   a\nseen   b\nfirst  d\n");
    EXPECT_EQ(shell("once claim complete held --ticket $(cat ticket) --store ./copy").exit_code, 0);
    EXPECT_EQ(shell("test $(once claim take gone --field fence --store ./copy) -gt $(cat fence)")
                  .exit_code,
              0);
  }
  EXPECT_EQ(items_of("direct"), items_of("all"));
}

TEST_F(ExportVerbs, OnlyAnAdministratorsTokenExportsAndImports) {
  testing::ServerProcess server(store());
  const std::string all = once("token new --field token").out;
  const std::string token = " --token " + all.substr(0, all.size() - 1);
  const std::string bound = once("token new --namespace n --field token" + token).out;
  EXPECT_EQ(once("export").exit_code, 1);
  EXPECT_EQ(once("export --namespace n --token " + bound).exit_code, 1);
  EXPECT_EQ(once("export" + token).exit_code, 0);
  EXPECT_EQ(shell("once export" + token + " | once import --token " + bound).exit_code, 1);
  EXPECT_EQ(shell("once export" + token + " | once import" + token).exit_code, 0);
}

// Two walks that differ, as they do while others write.
TEST_F(ExportVerbs, H48_WhatWasWrittenToMeanwhileIsNoExport) {
  once("seen a b");
  const Outcome whole = once("export");
  const std::string first = whole.out.substr(whole.out.find('\n') + 1);
  const std::string a = first.substr(0, first.find('\n'));
  const std::string rest = first.substr(first.find('\n') + 1);
  const std::string b = rest.substr(0, rest.find('\n'));
  const auto page = [](const std::string& items, const std::string& cursor) {
    return [=](testing::Conversation& c) {
      c.read_request();
      c.answer("200 OK", R"({"items":[)" + items +
                             R"(],"time":"2026-11-15T09:30:00.000Z","cursor":)" + cursor + "}");
    };
  };
  const auto talk = [&](const std::string& later) {
    return [=](testing::Conversation& c) {
      page(a, R"("x")")(c);
      page(b, "null")(c);
      page(later, "null")(c);
    };
  };
  testing::ScriptedPeer quiet({talk(b + "," + a)});
  const Outcome calm = once("export --store " + quiet.url());
  EXPECT_EQ(calm.exit_code, 0) << calm.err;
  EXPECT_TRUE(holds(calm.out, a + "\n" + b + "\n{\"items\":2,")) << calm.out;
  testing::ScriptedPeer written({talk(a)});
  const Outcome torn = once("export --store " + written.url());
  EXPECT_EQ(torn.exit_code, 75);
  EXPECT_TRUE(holds(torn.err, "written to meanwhile")) << torn.err;
  EXPECT_FALSE(holds(torn.out, "\"items\"")) << torn.out;
}

TEST_F(ExportVerbs, H48_WhatIsExportedAsFoundSaysSoAndIsImportedOnlySo) {
  const auto answer = [](testing::Conversation& c) {
    c.read_request();
    c.answer("200 OK", R"({"items":[],"time":"2026-11-15T09:30:00.000Z","cursor":null})");
  };
  testing::ScriptedPeer peer({answer});
  const Outcome found = shell("once export --as-found --store " + peer.url() + " | tee found");
  EXPECT_TRUE(holds(found.out, "\"as_found\":true}")) << found.out << found.err;
  EXPECT_EQ(shell("once import --store ./copy <found").exit_code, 64);
  EXPECT_EQ(shell("once import --as-found --store ./copy <found").exit_code, 0);
}

TEST_F(ExportVerbs, H48_ADirectoryIsExportedAtOneMomentWhileItsServerWrites) {
  const Outcome outcome = shell(
      "once serve --listen 127.0.0.1:0 > ready & pid=$!\n"
      "until [ -s ready ] || ! kill -0 $pid; do :; done\n"
      "once log append s before >&2\n"
      "(while [ ! -e stop ]; do once log append s more >&2 || exit 1; done) & writer=$!\n"
      "for i in 1 2 3; do once export >all || echo failed $?; done\n"
      "touch stop; wait $writer; kill $pid; wait $pid\n"
      "ls store/checkpoints | wc -l\n"
      "once import --store ./copy <all >&2 && once log read s --store ./copy --field next >next\n"
      "test $(cat next) -gt 1 && echo whole");
  EXPECT_EQ(outcome.out, "0\nwhole\n") << outcome.err;
}

TEST_F(ExportVerbs, OutputThatCannotBeWrittenIsNoSuccess) {
  fill();
  EXPECT_EQ(shell("once export >/dev/full").exit_code, 1);
}

}  // namespace
}  // namespace once::cli
