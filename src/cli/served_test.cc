// Verbs through a real server, by its URL and by the directory that it owns.
#include <algorithm>
#include <atomic>
#include <functional>

#include "cli/cli_fixture.h"
#include "once/time.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/upstream.h"

namespace once::cli {
namespace {

// A problem of ours.
std::string refusal(const std::string& status, const std::string& code) {
  return testing::http_answer(status, R"({"code":")" + code + R"(","detail":"no"})",
                              "Content-Type: application/problem+json\r\n");
}

// Passes a request on to a server, and gives back what the server answered.
std::string passed_on(std::uint16_t port, const std::string& request) {
  testing::RawHttp peer(port);
  peer.send(request);
  const auto answer = peer.receive();
  return answer ? answer->head + "\r\n" + answer->body : "";
}

class Served : public Cli {
 protected:
  std::string by_url() const { return " --store " + server_.url(); }

  testing::ServerProcess server_{store()};
};

TEST_F(Served, LogsAreTheSameByUrlAndByDirectory) {
  EXPECT_EQ(once("log append s a b --batch x" + by_url()).out, "appended 1 to 2\n");
  EXPECT_EQ(once("log append s a b --batch x").out, "appended 1 to 2, as before\n");
  EXPECT_EQ(once("log append s c --expect 2" + by_url()).exit_code, 1);
  EXPECT_EQ(once("log read s --field next" + by_url()).out, "3\n");
  EXPECT_EQ(once("log trim s --before 2" + by_url()).out, "oldest  2\nnext    3\n");
  EXPECT_EQ(shell("seq 2345 | once log append s >/dev/null").exit_code, 0);
  EXPECT_EQ(once("log read s --from 2347 --field next").out, "2348\n");
}

TEST_F(Served, AFollowerGetsWhatOthersAppend) {
  testing::ChildProcess follower(ONCE_BINARY, {"log", "follow", "s", "--limit", "2", "--field",
                                               "data", "--store", server_.url()});
  once("log append s a");
  EXPECT_EQ(follower.read_line(), "a");
  once("log append s b");
  EXPECT_EQ(follower.read_line(), "b");
  EXPECT_EQ(follower.wait(), 0);
}

TEST_F(Served, DocumentsAreTheSameByUrlAndByDirectory) {
  EXPECT_EQ(once("doc put d --create '{\"n\":1}'" + by_url()).exit_code, 0);
  EXPECT_EQ(once("doc put d --create 2" + by_url()).exit_code, 1);
  EXPECT_EQ(once("doc patch d '{\"m\":2}' --id x" + by_url()).out, "{\"m\":2,\"n\":1}\n");
  EXPECT_EQ(once("doc patch d '{\"m\":2}' --id x").out, "{\"m\":2,\"n\":1}\n");
  EXPECT_EQ(once("doc get d").out, once("doc get d" + by_url()).out);
  EXPECT_EQ(shell("once doc rm d --if-match $(once doc get d --field etag)" + by_url()).exit_code,
            0);
  EXPECT_EQ(once("doc get d").exit_code, 1);
}

TEST_F(Served, TalliesAreTheSameByUrlAndByDirectory) {
  EXPECT_EQ(once("tally add t 5 --id x" + by_url()).out, "5\n");
  EXPECT_EQ(once("tally add t 5 --id x").out, "5\n");
  EXPECT_EQ(once("tally max t 5" + by_url()).exit_code, 1);
  EXPECT_EQ(once("tally read t none" + by_url()).out,
            "KEY   KIND  VALUE\nt     sum   5\nnone  -     -\n");
  EXPECT_EQ(shell("seq 2500 | once tally distinct d >/dev/null; once tally read t d" + by_url())
                .exit_code,
            0);
}

// Between the command and the server stands one that takes as little as a server may be told to.
TEST_F(Served, H16_AnOutcomeThatIsTooLargeIsKeptWithLessOfItsOutput) {
  std::atomic<std::size_t> most = 2'000;
  testing::Upstream small([&](const std::string& request, int) -> std::string {
    if (request.size() > most) return refusal("413 Content Too Large", "too_large");
    return passed_on(server_.port(), request);
  });
  const std::string through = " --store " + small.url() + " -- ";
  EXPECT_EQ(once("run a" + through + "sh -c 'head -c 9999 /dev/zero | tr \"\\0\" x'").exit_code, 0);
  const Outcome again = once("run a" + through + "echo again");
  EXPECT_TRUE(again.out.starts_with(std::string(512, 'x') + "\n[once: cut here")) << again.out;
  most = 500;
  const std::string fails = "sh -c 'head -c 999 /dev/zero; exit 7'";
  EXPECT_EQ(once("run b --keep-failed" + through + fails).exit_code, 7);
  const Outcome none = once("run b" + through + "echo again");
  EXPECT_EQ(none.exit_code, 7);
  EXPECT_TRUE(none.out.starts_with("\n[once: cut here")) << none.out;
}

// A server that grants every claim, and otherwise answers as a test says.
std::string granting(const std::string& request, const std::function<std::string()>& otherwise) {
  if (!request.starts_with("POST /v1/claims/job HTTP")) return otherwise();
  return testing::http_answer("201 Created",
                              R"({"state":"claimed","ticket":"t","fence":1,"attempt":1,)"
                              R"("lease_until":"2030-01-01T00:00:00.000Z"})");
}

// The server has done each, and its first answer is lost.
TEST_F(Served, H35_ALostAnswerLosesAndDoublesNothing) {
  std::string lost_for;
  testing::Upstream lossy([&](const std::string& request, int) {
    const std::string answer = passed_on(server_.port(), request);
    const std::string line = request.substr(0, request.find('\r'));
    if (line == std::exchange(lost_for, line)) return answer;
    return std::string();
  });
  const std::string through = " --store " + lossy.url();
  EXPECT_EQ(once("seen order-1" + through).out, "first  order-1\n");
  EXPECT_EQ(once("claim take job --field state" + through).out, "claimed\n");
  EXPECT_EQ(once("log append s a b" + through).out, "appended 1 to 2\n");
  EXPECT_EQ(once("tally add t 5" + through).out, "5\n");
  EXPECT_EQ(once("tally count n" + through).out, "1\n");
  EXPECT_TRUE(once("doc put d --create '{}'" + through).out.starts_with("created, etag "));
  EXPECT_EQ(once("doc patch d '[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]'" + through).out,
            "{\"a\":1}\n");
  EXPECT_EQ(once("run work" + through + " -- echo ran").out, "ran\n");
  EXPECT_EQ(once("log read s --field next").out, "3\n");
  EXPECT_EQ(once("tally read t").out, "5\n");
}

TEST_F(Served, H38_AClaimWhoseAnswerIsLateStartsNothingBesideItsSuccessor) {
  Outcome successor;
  testing::Upstream slow([&](const std::string& request, int number) {
    std::string answer = passed_on(server_.port(), request);
    if (number == 1) successor = once("claim take job --wait 1m" + by_url());
    return answer;
  });
  const Outcome late = once("run job --lease 1s --store " + slow.url() + " -- echo ran");
  EXPECT_EQ(successor.exit_code, 0) << successor.err;
  EXPECT_EQ(late.out, "");
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_TRUE(holds(late.err, "lost before its command could start")) << late.err;
}

// The server refuses everything from the claim until the lease is over. The command is told that
// its lease ends, and succeeds before the end: it has a tenth of the lease for that, so a slow
// machine needs a longer one.
TEST_F(Served, H38_WhatSucceededIsRecordedAlthoughItsLeaseIsOverIfNobodyTookOver) {
  std::string said;
  for (const int seconds : {1, 5, 10, 10}) {
    const Duration lease = std::chrono::seconds(seconds);
    Time granted;
    testing::Upstream down([&](const std::string& request, int number) {
      if (number == 1) granted = system_clock().now();
      const bool is_over = number > 1 && system_clock().now() > granted + lease + lease / 2;
      if (number > 1 && !is_over) return refusal("503 Service Unavailable", "unavailable");
      return passed_on(server_.port(), request);
    });
    const Outcome ran =
        shell("once run job --lease " + std::to_string(seconds) + "s --store " + down.url() +
              " -- sh -c 'trap \"echo ran; exit 0\" TERM; sleep 60 & wait'");
    said = ran.err;
    if (ran.exit_code != 0) continue;  // Killed before it could succeed, or not recorded.
    EXPECT_EQ(once("run job -- echo again").out, "ran\n");
    return;
  }
  FAIL() << said;
}

TEST_F(Served, ARunIsInTheNamespaceOfItsToken) {
  const std::string token = once("token new --namespace n --field token").out;
  const std::string as = " --token " + token.substr(0, token.size() - 1);
  EXPECT_EQ(once("run job" + by_url() + as + " -- echo ran").out, "ran\n");
  EXPECT_EQ(once("claim show job --namespace n --field state" + as).out, "done\n");
}

using RunThroughAServer = Cli;

TEST_F(RunThroughAServer, WhatTheServerCannotDoIsNotSentAgain) {
  std::atomic<int> sent = 0;
  testing::Upstream server([&](const std::string& request, int) {
    return granting(request, [&] {
      if (request.starts_with("POST /v1/claims/job/complete")) ++sent;
      return refusal("501 Not Implemented", "unsupported");
    });
  });
  const Outcome ran = once("run job --store " + server.url() + " -- echo ran");
  EXPECT_EQ(ran.out, "ran\n");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(holds(ran.err, "'job' ran, but its outcome was not recorded\n")) << ran.err;
  EXPECT_EQ(sent, 1);
}

// A command that does not heed TERM has no ten seconds more.
TEST_F(RunThroughAServer, H38_ALeaseEndsInTimeEvenIfTheServerDoesNotAnswer) {
  testing::Gate over;
  testing::Upstream server([&](const std::string& request, int) {
    return granting(request, [&] {
      over.wait();
      return std::string();
    });
  });
  const Outcome ran =
      shell("mkfifo hold; timeout -s KILL 8 once run job --lease 1s --store " + server.url() +
            " -- sh -c 'trap \"\" TERM; while :; do read line < hold; done'; echo $?");
  over.open();
  EXPECT_EQ(ran.out, "1\n");
  EXPECT_TRUE(holds(ran.err, "lease of 'job' was lost")) << ran.err;
}

TEST_F(Served, HotKeysAreThoseThatWereFoughtOver) {
  shell("once claim take wanted; once claim take wanted; once claim take wanted");
  const Outcome hot = once("hot" + by_url());
  EXPECT_EQ(hot.exit_code, 0) << hot.err;
  EXPECT_TRUE(hot.out.starts_with("KEY            CONFLICTS\nclaims/wanted  ")) << hot.out;
  EXPECT_TRUE(once("hot --json").out.starts_with(R"({"keys":[{"key":"claims/wanted",)"));
  EXPECT_EQ(once("hot --namespace other").out, "");
}

TEST_F(Served, WhoseServerIsGoneTheyAreUnavailableByUrlAndWorkByDirectory) {
  once("tally add t 5");
  server_.kill();
  for (const std::string verb :
       {"log append s a", "log read s", "doc get d", "tally read t", "hot", "export"}) {
    EXPECT_EQ(once(verb + by_url()).exit_code, 69) << verb;
  }
  EXPECT_EQ(once("tally read t").out, "5\n");
}

TEST_F(Served, ATokenMayBeInAFile) {
  shell("once token new --field token > token");
  EXPECT_EQ(once("log read s").exit_code, 1);
  EXPECT_EQ(once("log read s --token-file token").exit_code, 0);
  EXPECT_EQ(shell("ONCE_TOKEN_FILE=token once log read s").exit_code, 0);
  EXPECT_EQ(shell("ONCE_TOKEN=wrong once log read s --token-file token").exit_code, 0);
  EXPECT_EQ(shell("ONCE_TOKEN_FILE=token once log read s --token wrong").exit_code, 1);
  write("once.toml", "token-file = 'token'\n");
  EXPECT_EQ(once("log read s --config once.toml").exit_code, 0);
  EXPECT_EQ(shell("ONCE_TOKEN=wrong once log read s --config once.toml").exit_code, 1);
  EXPECT_EQ(once("log read s --token-file token --token wrong").exit_code, 64);
  EXPECT_EQ(once("log read s --token-file missing").exit_code, 64);
}

TEST_F(Served, ATokenOfOneNamespaceIsHeldToIt) {
  const std::string token = once("token new --namespace n --read-only --field token").out;
  const std::string as = " --token " + token.substr(0, token.size() - 1);
  EXPECT_EQ(once("log read s" + as).exit_code, 0);
  EXPECT_EQ(once("log append s a" + as).exit_code, 1);
  EXPECT_EQ(once("doc get d --namespace other" + as).exit_code, 1);
  EXPECT_EQ(once("tally add t 1").exit_code, 1) << "a token is missing";
}

}  // namespace
}  // namespace once::cli
