// Commands whose requests go to a server, here a scripted one.
#include <algorithm>

#include "cli/cli_fixture.h"
#include "testing/needs_store.h"
#include "testing/scripted_peer.h"

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
  for (const std::string verb : {"claim forget a", "token new", "checkpoint"}) {
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

TEST_F(Server, H29_OnItsDirectoryIsTalkedTo) {
  std::filesystem::create_directory(store());
  std::vector<std::string> requests;
  const auto healthy = [&](Conversation& c) {
    requests.push_back(c.read_request());
    c.answer("200 OK", R"({"status":"ok","instance":"run-7"})");
  };
  ScriptedPeer peer({healthy, [&](Conversation& c) {
                       requests.push_back(c.read_request());
                       c.answer("200 OK", R"({"first":[true]})");
                     }});
  write("store/server", peer.url() + "\nrun-7\n");
  const Outcome outcome = once("seen a --token s3cret");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  peer.end();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_TRUE(requests[0].starts_with("GET /healthz ")) << requests[0];
  EXPECT_FALSE(holds(requests[0], "s3cret")) << "before it is known who listens";
  EXPECT_TRUE(requests[1].starts_with("POST /v1/seen ")) << requests[1];
  EXPECT_TRUE(holds(requests[1], "s3cret"));
  EXPECT_FALSE(std::filesystem::exists(store() / "CURRENT"));
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
    write("store/server", another.url() + "\nrun-7\n");
    EXPECT_EQ(once("seen a").out, "seen   a\n");
  }
  write("store/server", "http://127.0.0.1:1\nrun-7\n");
  EXPECT_EQ(once("seen a").out, "seen   a\n");
  write("store/server", "not two lines");
  EXPECT_EQ(once("seen a").out, "seen   a\n");
}

TEST_F(Server, ThatLeavesItsDirectoryLeavesItToTheCommand) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  EXPECT_EQ(once("seen a").exit_code, 0);
  ScriptedPeer peer({answering("200 OK", R"({"instance":"run-7"})")});
  write("store/server", peer.url() + "\nrun-7\n");
  EXPECT_EQ(once("seen a").out, "seen   a\n");
}

}  // namespace
}  // namespace once::cli
