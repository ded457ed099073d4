// Where options come from. `--field` shows which value was taken.
#include "cli/cli_fixture.h"
#include "testing/needs_store.h"

namespace once::cli {
namespace {

constexpr std::string_view kTake = "claim take key --store memory:";

class Options : public Cli {
 protected:
  Outcome take(const std::string& before, const std::string& options) const {
    return shell(before + " once " + std::string(kTake) + " " + options);
  }
};

TEST_F(Options, TheCommandLineWinsOverTheEnvironmentAndThatOverTheFile) {
  write("once.toml", "field = 'state'\n");
  EXPECT_EQ(take("", "--config once.toml").out, "claimed\n");
  EXPECT_EQ(take("ONCE_CONFIG=once.toml", "").out, "claimed\n");
  EXPECT_EQ(take("ONCE_CONFIG=once.toml ONCE_FIELD=attempt", "").out, "1\n");
  EXPECT_EQ(take("ONCE_CONFIG=once.toml ONCE_FIELD=state", "--field attempt").out, "1\n");
  EXPECT_EQ(take("ONCE_FIELD=", "--config once.toml").out, "claimed\n");
}

TEST_F(Options, ATableOfTheFileIsForItsCommand) {
  write("once.toml", "field = 'nothing'\n[claim]\nfield = 'attempt'\n[seen]\nfield = 'first'\n");
  EXPECT_EQ(take("", "--config once.toml").out, "1\n");
  EXPECT_EQ(once("seen a --store memory: --config once.toml").out, "[true]\n");
}

TEST_F(Options, AFileMayHoldAnyKindOfValue) {
  write("once.toml", "json = true\n[claim]\nlimit = 5\n");
  EXPECT_TRUE(take("", "--config once.toml").out.starts_with(R"({"state":"claimed")"));
  EXPECT_EQ(once("claim list --store memory: --config once.toml").out,
            R"({"claims":[],"cursor":null})"
            "\n");
}

TEST_F(Options, AListMayBeAnArrayOfTheFileOrGivenSeveralTimes) {
  const std::string serve = "serve --store memory: --listen 127.0.0.1:0 ";
  write("once.toml", "[serve]\nhost = ['once.example', '*']\n");
  const Outcome from_file = once(serve + "--config once.toml");
  EXPECT_EQ(from_file.exit_code, 64);
  EXPECT_TRUE(holds(from_file.err, "not '*'")) << from_file.err;
  const Outcome given = once(serve + "--host once.example --host 'a.example, *'");
  EXPECT_EQ(given.exit_code, 64);
  EXPECT_TRUE(holds(given.err, "not '*'")) << given.err;
}

TEST_F(Options, AFileThatNobodyUnderstandsIsRefused) {
  const auto complaint = [&](const std::string& content) {
    write("once.toml", content);
    const Outcome outcome = take("", "--config once.toml");
    EXPECT_EQ(outcome.exit_code, 64);
    return outcome.err;
  };
  EXPECT_TRUE(holds(complaint("feild = 'state'"), "once.toml: no command takes feild"));
  EXPECT_TRUE(holds(complaint("[claim]\nbatch = 'b'"), "once.toml: claim takes no batch"));
  EXPECT_TRUE(holds(complaint("[clam]\nlease = '1s'"), "once.toml: no command takes clam"));
  EXPECT_TRUE(holds(complaint("lease = ['1s']"), "lease is neither a text, a number"));
  EXPECT_TRUE(holds(complaint("store = 'a'\nlease = "), "once.toml: line 2: "));
  EXPECT_TRUE(holds(take("", "--config missing.toml").err, "missing.toml: ")) << "no such file";
  EXPECT_EQ(take("", "--config missing.toml").exit_code, 64);
}

TEST_F(Options, RoutesOfTheServerMayBeInTheSameFile) {
  write("once.toml", "field = 'state'\n[[route]]\ntype = 'a'\nlog = 'b'\n");
  EXPECT_EQ(take("", "--config once.toml").out, "claimed\n");
}

TEST_F(Options, ARouteThatCannotBeKeepsTheServerFromStartingAndNamesFileAndField) {
  const auto complaint = [&](const std::string& content) {
    write("once.toml", content);
    const Outcome outcome =
        shell("timeout 10 once serve --store memory: --listen 127.0.0.1:0 --config once.toml");
    EXPECT_EQ(outcome.exit_code, 64) << content;
    return outcome.err;
  };
  const std::string sound = "[[route]]\ntype = 'a'\n";
  EXPECT_TRUE(
      holds(complaint(sound + "[[route]]\nlog = 'l'\n"), "once.toml: route 2: type is miss"));
  EXPECT_TRUE(
      holds(complaint(sound + "forwrad = 'x'\n"), "once.toml: route 1: forwrad is no field"));
  EXPECT_TRUE(
      holds(complaint(sound + "forward = 'ftp://h/'\n"), "route 1: forward is not http://"));
  EXPECT_TRUE(holds(complaint(sound + "ttl = 'soon'\n"), "route 1: ttl is not a duration"));
  EXPECT_TRUE(holds(complaint(sound + "lease = '1ms'\n"), "route 1: lease is 1s to 1h"));
  EXPECT_TRUE(holds(complaint(sound + "tally = 7\n"), "route 1: tally is not a text"));
  EXPECT_TRUE(holds(complaint("[[route]]\ntype = ''\n"), "route 1: type is empty"));
  EXPECT_TRUE(holds(complaint("[route]\ntype = 'a'\n"), "route is written [[route]]"));
  EXPECT_TRUE(holds(complaint("route = [1]\n"), "route 1: a route is a table"));
}

TEST_F(Options, AMistakeInAQuotaIsNamed) {
  const auto complaint = [&](const std::string& content) {
    write("once.toml", content);
    const Outcome outcome =
        shell("timeout 10 once serve --store memory: --listen 127.0.0.1:0 --config once.toml");
    EXPECT_EQ(outcome.exit_code, 64) << content;
    return outcome.err;
  };
  EXPECT_TRUE(holds(complaint("[namespace.a]\nkey = 3\n"), "namespace a: key is no quota"));
  EXPECT_TRUE(holds(complaint("[namespace.a]\nkeys = -1\n"), "a: keys is not a whole number"));
  EXPECT_TRUE(holds(complaint("[namespace.a]\nbytes = '1g'\n"), "a: bytes is not a whole number"));
  EXPECT_TRUE(holds(complaint("[namespace.a]\nrequests_per_second = 0\n"), "is a number from"));
  EXPECT_TRUE(holds(complaint("[namespace.'*']\nkeys = 3\n"), "listed by name"));
  EXPECT_TRUE(holds(complaint("[namespace.'a/b']\nkeys = 3\n"), "a namespace is 1 to 64"));
}

TEST_F(Options, FlagsAreTrueOrFalseAnywhere) {
  EXPECT_TRUE(take("ONCE_JSON=1", "").out.starts_with("{"));
  EXPECT_FALSE(take("ONCE_JSON=1", "--json=false").out.starts_with("{"));
  const Outcome outcome = take("ONCE_JSON=maybe", "");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_TRUE(holds(outcome.err, "--json is true or false, not 'maybe'")) << outcome.err;
}

TEST_F(Options, MayBeWrittenWithAnEqualsSignAndBetweenWords) {
  EXPECT_EQ(once("claim take --store=memory: --field=state key --owner=a=b").out, "claimed\n");
  EXPECT_EQ(take("", "--field state --field state").exit_code, 64);
}

TEST_F(Options, AListIsAnArrayOfTheFileOrHasCommasOrIsGivenMoreThanOnce) {
  const auto complaint = [&](const std::string& before, const std::string& options) {
    const Outcome outcome = shell(before +
                                  " timeout 10 once proxy --upstream http://127.0.0.1:1 "
                                  "--store memory: --listen 127.0.0.1:0 " +
                                  options);
    EXPECT_EQ(outcome.exit_code, 64);
    return outcome.err;
  };
  const std::string last = "--identity-header is the name of a header, not 'x y'";
  write("once.toml", "[proxy]\nidentity-header = ['fine', 'x y']\n");
  EXPECT_TRUE(holds(complaint("", "--config once.toml"), last));
  EXPECT_TRUE(holds(complaint("ONCE_IDENTITY_HEADER='fine,x y'", ""), last));
  EXPECT_TRUE(holds(complaint("", "--identity-header fine --identity-header 'x y'"), last));
  write("once.toml", "[proxy]\nidentity-header = [7]\n");
  EXPECT_TRUE(holds(complaint("", "--config once.toml"), "proxy.identity-header is neither"));
}

TEST_F(Options, TwoDashesEndThem) {
  EXPECT_EQ(once("claim take --store memory: --field state -- --key").out, "claimed\n");
  EXPECT_EQ(once("seen --store memory: -- -h --help").out, "first  -h\nfirst  --help\n");
}

TEST_F(Options, WhatIsNoStoreIsUsage) {
  const Outcome outcome = once("seen a --store telepathy:there");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_TRUE(holds(outcome.err, "no store \"telepathy:\"")) << outcome.err;
  EXPECT_EQ(once("seen a --store https://there/below").exit_code, 64);
  EXPECT_EQ(once("seen a --store http://there/path").exit_code, 64);
}

TEST_F(Options, WithoutAStoreItIsInTheStateDirectory) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  EXPECT_EQ(shell("unset ONCE_STORE; XDG_STATE_HOME=$PWD/state once seen a").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(dir() / "state" / "once" / "CURRENT"));
}

}  // namespace
}  // namespace once::cli
