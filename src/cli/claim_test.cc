#include <algorithm>

#include "cli/cli_fixture.h"
#include "testing/child_process.h"

namespace once::cli {
namespace {

class ClaimVerbs : public Cli {
 protected:
  std::string take(const std::string& key) const {
    const std::string ticket = once("claim take " + key + " --field ticket").out;
    EXPECT_TRUE(ticket.ends_with('\n')) << ticket;
    return ticket.substr(0, ticket.size() - 1);
  }
};

TEST_F(ClaimVerbs, AClaimIsOursThenBusyThenDone) {
  const Outcome first = once("claim take job --owner me --json");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(first.out.starts_with(R"({"state":"claimed","ticket":")")) << first.out;
  const Outcome busy = once("claim take job");
  EXPECT_EQ(busy.exit_code, 75);
  EXPECT_EQ(busy.out, "");
  EXPECT_TRUE(holds(busy.err, "another holder has this claim (owner: me, lease until: 20"))
      << busy.err;
  const std::size_t begin = first.out.find("ticket\":\"") + 9;
  const std::string ticket = first.out.substr(begin, first.out.find('"', begin) - begin);
  EXPECT_EQ(once("claim complete job --ticket " + ticket + " --result '{\"n\":1}'").exit_code, 0);
  const Outcome done = once("claim take job");
  EXPECT_EQ(done.exit_code, 1) << "a duplicate is refused";
  EXPECT_TRUE(holds(done.out, "\nresult        {\"n\":1}\n")) << done.out;
}

TEST_F(ClaimVerbs, ANumberIsADurationInSeconds) {
  EXPECT_EQ(once("claim take job --lease 30 --ttl 0.5 --wait 0").exit_code, 0);
  EXPECT_EQ(once("claim take other --lease 30x").exit_code, 64);
  EXPECT_EQ(once("claim list --state busy --older-than 3600").exit_code, 0);
  EXPECT_EQ(once("claim forget --prefix j --older-than 3600").out, "0 claims forgotten\n");
  EXPECT_EQ(once("run key --lease 30 --ttl 60 -- true").exit_code, 0);
  EXPECT_EQ(once("seen id --ttl 60").exit_code, 0);
  EXPECT_EQ(once("tally count hits --window 900 --ttl 3600").exit_code, 0);
  EXPECT_EQ(once("tally read hits --last 900").out, "1\n");
}

TEST_F(ClaimVerbs, ATicketThatLostItsClaimIsRefused) {
  const std::string ticket = take("job");
  EXPECT_EQ(once("claim renew job --lease 1h --ticket " + ticket).exit_code, 0);
  EXPECT_EQ(once("claim forget job").exit_code, 0);
  for (const std::string verb : {"renew", "complete", "release"}) {
    const Outcome outcome = once("claim " + verb + " job --ticket " + ticket);
    EXPECT_EQ(outcome.exit_code, 1) << verb;
    EXPECT_EQ(outcome.err, "once claim " + verb + ": another claim stands, or none\n");
    EXPECT_EQ(once("claim " + verb + " job").exit_code, 64) << "without a ticket";
  }
}

TEST_F(ClaimVerbs, AFailureFreesTheKeyOrIsItsOutcome) {
  EXPECT_EQ(once("claim release job --ticket " + take("job")).exit_code, 0);
  EXPECT_EQ(once("claim show job").exit_code, 1);
  const std::string ticket = take("job");
  EXPECT_EQ(once("claim release job --final --failure 'no funds' --ticket " + ticket).exit_code, 0);
  EXPECT_EQ(once("claim show job --field state").out, "failed\n");
  EXPECT_EQ(once("claim show job --field failure").out, "no funds\n");
}

TEST_F(ClaimVerbs, AFailureIsShownUntilTheNextAttemptWhichIsToldIt) {
  once("claim release job --failure 'no luck' --ticket " + take("job"));
  const Outcome free = once("claim show job");
  EXPECT_TRUE(holds(free.out, "free")) << free.out;
  EXPECT_TRUE(holds(free.out, "no luck")) << free.out;
  EXPECT_TRUE(holds(once("claim list --state free").out, "job"));
  EXPECT_TRUE(holds(once("claim take job --json").out, R"("previous":{"failure":"no luck")"));
}

TEST_F(ClaimVerbs, TextIsPrintedAsText) {
  once("claim complete job --result \"$(printf 'one\\ntwo')\" --ticket " + take("job"));
  const Outcome shown = once("claim show job");
  EXPECT_TRUE(holds(shown.out, "one\n              two\n")) << shown.out;
  once("run greeting -- printf 'hello\\nworld\\n'");
  const Outcome ran = once("claim show greeting");
  EXPECT_TRUE(holds(ran.out, "exit          0\nstdout        hello\n              world\n"))
      << ran.out;
  EXPECT_TRUE(holds(once("claim show greeting --json").out, R"("exit":0)"));
}

TEST_F(ClaimVerbs, AbandonedClaimsAreFoundAndForgottenInBulk) {
  for (const char* key : {"x/1", "x/2", "y"}) {
    EXPECT_EQ(once(std::string("claim take --lease 1ms ").append(key)).exit_code, 0);
  }
  once("claim take x/held --lease 1h");
  const Outcome found = once("claim list --state abandoned --prefix x/ --older-than 0s");
  EXPECT_TRUE(holds(found.out, "x/1")) << found.out << found.err;
  EXPECT_FALSE(holds(found.out, "x/held")) << found.out;
  EXPECT_FALSE(holds(once("claim list --state abandoned --older-than 1h").out, "x/1"));
  EXPECT_FALSE(holds(once("claim list --state busy").out, "x/1"));
  EXPECT_EQ(once("claim forget --prefix x/ --state abandoned --dry-run").out,
            "2 claims would be forgotten\n");
  EXPECT_EQ(once("claim forget --prefix x/ --state abandoned").out, "2 claims forgotten\n");
  EXPECT_EQ(once("claim forget --prefix x/ --state abandoned --json").out, "{\"forgotten\":0}\n");
  EXPECT_EQ(once("claim show x/held").exit_code, 0);
  EXPECT_EQ(once("claim forget").exit_code, 64);
  EXPECT_EQ(once("claim forget y --prefix y").exit_code, 64);
}

TEST_F(ClaimVerbs, ClaimsOfHoldersThatAreGoneAreReleasedInBulk) {
  const std::string ticket = take("x/held");
  once("claim complete x/done --ticket " + take("x/done"));
  EXPECT_EQ(once("claim release --prefix x/ --dry-run").out, "1 claim would be released\n");
  EXPECT_EQ(once("claim release --prefix x/").out, "1 claim released\n");
  EXPECT_EQ(once("claim release --prefix x/").out, "0 claims released\n");
  EXPECT_EQ(once("claim complete x/held --ticket " + ticket).exit_code, 1) << "it is fenced";
  EXPECT_EQ(once("claim take x/held --field attempt").out, "2\n");
  EXPECT_EQ(once("claim release").exit_code, 64);
  EXPECT_EQ(once("claim release x/held").exit_code, 64);
  EXPECT_EQ(once("claim release x/held --prefix x/").exit_code, 64);
  EXPECT_EQ(once("claim release --prefix x/ --ticket " + ticket).exit_code, 64);
  EXPECT_EQ(once("claim release x/held --dry-run --ticket " + ticket).exit_code, 64);
}

TEST_F(ClaimVerbs, FailedClaimsAreRetried) {
  once("claim release job --final --failure broken --ticket " + take("job"));
  EXPECT_EQ(once("claim take job").exit_code, 1);
  EXPECT_EQ(once("claim retry job").out, "1 claim retried\n");
  EXPECT_EQ(once("claim take job --field attempt").out, "2\n");
  EXPECT_EQ(once("claim retry --state failed").out, "0 claims retried\n");
  EXPECT_EQ(once("claim retry --state failed").exit_code, 0);
  EXPECT_EQ(once("claim retry job").exit_code, 1) << "it is held now";
  EXPECT_EQ(once("claim retry never").exit_code, 1);
}

TEST_F(ClaimVerbs, AListOfWhatIsRareIsOneLine) {
  once("claim complete rare --ticket " + take("rare"));
  for (int i = 0; i < 20; ++i) once("claim take busy-" + std::to_string(i));
  const Outcome pages = once("claim list --state done --limit 1 --json");
  EXPECT_EQ(std::ranges::count(pages.out, '\n'), 1) << pages.out;
}

TEST_F(ClaimVerbs, AnotherPayloadIsAMismatch) {
  EXPECT_EQ(once("claim take job --payload a").exit_code, 0);
  EXPECT_EQ(once("claim take job --payload b").exit_code, 1);
}

TEST_F(ClaimVerbs, NamespacesAreApart) {
  EXPECT_EQ(once("claim take job --namespace a").exit_code, 0);
  EXPECT_EQ(once("claim take job --namespace b").exit_code, 0);
  EXPECT_EQ(once("claim take job --namespace a").exit_code, 75);
  EXPECT_EQ(once("claim take job --namespace a/b").exit_code, 64);
}

TEST_F(ClaimVerbs, AListIsAlignedAndMayBeCutShort) {
  shell("once claim take a --owner somebody; once claim take a-longer-one; once run c -- true");
  const Outcome busy = once("claim list --state busy");
  EXPECT_TRUE(busy.out.starts_with("KEY           STATE  OWNER     FENCE ")) << busy.out;
  EXPECT_TRUE(holds(busy.out, "\na             busy   somebody  ")) << busy.out;
  EXPECT_TRUE(holds(busy.out, "\na-longer-one  busy             ")) << busy.out;
  EXPECT_FALSE(holds(busy.out, "\nc ")) << busy.out;
  EXPECT_TRUE(holds(once("claim list").out, "\nc             done "));
  EXPECT_EQ(std::ranges::count(once("claim list --limit 2").out, '\n'), 3);
  EXPECT_EQ(once("claim list --limit none").exit_code, 64);
  EXPECT_EQ(once("claim list --limit 0").exit_code, 64);
  EXPECT_EQ(once("claim list --state sad").exit_code, 64);
}

TEST_F(ClaimVerbs, StoredTextCannotPlayTricksOnATerminal) {
  once("claim take a --owner \"$(printf 'x\\033[2J')\"");
  EXPECT_EQ(once("claim list").out.find('\x1b'), std::string::npos);
  EXPECT_TRUE(holds(once("claim show a").out, "owner        x\\x1b[2J\n"));
}

// The one who waits must not keep the directory from the one it waits for.
TEST_F(ClaimVerbs, WhoWaitsLetsTheHolderComplete) {
  const std::string ticket = take("job");
  testing::ChildProcess waiting(
      ONCE_BINARY, {"claim", "take", "job", "--wait", "5m", "--json", "--store", store()});
  const Outcome completed = once("claim complete job --result 7 --ticket " + ticket);
  EXPECT_EQ(completed.exit_code, 0) << completed.err;
  const auto line = waiting.read_line();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->starts_with(R"({"state":"done","result":7,)")) << *line;
  EXPECT_EQ(waiting.wait(), 1);
}

}  // namespace
}  // namespace once::cli
