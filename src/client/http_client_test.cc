#include "client/http_client.h"

#include <gtest/gtest.h>

#include <future>

#include "testing/code_of.h"
#include "testing/scripted_peer.h"

namespace once::client {
namespace {

using namespace std::chrono_literals;
using testing::code_of;
using testing::Conversation;
using testing::ScriptedPeer;

constexpr Duration kPlenty = 30s;

const api::Request kPost{"POST", "/v1/claims/a", {}, "{}"};
const api::Request kGet{"GET", "/v1/claims/a", {}, ""};

// Until the client hangs up, so that it decides when it has waited long enough.
void say_nothing(Conversation& peer) {
  peer.read_request();
  peer.read_request();
}

TEST(HttpClient, CarriesARequestAndItsAnswer) {
  std::string seen;
  ScriptedPeer peer({[&](Conversation& c) {
    seen = c.read_request();
    c.send("HTTP/1.1 201 Created\r\nETag: \"7\"\r\nContent-Length: 2\r\nDate: now\r\n\r\nhi");
  }});
  HttpClient client(peer.url() + "/", "secret");
  api::Request request{"PUT", "/v1/docs/a%2Fb?x=1", {}, "body"};
  request.headers.add("If-None-Match", "*");
  const auto response = client.call(request, kPlenty);
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "hi");
  EXPECT_EQ(response->headers.find("ETag"), "\"7\"");
  EXPECT_EQ(response->headers.fields().size(), 1U);
  EXPECT_TRUE(seen.starts_with("PUT /v1/docs/a%2Fb?x=1 HTTP/1.1\r\nHost: 127.0.0.1:")) << seen;
  EXPECT_NE(seen.find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\r\nIf-None-Match: *\r\n"), std::string::npos) << seen;
  EXPECT_TRUE(seen.ends_with("\r\nContent-Length: 4\r\n\r\nbody")) << seen;
}

// Beast throws at the body of a TRACE, and at headers beyond 64 KiB: on a thread of a proxy, that
// was the end of all its requests.
TEST(HttpClient, NoRequestMakesItThrow) {
  std::string seen;
  ScriptedPeer peer({[&](Conversation& c) {
    seen = c.read_request();
    c.answer("200 OK", "{}");
  }});
  HttpClient client(peer.url());
  api::Request long_header{"POST", "/", {}, "{}"};
  long_header.headers.add("X-Long", std::string(70'000, 'x'));
  EXPECT_EQ(code_of(client.call(long_header, kPlenty)), ErrorCode::invalid);
  EXPECT_EQ(code_of(client.call({"", "/", {}, ""}, kPlenty)), ErrorCode::invalid);
  const auto answer = client.call({"TRACE", "/t", {}, "abc"}, kPlenty);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->body, "{}");
  EXPECT_TRUE(seen.ends_with("\r\nContent-Length: 3\r\n\r\nabc")) << seen;
}

TEST(HttpClient, KeepsItsConnection) {
  ScriptedPeer peer({[](Conversation& c) {
    while (!c.read_request().empty()) c.answer("200 OK", "{}");
  }});
  HttpClient client(peer.url());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.call(kPost, kPlenty).has_value());
  EXPECT_EQ(peer.connections(), 1);
}

// Answers one request, and closes the connection just when another is on its way.
void close_at_the_second(Conversation& peer) {
  if (peer.read_request().empty()) return;
  peer.answer("200 OK", "{}");
  peer.read_request();
}

TEST(HttpClient, H40_WhatMustNotBeSentTwiceGoesOnNoConnectionThatWasIdle) {
  ScriptedPeer peer({close_at_the_second, close_at_the_second});
  HttpClient client(peer.url(), Forwarding{.max_answer = 100, .reuse_within = Duration::zero()});
  EXPECT_TRUE(client.call(kPost, kPlenty).has_value());
  EXPECT_TRUE(client.call(kPost, kPlenty).has_value());
  EXPECT_EQ(peer.connections(), 2);
}

TEST(HttpClient, H40_AConnectionThatWasJustUsedIsUsedAgainAndAnyForARead) {
  const auto answer_all = [](Conversation& c) {
    while (!c.read_request().empty()) c.answer("200 OK", "{}");
  };
  ScriptedPeer peer({answer_all});
  HttpClient client(peer.url(), Forwarding{.max_answer = 100, .reuse_within = 1h});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.call(kPost, kPlenty).has_value());
  EXPECT_EQ(peer.connections(), 1);

  ScriptedPeer other({answer_all});
  HttpClient reader(other.url(), Forwarding{.max_answer = 100, .reuse_within = Duration::zero()});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(reader.call(kGet, kPlenty).has_value());
  EXPECT_EQ(other.connections(), 1);
}

TEST(HttpClient, TakesBodiesInChunksAndUpToTheEnd) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  ScriptedPeer peer({[&](Conversation& c) {
    c.read_request();
    c.send(chunked + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    c.read_request();
    c.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nto the end");
  }});
  HttpClient client(peer.url());
  EXPECT_EQ(client.call(kGet, kPlenty)->body, "abcde");
  EXPECT_EQ(client.call(kGet, kPlenty)->body, "to the end");
}

TEST(HttpClient, ATrailerOfAnAnswerIsNoHeader) {
  ScriptedPeer peer({[](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Early: 1\r\n\r\n");
    c.send("2\r\n{}\r\n0\r\nX-Late: 1\r\n\r\n");
  }});
  HttpClient client(peer.url());
  const auto answer = client.call(kGet, kPlenty);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->body, "{}");
  EXPECT_EQ(answer->headers.find("X-Early"), "1");
  EXPECT_FALSE(answer->headers.find("X-Late").has_value());
}

// What a server sends before the end of `line`, until the client hangs up.
ScriptedPeer::Script sending_without_end(const std::string& begin) {
  return [begin](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" + begin);
    for (int i = 0; i < 64; ++i) c.send(std::string(64U << 10, 'x'));
    c.read_request();
  };
}

// docs/hazards.md#h43: an extension of 512 MB took a gigabyte.
TEST(HttpClient, H43_AnAnswerIsLostOnceALineThatDividesItIsTooLong) {
  for (const std::string begin : {"1;", "0\r\nX-Late: "}) {
    ScriptedPeer peer({sending_without_end(begin), sending_without_end(begin)});
    HttpClient client(peer.url(), Forwarding{.max_answer = 100});
    const auto whole = client.call(kPost, kPlenty);
    ASSERT_FALSE(whole.has_value());
    EXPECT_EQ(whole.error().code, ErrorCode::unknown);
    EXPECT_TRUE(whole.error().message.ends_with("a line of the answer is too long"))
        << whole.error().message;
    const auto streamed = client.call_streaming(kPost, {.timeout = kPlenty, .hold = 100});
    ASSERT_FALSE(streamed.has_value());
    EXPECT_TRUE(streamed.error().message.ends_with("a line of the answer is too long"))
        << streamed.error().message;
  }
}

TEST(HttpClient, AnAnswerToHeadHasNoBodyWhateverItsLength) {
  ScriptedPeer peer({[](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    c.read_request();
    c.answer("200 OK", "{}");
  }});
  HttpClient client(peer.url());
  EXPECT_EQ(client.call({"HEAD", "/", {}, ""}, kPlenty)->body, "");
  EXPECT_EQ(client.call(kGet, kPlenty)->body, "{}");
}

TEST(HttpClient, AConnectionClosedWhileIdleIsOpenedAgain) {
  std::promise<void> closed;
  ScriptedPeer peer({[&](Conversation& c) {
                       c.read_request();
                       c.answer("200 OK", "{}");
                       c.close();
                       closed.set_value();
                     },
                     [](Conversation& c) {
                       c.read_request();
                       c.answer("200 OK", "[]");
                     }});
  HttpClient client(peer.url());
  EXPECT_EQ(client.call(kPost, kPlenty)->body, "{}");
  closed.get_future().wait();
  EXPECT_EQ(client.call(kPost, kPlenty)->body, "[]");
}

TEST(HttpClient, AnAnnouncedCloseIsHeeded) {
  ScriptedPeer peer({[](Conversation& c) {
                       c.read_request();
                       c.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
                       EXPECT_EQ(c.read_request(), "");
                     },
                     [](Conversation& c) {
                       c.read_request();
                       c.answer("200 OK", "[]");
                     }});
  HttpClient client(peer.url());
  EXPECT_EQ(client.call(kPost, kPlenty)->body, "");
  EXPECT_EQ(client.call(kPost, kPlenty)->body, "[]");
}

TEST(HttpClient, H8_NothingIsSentTwice) {
  const auto close_unanswered = [](Conversation& c) {
    c.read_request();
    c.answer("200 OK", "{}");
    c.read_request();
  };
  ScriptedPeer peer({close_unanswered, close_unanswered});
  HttpClient client(peer.url());
  ASSERT_TRUE(client.call(kPost, kPlenty).has_value());
  EXPECT_EQ(code_of(client.call(kPost, kPlenty)), ErrorCode::unknown);
  EXPECT_EQ(peer.connections(), 1);
  ASSERT_TRUE(client.call(kGet, kPlenty).has_value());
  EXPECT_EQ(code_of(client.call(kGet, kPlenty)), ErrorCode::unavailable);
}

TEST(HttpClient, AnAnswerCutShortIsUnknown) {
  ScriptedPeer peer({[](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal");
  }});
  HttpClient client(peer.url());
  EXPECT_EQ(code_of(client.call(kPost, kPlenty)), ErrorCode::unknown);
}

TEST(HttpClient, AnAnswerThatIsNotHttpIsUnknown) {
  ScriptedPeer peer({[](Conversation& c) {
    c.read_request();
    c.send("220 mail.example ESMTP\r\n\r\n");
  }});
  HttpClient client(peer.url());
  EXPECT_EQ(code_of(client.call(kPost, kPlenty)), ErrorCode::unknown);
}

TEST(HttpClient, ASlowAnswerEndsAtTheDeadline) {
  ScriptedPeer peer({say_nothing, say_nothing, [](Conversation& c) {
                       c.read_request();
                       c.answer("200 OK", "{}");
                     }});
  HttpClient client(peer.url());
  EXPECT_EQ(code_of(client.call(kPost, 20ms)), ErrorCode::unknown);
  EXPECT_EQ(code_of(client.call(kGet, 20ms)), ErrorCode::unavailable);
  EXPECT_TRUE(client.call(kPost, kPlenty).has_value());
}

TEST(HttpClient, WhoCannotBeReachedIsUnavailable) {
  std::string gone;
  {
    ScriptedPeer peer({});
    gone = peer.url();
  }
  HttpClient client(gone);
  const auto answer = client.call(kPost, kPlenty);
  EXPECT_EQ(code_of(answer), ErrorCode::unavailable);
  EXPECT_TRUE(answer.error().message.starts_with(gone)) << answer.error().message;
}

TEST(HttpClient, ARefusalBeforeAllWasReadIsTheAnswer) {
  ScriptedPeer peer({[](Conversation& c) {
    c.answer("413 Too Large", "{}");
    c.close();
  }});
  HttpClient client(peer.url());
  const auto answer = client.call({"POST", "/", {}, std::string(8 << 20, 'x')}, kPlenty);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
}

TEST(HttpClient, WhatWouldBreakTheLinesOfARequestIsNotSent) {
  ScriptedPeer peer({});
  HttpClient client(peer.url());
  api::Request split{"GET", "/", {}, ""};
  split.headers.add("Once-Namespace", "a\r\nX: y");
  EXPECT_EQ(code_of(client.call(split, kPlenty)), ErrorCode::invalid);
  EXPECT_EQ(code_of(client.call({"GET", "/a b", {}, ""}, kPlenty)), ErrorCode::invalid);
  EXPECT_EQ(code_of(HttpClient(peer.url(), "to\nken").call(kGet, kPlenty)), ErrorCode::invalid);
  EXPECT_EQ(code_of(HttpClient("ftp://there").call(kGet, kPlenty)), ErrorCode::invalid);
}

// What call_streaming() hands over of one answer.
struct Handed {
  int heads = 0;
  std::string body;

  StreamOptions by(StreamOptions::TimeoutKind timeout_kind, std::size_t hold,
                   Duration timeout = kPlenty) {
    return {.timeout_kind = timeout_kind,
            .timeout = timeout,
            .hold = hold,
            .begin = [this](const api::Response&) { ++heads; },
            .piece =
                [this](std::string_view piece) {
                  body += piece;
                  return true;
                }};
  }
};

TEST(HttpClient, CarryHoldsWhatIsShortAndHandsOverWhatIsLong) {
  ScriptedPeer peer({[](Conversation& c) {
    for (const std::size_t size : {4, 5, 1'000'000}) {
      c.read_request();
      c.answer("200 OK", std::string(size, 'x'));
    }
  }});
  HttpClient client(peer.url());
  Handed handed;
  const StreamOptions options = handed.by(StreamOptions::TimeoutKind::whole, 4);
  EXPECT_EQ(client.call_streaming(kPost, options)->body, "xxxx");
  EXPECT_EQ(handed.heads, 0);
  const auto longer = client.call_streaming(kPost, options);
  EXPECT_EQ(longer->status, 200);
  EXPECT_EQ(longer->body, "");
  EXPECT_EQ(handed.body, "xxxxx");
  EXPECT_TRUE(client.call_streaming(kPost, options).has_value());
  EXPECT_EQ(handed.body.size(), 1'000'005U);
  EXPECT_EQ(handed.heads, 2);
  EXPECT_EQ(peer.connections(), 1);
}

TEST(HttpClient, CarryHandsOverAnEndlessAnswerAsItComesAndGivesUpOnSilence) {
  std::promise<void> begun;
  std::promise<void> got_first;
  ScriptedPeer peer({[&](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    begun.get_future().wait();
    c.send("3\r\none\r\n");
    got_first.get_future().wait();
    c.send("3\r\ntwo\r\n");
    c.read_request();
  }});
  HttpClient client(peer.url());
  std::string body;
  const StreamOptions options{.timeout_kind = StreamOptions::TimeoutKind::steps,
                              .timeout = 300ms,
                              .hold = 1'000,
                              .begin = [&](const api::Response&) { begun.set_value(); },
                              .piece =
                                  [&](std::string_view piece) {
                                    if (body.empty()) got_first.set_value();
                                    body += piece;
                                    return true;
                                  }};
  EXPECT_EQ(code_of(client.call_streaming(kGet, options)), ErrorCode::unavailable);
  EXPECT_EQ(body, "onetwo");
}

TEST(HttpClient, FollowHandsOverLinesAsTheyCome) {
  std::promise<void> got_first;
  ScriptedPeer peer({[&](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\none\nt\r\n");
    got_first.get_future().wait();
    c.send("5\r\nwo\r\n\n\r\n0\r\n\r\n");
  }});
  HttpClient client(peer.url());
  std::vector<std::string> lines;
  const auto followed = client.follow(
      kGet,
      [&](std::string_view line) {
        if (lines.empty()) got_first.set_value();
        lines.emplace_back(line);
        return true;
      },
      kPlenty);
  EXPECT_TRUE(followed.has_value()) << followed.error().message;
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", ""}));
}

TEST(HttpClient, FollowEndsWhenItsReaderHasEnough) {
  ScriptedPeer peer({[](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\n\r\none\ntwo\nthree\n");
    EXPECT_EQ(c.read_request(), "");
  }});
  HttpClient client(peer.url());
  int lines = 0;
  const auto followed = client.follow(kGet, [&](auto) { return ++lines < 2; }, kPlenty);
  EXPECT_TRUE(followed.has_value());
  EXPECT_EQ(lines, 2);
}

TEST(HttpClient, FollowIsAnsweredWithWhatIsNoStream) {
  ScriptedPeer peer({[](Conversation& c) {
    c.read_request();
    c.answer("404 Not Found", "{\"detail\":\"no\nsuch\"}");
  }});
  HttpClient client(peer.url());
  const auto followed = client.follow(
      kGet,
      [](auto) {
        ADD_FAILURE();
        return true;
      },
      kPlenty);
  EXPECT_EQ(followed->status, 404);
  EXPECT_EQ(followed->body, "{\"detail\":\"no\nsuch\"}");
}

TEST(HttpClient, FollowGivesUpOnSilence) {
  ScriptedPeer peer({[](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\n\r\none\n");
    c.read_request();
  }});
  HttpClient client(peer.url());
  int lines = 0;
  EXPECT_EQ(code_of(client.follow(
                kGet, [&](auto) { return ++lines > 0; }, 20ms)),
            ErrorCode::unavailable);
  EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace once::client
