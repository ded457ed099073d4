// The server acted, but its answer was lost: a repeat finds out, or nothing is repeated.
#include <array>
#include <functional>

#include "remote/remote_fixture.h"
#include "testing/code_of.h"
#include "testing/manual_clock.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using testing::code_of;
using testing::Conversation;
using testing::RawHttp;
using testing::ScriptedPeer;

TEST_F(RemoteTest, H11_ATicketWhoseAnswerWasLostIsHadByAskingAgain) {
  ScriptedPeer between({losing(), relaying()});
  Once far = opened(between.url());
  const auto claimed = std::get<Claimed>(far.claims().take("job", {}).value());
  EXPECT_EQ(claimed.attempt, 1);
  EXPECT_TRUE(
      std::holds_alternative<Settled>(once_.claims().complete("job", claimed.ticket, "r").value()));
}

// One connection that nothing came back on used up all the time that there was to record what was
// done.
TEST_F(RemoteTest, H38_OneConnectionThatIsSilentDoesNotUseUpTheTimeOfACall) {
  const auto claimed = std::get<Claimed>(once_.claims().take("job", {}).value());
  ScriptedPeer between({[](Conversation& with) {
                          EXPECT_NE(with.read_request(), "");
                          EXPECT_EQ(with.read_request(), "") << "it was waited for to the end";
                        },
                        relaying()});
  Once far = opened(between.url());
  const auto settled = far.claims().complete("job", claimed.ticket, "r", 3s);
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_TRUE(std::holds_alternative<Settled>(*settled));
}

struct HasClock {
  testing::ManualClock clock_;
};

// The server's store and the callers have the same time, which the test moves.
class RemoteInManualTime : protected HasClock, public RemoteTest {
 protected:
  RemoteInManualTime() : RemoteTest(clock_) {}

  Once door(const std::string& url) {
    return Once(remote::connect(url, "", "default", clock_, entropy_).value());
  }

  Entropy entropy_{1};
};

// The claim is granted, its answer lost, and asked for again when its lease is nearly over.
TEST_F(RemoteInManualTime, AClaimIsNotBelievedInForLongerThanItsLeaseAlthoughItsAnswerCameLate) {
  Once other = door(server_.url());
  for (const Duration wait : {Duration::zero(), Duration(1min)}) {
    ScriptedPeer between({[this](Conversation& with) {
                            EXPECT_TRUE(forward(with));
                            clock_.advance(25s);
                          },
                          relaying(3)});
    Once far = door(between.url());
    const std::string key = "job-" + std::to_string(wait.count());
    const RunOptions options{.lease = 30s, .wait = wait};
    const auto ran = far.run(key, options, [&](Attempt& attempt) -> Result<Effects> {
      clock_.advance(8s);
      EXPECT_FALSE(attempt.lost());
      const auto second = other.run(key, {}, [](Attempt&) -> Result<Effects> {
        ADD_FAILURE() << "two were at it";
        return Effects();
      });
      EXPECT_TRUE(!second && second.error().why == NotRun::Why::busy);
      return Effects();
    });
    EXPECT_TRUE(ran.has_value());
  }
}

TEST_F(RemoteTest, H12_ARunWhoseRecordingLostItsAnswerHasHappenedOnce) {
  ScriptedPeer between({[this](Conversation& with) {
                          relay(with);
                          EXPECT_TRUE(forward(with));
                        },
                        relaying()});
  Once far = opened(between.url());
  const auto ran = far.run("job", {}, [](Attempt&) -> Result<Effects> {
    return Effects().result("r").append("s", "e").add("t", 5);
  });
  ASSERT_TRUE(ran.has_value()) << ran.error().error.message;
  EXPECT_FALSE(ran->replayed);
  EXPECT_EQ(ran->made.appended.at(0).first, 1);
  EXPECT_EQ(once_.log().read("s").value().events.size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("t").value()->value), 5);
}

TEST_F(RemoteTest, H18_APutThatLostItsAnswerIsNotTakenForWhatAnotherMadeOfItSince) {
  ScriptedPeer between({[this](Conversation& with) {
                          EXPECT_TRUE(forward(with));
                          const auto since = once_.documents().get("d").value()->etag;
                          once_.documents().put("d", {"theirs"}, documents::IfMatch{since}).value();
                        },
                        relaying(2)});
  Once far = opened(between.url());
  const auto put = far.documents().put("d", {"ours"}, documents::IfAbsent{}).value();
  const auto& updated = std::get<documents::Updated>(put);
  EXPECT_FALSE(updated.replayed);
  EXPECT_EQ(updated.document->content.bytes, "theirs");
  EXPECT_EQ(updated.document->etag, once_.documents().get("d").value()->etag);
}

TEST_F(RemoteTest, H20_AMergeThatLostItsAnswerStaysInItsWindow) {
  std::vector<std::string> sent;
  ScriptedPeer between({[&](Conversation& with) { sent.push_back(with.read_request()); },
                        [&](Conversation& with) {
                          sent.push_back(with.read_request());
                          with.answer("200 OK", R"({"kind":"max","value":1})");
                        }});
  Once far = opened(between.url());
  const TallyShape each_minute = {.kind = TallyKind::max, .window = TallyWindow::minute};
  EXPECT_TRUE(far.tallies().merge("m", {.shape = each_minute, .input = 1}).has_value());
  between.end();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_NE(sent[0].find(R"("id":)"), std::string::npos) << sent[0];
  EXPECT_EQ(sent[0], sent[1]);
}

TEST_F(RemoteTest, H23_WhateverLostItsAnswerHappensOnce) {
  const auto twice = [this](const std::function<void(Once&)>& act, int requests = 1) {
    ScriptedPeer between({losing(), relaying(requests)});
    Once far = opened(between.url());
    act(far);
    EXPECT_EQ(between.connections(), 2);
  };
  twice([](Once& far) {
    EXPECT_FALSE(std::get<effects::Made>(far.commit(Effects().add("t", 5)).value()).replayed);
  });
  twice([](Once& far) {
    EXPECT_EQ(std::get<Appended>(far.log().append("s", {{"e"}}).value()).last, 1);
  });
  twice(
      [](Once& far) {
        const auto put = far.documents().put("d", {"x"}, documents::IfAbsent{}).value();
        EXPECT_EQ(std::get<documents::Updated>(put).document->content.bytes, "x");
      },
      2);  // The second reads the current document.
  twice([](Once& far) {
    EXPECT_TRUE(far.tallies().merge("m", {.shape = {.kind = TallyKind::max}, .input = 1}));
  });
  twice([](Once& far) {
    const std::vector<std::string> ids = {"x"};
    EXPECT_EQ(far.claims().seen(ids, 1h).value(), std::vector{true});
  });
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("t").value()->value), 5);
  EXPECT_EQ(once_.log().ends("s").value().next, 2);
}

TEST_F(RemoteTest, AnAppendWhoseFirstAnswerWasLostIsNotAReplay) {
  ScriptedPeer between({losing(), relaying()});
  Once far = opened(between.url());
  const auto ours = far.log().append("s", {{"e"}}, {.batch = "b"}).value();
  EXPECT_FALSE(std::get<Appended>(ours).replayed);
  const auto again = once_.log().append("s", {{"e"}}, {.batch = "b"}).value();
  EXPECT_TRUE(std::get<Appended>(again).replayed);
}

TEST_F(RemoteTest, APutWhoseFirstAnswerWasLostIsNotAReplay) {
  using documents::Updated;
  ScriptedPeer between({losing(), relaying(2)});
  Once far = opened(between.url());
  const documents::Identity identity{.id = "i"};
  const auto ours = far.documents().put("d", {"x"}, documents::IfAbsent{}, identity).value();
  EXPECT_FALSE(std::get<Updated>(ours).replayed);
  const auto again = once_.documents().put("d", {"x"}, documents::IfAbsent{}, identity).value();
  EXPECT_TRUE(std::get<Updated>(again).replayed);
}

// Found by the histories of testing/linearizability: it was called unavailable.
TEST_F(RemoteTest, APutThatWasMadeIsNotCalledUnavailableWhenTheServerDiesBeforeTheDocumentIsRead) {
  ScriptedPeer between({losing(), relaying(1)});
  Once far = opened(between.url());
  const auto put = far.documents().put("d", {"x"}, documents::IfAbsent{}, {}, 2s);
  EXPECT_EQ(code_of(put), ErrorCode::unknown);
  EXPECT_EQ(once_.documents().get("d").value()->content.bytes, "x");
}

TEST_F(RemoteTest, ARemovalWhoseFirstAnswerWasLostIsNotAReplay) {
  using documents::Updated;
  once_.documents().put("d", {"x"}, documents::IfAbsent{}).value();
  const std::string etag = once_.documents().get("d").value()->etag;
  ScriptedPeer between({losing(), relaying(2)});
  Once far = opened(between.url());
  const auto ours = far.documents().remove("d", etag, {.id = "i"}).value();
  EXPECT_FALSE(std::get<Updated>(ours).replayed);
  const auto again = once_.documents().remove("d", etag, {.id = "i"}).value();
  EXPECT_TRUE(std::get<Updated>(again).replayed);
}

// What a balancer says by itself. It may have passed the request on before.
struct Foreign {
  std::string_view status, body, type;
};
constexpr std::array kForeign = {
    Foreign{"429 Too Many Requests", "<html>slow down</html>", "text/html"},
    Foreign{"404 Not Found", "<html>no such host</html>", "text/html"},
    Foreign{"403 Forbidden", R"({"code":"forbidden"})", "application/json"},
    Foreign{"413 Too Large", "", "text/plain"},
    Foreign{"502 Bad Gateway", "<html>", "text/html"},
    Foreign{"302 Found", "", "text/html"},
    Foreign{"200 OK", "<html>welcome</html>", "text/html"},
};

TEST_F(RemoteTest, H39_AnAnswerThatIsNotTheServersDecidesNothing) {
  for (const Foreign& foreign : kForeign) {
    const auto answer = [foreign](Conversation& with) {
      with.read_request();
      with.answer(foreign.status, foreign.body, foreign.type);
    };
    ScriptedPeer writing({answer});
    EXPECT_EQ(code_of(opened(writing.url()).tallies().merge("t", {.input = 5})), ErrorCode::unknown)
        << foreign.status;
    if (foreign.status == "200 OK") continue;  // It cannot be read, which is `unknown`, too.
    ScriptedPeer reading({answer});
    EXPECT_EQ(code_of(opened(reading.url()).claims().show("job")), ErrorCode::unavailable)
        << foreign.status;
  }
}

TEST_F(RemoteTest, H39_DoneWorkIsRecordedAlthoughABalancerAnsweredItsCompletion) {
  for (const Foreign& foreign : kForeign) {
    if (foreign.status == "200 OK") continue;
    ScriptedPeer between({[this, foreign](Conversation& with) {
                            relay(with);
                            with.read_request();
                            with.answer(foreign.status, foreign.body, foreign.type);
                            relay(with);
                          },
                          relaying()});
    Once far = opened(between.url());
    const std::string key = "job " + std::string(foreign.status);
    const auto ran =
        far.run(key, {}, [](Attempt&) -> Result<Effects> { return Effects().result("r"); });
    EXPECT_TRUE(ran.has_value()) << foreign.status << ": " << ran.error().error.message;
    EXPECT_EQ(once_.claims().show(key).value()->kind, ClaimState::Kind::done) << foreign.status;
  }
}

TEST_F(RemoteTest, H39_DoneWorkIsRecordedAlthoughItsTokenWasRefusedForAWhile) {
  ScriptedPeer between({[this](Conversation& with) {
    relay(with);
    with.read_request();
    with.refuse("403 Forbidden", "forbidden");
    relay(with);
  }});
  Once far = opened(between.url());
  const auto ran =
      far.run("job", {}, [](Attempt&) -> Result<Effects> { return Effects().result("r"); });
  EXPECT_TRUE(ran.has_value()) << ran.error().error.message;
  EXPECT_EQ(once_.claims().show("job").value()->kind, ClaimState::Kind::done);
}

TEST_F(RemoteTest, AMergeWithoutAnIdIsNotSentAgain) {
  ScriptedPeer between({losing(), relaying()});
  Once far = opened(between.url());
  EXPECT_EQ(code_of(far.tallies().merge("t", {.input = 5})), ErrorCode::unknown);
  between.end();
  EXPECT_EQ(between.connections(), 1);
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("t").value()->value), 5);
}

}  // namespace
}  // namespace once
