// Commands whose requests go to a server, here a scripted one.
#include <algorithm>
#include <atomic>

#include "cli/cli_fixture.h"
#include "once/open.h"
#include "testing/needs_store.h"
#include "testing/scripted_peer.h"
#include "wire/proof.h"

namespace once::cli {
namespace {

using testing::Conversation;
using testing::ScriptedPeer;

using Server = Cli;

ScriptedPeer::Script answering(std::string status, std::string body) {
  return [=](Conversation& c) {
    c.read_request();
    c.answer(status, body, body.starts_with('{') ? "application/problem+json" : "text/html");
  };
}

std::string problem(int status, const std::string& code) {
  return R"({"status":)" + std::to_string(status) + R"(,"title":"t","detail":"why","code":")" +
         code + R"("})";
}

TEST_F(Server, IsAStoreByItsUrl) {
  std::string seen;
  ScriptedPeer peer({[&](Conversation& c) {
    seen = c.read_request();
    c.answer("201 Created", R"({"state":"claimed","ticket":"T"})");
  }});
  const Outcome outcome =
      once("claim take 'a/b c' --lease 5s --namespace n --token s3cret --store " + peer.url());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "state   claimed\nticket  T\n");
  peer.end();
  EXPECT_TRUE(seen.starts_with("POST /v1/claims/a%2Fb%20c HTTP/1.1\r\n")) << seen;
  EXPECT_TRUE(holds(seen, "\r\nOnce-Namespace: n\r\n")) << seen;
  EXPECT_TRUE(holds(seen, "\r\nAuthorization: Bearer s3cret\r\n")) << seen;
  EXPECT_TRUE(seen.ends_with(R"(,"lease":"5s"})")) << seen;
}

TEST_F(Server, ProblemsAreOneLineAndAnExitCode) {
  struct Case {
    int status;
    std::string code;
    int exit;
  };
  const std::vector<Case> cases = {
      {400, "invalid", 64},
      {401, "unauthorized", 1},
      {403, "forbidden", 1},
      {404, "not_found", 1},
      {409, "busy", 75},
      {409, "contended", 75},
      {409, "mismatch", 1},
      {412, "fenced", 1},
      {413, "too_large", 1},
      {422, "mismatch", 1},
      {428, "precondition_required", 64},
      {501, "unsupported", 1},
      {503, "overloaded", 75},
      {503, "unavailable", 69},
      {500, "unknown", 69},
      {500, "corrupt", 69},
  };
  for (const Case& c : cases) {
    ScriptedPeer peer({answering(std::to_string(c.status) + " X", problem(c.status, c.code))});
    const Outcome outcome = once("claim show a --store " + peer.url());
    EXPECT_EQ(outcome.exit_code, c.exit) << c.code;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("once claim show: why")) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST_F(Server, AnAnswerThatIsNotOursIsUnavailable) {
  ScriptedPeer peer({answering("502 Bad Gateway", "<html>")});
  const Outcome outcome = once("claim show a --store " + peer.url());
  EXPECT_EQ(outcome.exit_code, 69);
  EXPECT_EQ(outcome.err, "once claim show: the server answered 502\n");
}

TEST_F(Server, ForMachinesAProblemIsALineOfJsonToo) {
  ScriptedPeer peer({answering("412 Precondition Failed", problem(412, "fenced"))});
  const Outcome outcome = once("claim renew a --ticket t --json --store " + peer.url());
  EXPECT_EQ(outcome.out, problem(412, "fenced") + "\n");
  EXPECT_EQ(outcome.err, "once claim renew: why\n");
}

TEST_F(Server, H35_ALostAnswerIsAskedForAgainUnderTheSameId) {
  struct Case {
    std::string verb;
    std::string body;
  };
  const std::vector<Case> cases = {
      {"claim take a", R"({"state":"claimed","ticket":"T"})"},
      {"claim complete a --ticket T", R"({"state":"done"})"},
      {"seen a", R"({"first":[true]})"},
      {"log append s a", R"({"first":1,"last":1})"},
      {"log trim s --before 1", R"({"oldest":1,"next":1})"},
      {"doc put d --create x", "{}"},
      {"doc patch d '{}'", "{}"},
      {"doc rm d --if-match e", ""},
      {"tally add t 5", R"({"kind":"sum","value":5})"},
      {"tally max t 5", R"({"kind":"max","value":5})"},
      {"tally top t a", R"({"kind":"top","value":[]})"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> sent;
    const auto hang_up = [&](Conversation& with) { sent.push_back(with.read_request()); };
    const auto answer = [&](Conversation& with) {
      sent.push_back(with.read_request());
      with.answer("201 Created", c.body);
    };
    ScriptedPeer peer({hang_up, answer});
    const Outcome outcome = once(c.verb + " --store " + peer.url());
    peer.end();
    EXPECT_EQ(outcome.exit_code, 0) << c.verb << ": " << outcome.err;
    ASSERT_EQ(sent.size(), 2U) << c.verb;
    EXPECT_EQ(sent[0], sent[1]);
  }
}

TEST_F(Server, H35_WhatStaysUnknownHasItsOwnExitCodeAndSaysHowToRepeatIt) {
  std::string sent;
  ScriptedPeer peer({[&](Conversation& c) { sent = c.read_request(); },
                     answering("403 Forbidden", problem(403, "forbidden"))});
  const Outcome outcome = once("tally add t 5 --store " + peer.url());
  peer.end();
  EXPECT_EQ(outcome.exit_code, 70) << outcome.err;
  const std::string option = "it may have happened: repeat it with --request ";
  ASSERT_TRUE(holds(outcome.err, option)) << outcome.err;
  const std::string id = outcome.err.substr(outcome.err.find(option) + option.size());
  const std::string member = R"("id":")" + id.substr(0, id.size() - 1) + "\"";
  EXPECT_TRUE(holds(sent, member)) << sent;
  ScriptedPeer again({[&](Conversation& c) {
    sent = c.read_request();
    c.answer("200 OK", R"({"kind":"sum","value":5})");
  }});
  EXPECT_EQ(once("tally add t 5 --store " + again.url() + " --request " + id).exit_code, 0);
  again.end();
  EXPECT_TRUE(holds(sent, member)) << sent;
}

TEST_F(Server, H35_WhatMayNotBeRepeatedIsSentOnce) {
  for (const std::string verb : {"claim forget a", "log rm a", "tally rm a", "seen --forget a",
                                 "token new", "token revoke a", "checkpoint"}) {
    const auto hang_up = [](Conversation& c) { c.read_request(); };
    ScriptedPeer peer({hang_up, hang_up});
    const Outcome outcome = once(verb + " --store " + peer.url());
    EXPECT_EQ(outcome.exit_code, 70) << verb;
    EXPECT_TRUE(holds(outcome.err, "closed before the answer")) << outcome.err;
    EXPECT_TRUE(holds(outcome.err, "look before you repeat it")) << outcome.err;
    EXPECT_EQ(peer.connections(), 1) << verb;
  }
}

TEST_F(Server, WhatHasNoRoomForAnotherIdIsSentWithoutOneUnlessTheIdWasGiven) {
  std::string second;
  const auto full = answering("503 Full", problem(503, "overloaded"));
  ScriptedPeer peer({[&](Conversation& c) {
    c.read_request();
    c.refuse("503 Full", "overloaded");
    second = c.read_request();
    c.answer("200 OK", R"({"kind":"sum","value":5})");
  }});
  EXPECT_EQ(once("tally add t 5 --store " + peer.url()).exit_code, 0);
  peer.end();
  EXPECT_TRUE(second.ends_with(R"({"kind":"sum","add":5})")) << second;
  ScriptedPeer given({full});
  EXPECT_EQ(once("tally add t 5 --id mine --store " + given.url()).exit_code, 75);
  EXPECT_EQ(once("tally add t 5 --id a --request b --store " + given.url()).exit_code, 64);
}

TEST_F(Server, WhenItIsDownOneMayProceed) {
  std::string gone;
  {
    ScriptedPeer peer({});
    gone = peer.url();
  }
  const std::string proceed = " --if-store-down proceed --store " + gone;
  EXPECT_EQ(once("claim take a --store " + gone).exit_code, 69);
  EXPECT_EQ(once("claim take a" + proceed).out, "state  unguarded\n");
  EXPECT_EQ(once("claim take a" + proceed).exit_code, 0);
  EXPECT_EQ(once("seen a b --json" + proceed).out, "{\"first\":[true,true]}\n");
  EXPECT_EQ(once("claim show a" + proceed).exit_code, 69) << "there is nothing to proceed with";
  ScriptedPeer broken({answering("503 Down", problem(503, "unavailable"))});
  EXPECT_EQ(once("seen a --if-store-down proceed --store " + broken.url()).exit_code, 0);
  EXPECT_EQ(once("seen a --if-store-down perhaps").exit_code, 64);
}

// The number that a client wants to have a proof for.
std::string number_in(const std::string& request) {
  const std::size_t at = request.find("Once-Prove: ");
  if (at == std::string::npos) return "";
  return request.substr(at + 12, request.find('\r', at) - at - 12);
}

std::string health(const std::string& proof) {
  return R"({"status":"ok","instance":"run-7","proof":")" + proof + R"("})";
}

TEST_F(Server, H29_OnItsDirectoryIsTalkedTo) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const auto held = open_store(store().string()).value();  // As its server does.
  std::vector<std::string> requests;
  std::string url;
  const auto prove = [&](Conversation& c) {
    requests.push_back(c.read_request());
    c.answer("200 OK", health(wire::proof_of("s", number_in(requests.back()), url)));
  };
  ScriptedPeer peer({prove, [&](Conversation& c) {
                       prove(c);
                       requests.push_back(c.read_request());
                       c.answer("200 OK", R"({"first":[true]})");
                     }});
  url = peer.url();
  write("store/server", peer.url() + "\nrun-7\ns\n");
  const Outcome outcome = once("seen a --token s3cret");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  peer.end();
  ASSERT_EQ(requests.size(), 3U);
  for (const std::string& request : {requests[0], requests[1]}) {
    EXPECT_TRUE(request.starts_with("GET /healthz ")) << request;
    EXPECT_FALSE(holds(request, "s3cret")) << "before it is known who listens";
  }
  EXPECT_NE(number_in(requests[0]), number_in(requests[1])) << "an answer is good once";
  EXPECT_TRUE(requests[2].starts_with("POST /v1/seen ")) << requests[2];
  EXPECT_TRUE(holds(requests[2], "s3cret"));
}

// It listens where a server did that was killed, and knows all that a client of that server knew.
TEST_F(Server, AnImpostorIsNotSentTheToken) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  auto held = open_store(store().string()).value();
  std::vector<std::string> requests;
  const auto pretend = [&](Conversation& c) {
    for (std::string request = c.read_request(); !request.empty(); request = c.read_request()) {
      requests.push_back(request);
      c.answer("200 OK", health(wire::proof_of("guessed", number_in(request), "")));
    }
  };
  ScriptedPeer impostor(std::vector<ScriptedPeer::Script>(100, pretend));
  write("store/server", impostor.url() + "\nrun-7\ns\n");
  const Outcome refused = once("seen a --token s3cret");
  EXPECT_EQ(refused.exit_code, 69);
  EXPECT_TRUE(holds(refused.err, "another process")) << refused.err;
  held.reset();
  const Outcome direct = once("seen a --token s3cret");
  EXPECT_EQ(direct.out, "first  a\n") << direct.err;
  impostor.end();
  EXPECT_FALSE(requests.empty());
  for (const std::string& request : requests) EXPECT_FALSE(holds(request, "s3cret")) << request;
}

TEST_F(Server, WhatListensWhereAServerDidIsNotAskedWhileTheDirectoryIsFree) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  EXPECT_EQ(once("seen a").exit_code, 0);
  std::atomic<int> asked = 0;
  ScriptedPeer impostor({[&](Conversation&) { ++asked; }});
  write("store/server", impostor.url() + "\nrun-7\ns\n");
  EXPECT_EQ(once("seen a --token s3cret").out, "seen   a\n");
  impostor.end();
  EXPECT_EQ(asked, 0);
}

TEST_F(Server, DoesNotStartWithALogOfAnotherKind) {
  const Outcome outcome = once("serve --listen 127.0.0.1:0 --log xml");
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_TRUE(holds(outcome.err, "--log is text or json")) << outcome.err;
}

TEST_F(Server, SendsTheEventsOfALogAsTheyCome) {
  const std::string first = R"({"index":4,"time":"t","data":"a"})";
  const std::string second = R"({"index":5,"time":"t","data":"b"})";
  const std::string third = R"({"index":6,"time":"t","data":"c"})";
  std::vector<std::string> requests;
  const auto page = [&](Conversation& c, const std::string& events) {
    requests.push_back(c.read_request());
    c.answer("200 OK", R"({"events":[)" + events + R"(],"next":0})");
  };
  ScriptedPeer peer({[&](Conversation& c) {
                       page(c, first);
                       page(c, "");
                       requests.push_back(c.read_request());
                       c.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
                       c.send(": welcome\n\nid: 5\ndata: " + second + "\n\n");
                     },
                     [&](Conversation& c) { page(c, third); }});
  const Outcome outcome = once("log follow s --from 4 --limit 3 --json --store " + peer.url());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, first + "\n" + second + "\n" + third + "\n");
  peer.end();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_TRUE(requests[0].starts_with("GET /v1/logs/s?from=4&limit=3 ")) << requests[0];
  EXPECT_TRUE(requests[2].starts_with("GET /v1/logs/s?from=5&follow=true ")) << requests[2];
  EXPECT_TRUE(holds(requests[2], "\r\nAccept: text/event-stream\r\n")) << requests[2];
  EXPECT_TRUE(requests[3].starts_with("GET /v1/logs/s?from=6&limit=1 ")) << requests[3];
}

TEST_F(Server, AStaleAddressInADirectoryIsPassedOver) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  EXPECT_EQ(once("seen a").exit_code, 0);
  ScriptedPeer another({answering("200 OK", R"({"status":"ok","instance":"run-8"})"),
                        answering("404 Not Found", "{}")});
  for (int i = 0; i < 2; ++i) {
    write("store/server", another.url() + "\nrun-7\ns\n");
    EXPECT_EQ(once("seen a").out, "seen   a\n");
  }
  write("store/server", "http://127.0.0.1:1\nrun-7\ns\n");
  EXPECT_EQ(once("seen a").out, "seen   a\n");
  write("store/server", "not three lines");
  EXPECT_EQ(once("seen a").out, "seen   a\n");
}

TEST_F(Server, ThatLeavesItsDirectoryLeavesItToTheCommand) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  auto held = open_store(store().string()).value();
  std::string url;
  ScriptedPeer peer({[&](Conversation& c) {
    c.answer("200 OK", health(wire::proof_of("s", number_in(c.read_request()), url)));
    held.reset();
  }});
  url = peer.url();
  write("store/server", peer.url() + "\nrun-7\ns\n");
  EXPECT_EQ(once("seen a").out, "first  a\n");
}

}  // namespace
}  // namespace once::cli
