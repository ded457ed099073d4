// What a server did and could not tell: asking again finds it out, or nothing is asked again.
#include <functional>

#include "remote/remote_fixture.h"
#include "testing/code_of.h"

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
      2);  // The other looks at what stands.
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
