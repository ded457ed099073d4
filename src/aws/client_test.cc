// The client against peers that do just what a test wants.
#include "aws/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "testing/code_of.h"
#include "testing/manual_clock.h"
#include "testing/scripted_peer.h"

namespace once::aws {
namespace {

using testing::code_of;
using testing::Conversation;
using testing::ManualClock;
using testing::ScriptedPeer;

Deadline in(Duration length) { return std::chrono::steady_clock::now() + length; }
const Duration kAmple(20'000);

ClientOptions options_for(const std::string& endpoint) {
  return {.endpoint = endpoint,
          .region = "eu-west-1",
          .service = "dynamodb",
          .credentials = fixed_credentials({"AKIDEXAMPLE", "secret"})};
}

std::unique_ptr<Client> client_of(const ScriptedPeer& peer) {
  return Client::open(options_for(peer.url())).value();
}

std::string value_in(const std::string& request, const std::string& name) {
  const std::size_t at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

TEST(AwsClient, SendsWhatItSigned) {
  std::string seen;
  ScriptedPeer peer({[&](Conversation& conversation) {
    seen = conversation.read_request();
    conversation.answer("200 OK", "{}");
  }});
  const auto client = client_of(peer);
  const Result<Response> answer =
      client->send({.path = "/a%20b",
                    .query = "x=1",
                    .headers = {{"Content-Type", "application/x-amz-json-1.0"}, {"X-Empty", ""}},
                    .body = "{\"a\":1}"},
                   in(kAmple));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "{}");
  EXPECT_EQ(header_of(answer->headers, "content-type"), "application/json");
  peer.end();
  EXPECT_TRUE(seen.starts_with("POST /a%20b?x=1 HTTP/1.1\r\n")) << seen;
  EXPECT_TRUE(seen.ends_with("\r\n\r\n{\"a\":1}")) << seen;
  EXPECT_NE(seen.find("\r\nX-Empty:\r\n"), std::string::npos) << seen;
  EXPECT_EQ("http://" + value_in(seen, "Host"), peer.url());
  EXPECT_NE(
      value_in(seen, "Authorization").find("SignedHeaders=content-type;host;x-amz-date;x-empty,"),
      std::string::npos);
  // Nothing that nobody signed, but what HTTP itself needs.
  for (const char* unwanted : {"Accept", "Expect", "User-Agent"}) {
    EXPECT_EQ(value_in(seen, unwanted), "") << seen;
  }
}

TEST(AwsClient, EveryMethodGoesOutAsItIs) {
  const std::vector<Request> requests = {{.method = "GET"},
                                         {.method = "PUT", .body = "whole"},
                                         {.method = "PUT"},
                                         {.method = "DELETE"},
                                         {.method = "HEAD"}};
  std::vector<std::string> seen;
  ScriptedPeer peer({[&](Conversation& conversation) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      seen.push_back(conversation.read_request());
      conversation.answer("200 OK", "");
    }
  }});
  const auto client = client_of(peer);
  for (const Request& request : requests) {
    const Result<Response> answer = client->send(request, in(kAmple));
    ASSERT_TRUE(answer) << request.method << ": " << answer.error().message;
  }
  peer.end();
  ASSERT_EQ(seen.size(), requests.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_TRUE(seen[i].starts_with(requests[i].method + " / HTTP/1.1\r\n")) << seen[i];
    EXPECT_TRUE(seen[i].ends_with("\r\n\r\n" + requests[i].body)) << seen[i];
  }
}

// libcurl would send it again on its own, and the second connection would answer.
TEST(AwsClient, H8_WhatIsLostOnAReusedConnectionIsUnknownAndNotSentAgain) {
  for (const Request& request :
       {Request{.body = "{}"}, Request{},
        Request{.method = "PUT", .body = std::string(100'000, 'x')}, Request{.method = "DELETE"},
        Request{.method = "GET"}, Request{.method = "HEAD"}}) {
    std::atomic<int> seen = 0;
    ScriptedPeer peer({[&](Conversation& conversation) {
                         conversation.read_request();
                         conversation.answer("200 OK", "{}");
                         if (!conversation.read_request().empty()) ++seen;
                       },
                       [&](Conversation& conversation) {
                         if (!conversation.read_request().empty()) ++seen;
                         conversation.answer("200 OK", "{}");
                       }});
    const auto client = client_of(peer);
    ASSERT_TRUE(client->send({.body = "{}"}, in(kAmple)));
    const Result<Response> lost = client->send(request, in(kAmple));
    EXPECT_EQ(code_of(lost), ErrorCode::unknown) << request.method;
    peer.end();
    EXPECT_EQ(seen, 1) << request.method;
  }
}

TEST(AwsClient, AReplyThatEndsTooEarlyIsUnknown) {
  const std::string whole = "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 4\r\n\r\nfour";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ScriptedPeer peer({[&](Conversation& conversation) {
      conversation.read_request();
      conversation.send(whole.substr(0, length));
    }});
    EXPECT_EQ(code_of(client_of(peer)->send({.body = "{}"}, in(kAmple))), ErrorCode::unknown)
        << length;
  }
}

TEST(AwsClient, AReplyLargerThanAllowedIsUnknown) {
  ScriptedPeer peer({[](Conversation& conversation) {
    conversation.read_request();
    conversation.answer("200 OK", std::string(200'000, 'x'));
  }});
  ClientOptions options = options_for(peer.url());
  options.response_limit = 100'000;
  const auto client = Client::open(options).value();
  EXPECT_EQ(code_of(client->send({.body = "{}"}, in(kAmple))), ErrorCode::unknown);
}

TEST(AwsClient, WhereNobodyListensNothingWasSent) {
  std::string nowhere;
  {
    ScriptedPeer peer({});
    nowhere = peer.url();
  }
  const auto client = Client::open(options_for(nowhere)).value();
  EXPECT_EQ(code_of(client->send({.body = "{}"}, in(kAmple))), ErrorCode::unavailable);
}

TEST(AwsClient, AReplyThatDoesNotComeIsUnknownAtTheDeadline) {
  std::latch over(1);
  ScriptedPeer peer({[&](Conversation& conversation) {
    conversation.read_request();
    over.wait();
  }});
  const auto client = client_of(peer);
  EXPECT_EQ(code_of(client->send({.body = "{}"}, in(Duration(500)))), ErrorCode::unknown);
  over.count_down();
}

TEST(AwsClient, WhatWaitedForAConnectionUntilTheDeadlineWasNotSent) {
  std::latch asked(1);
  std::latch over(1);
  ScriptedPeer peer({[&](Conversation& conversation) {
    conversation.read_request();
    asked.count_down();
    over.wait();
    conversation.answer("200 OK", "{}");
  }});
  ClientOptions options = options_for(peer.url());
  options.connections = 1;
  const auto client = Client::open(options).value();
  std::thread first([&] { EXPECT_TRUE(client->send({.body = "{}"}, in(kAmple))); });
  asked.wait();
  EXPECT_EQ(code_of(client->send({.body = "{}"}, in(Duration(50)))), ErrorCode::unavailable);
  over.count_down();
  first.join();
  EXPECT_EQ(peer.connections(), 1);
}

TEST(AwsClient, WhatIsNoHttpIsRefusedAndTheOthersGoOut) {
  ScriptedPeer peer({[](Conversation& conversation) {
    conversation.read_request();
    conversation.answer("200 OK", "{}");
  }});
  const std::vector<Request> requests = {{.method = "GET / HTTP/1.1\r\nX: y\r\n"},
                                         {.path = "no-slash"},
                                         {.path = "/a b"},
                                         {.query = "a=\n"},
                                         {.headers = {{"X", "a\r\nY: b"}}},
                                         {.headers = {{"", "a"}}},
                                         {.body = "{}"}};
  const auto answers = client_of(peer)->send(requests, in(kAmple));
  ASSERT_EQ(answers.size(), requests.size());
  for (std::size_t i = 0; i + 1 < answers.size(); ++i) {
    EXPECT_EQ(code_of(answers[i]), ErrorCode::invalid) << i;
  }
  EXPECT_TRUE(answers.back());
}

TEST(AwsClient, OptionsThatCannotWorkAreRefused) {
  const ClientOptions good = options_for("http://127.0.0.1:8000");
  EXPECT_TRUE(Client::open(good));
  for (const char* endpoint : {"", "127.0.0.1", "ftp://host", "http://", "http://host/path",
                               "https://user@host", "http://a b", "http://host?x"}) {
    EXPECT_EQ(code_of(Client::open(options_for(endpoint))), ErrorCode::invalid) << endpoint;
  }
  for (const auto& spoil : std::vector<void (*)(ClientOptions&)>{
           [](ClientOptions& options) { options.region = ""; },
           [](ClientOptions& options) { options.service = ""; },
           [](ClientOptions& options) { options.credentials = nullptr; },
           [](ClientOptions& options) { options.connections = 0; },
           [](ClientOptions& options) { options.connections = 1'001; },
           [](ClientOptions& options) { options.connect_timeout = Duration(0); }}) {
    ClientOptions options = good;
    spoil(options);
    EXPECT_EQ(code_of(Client::open(options)), ErrorCode::invalid);
  }
}

std::string refusal(const std::string& type, const std::string& date) {
  const std::string body = R"({"__type":"x#)" + type + R"(","message":"Signature expired: now"})";
  return "HTTP/1.1 400 Bad Request\r\nDate: " + date +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(AwsClient, AWrongClockIsPutRightByTheServersDateAndTheRequestSentOnceMore) {
  std::vector<std::string> times;
  ScriptedPeer peer({[&](Conversation& conversation) {
    for (int i = 0; i < 2; ++i) {
      times.push_back(value_in(conversation.read_request(), "X-Amz-Date"));
      if (i == 0) {
        conversation.send(refusal("InvalidSignatureException", "Sun, 30 Aug 2015 12:36:00 GMT"));
      }
    }
    conversation.answer("200 OK", "{}");
  }});
  ManualClock clock(Time(std::chrono::sys_days(std::chrono::year(2015) / 8 / 30)));
  ClientOptions options = options_for(peer.url());
  options.clock = &clock;
  const auto client = Client::open(options).value();
  const Result<Response> answer = client->send({.body = "{}"}, in(kAmple));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  peer.end();
  EXPECT_EQ(times, (std::vector<std::string>{"20150830T000000Z", "20150830T123600Z"}));
  EXPECT_LT(std::chrono::abs(client->server_offset().middle() - std::chrono::minutes(12 * 60 + 36)),
            Duration(1'000));
}

// Found by the histories of testing/linearizability: a request was refused for its time.
TEST(AwsClient, H36_OneWrongDateDoesNotMoveTheTimeOfSignatures) {
  std::vector<std::string> times;
  ScriptedPeer peer({[&](Conversation& conversation) {
    for (const std::string date : {"00:00:00", "00:00:00", "02:00:00", "00:00:00"}) {
      times.push_back(value_in(conversation.read_request(), "X-Amz-Date"));
      conversation.send("HTTP/1.1 200 OK\r\nDate: Sun, 30 Aug 2015 " + date +
                        " GMT\r\nContent-Length: 2\r\n\r\n{}");
    }
  }});
  ManualClock clock(Time(std::chrono::sys_days(std::chrono::year(2015) / 8 / 30)));
  ClientOptions options = options_for(peer.url());
  options.clock = &clock;
  const auto client = Client::open(options).value();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(client->send({.body = "{}"}, in(kAmple)));
  peer.end();
  EXPECT_EQ(times, std::vector<std::string>(4, "20150830T000000Z"));
}

TEST(AwsClient, AServerThatIsNeverPleasedWithTheTimeIsAskedTwice) {
  int asked = 0;
  ScriptedPeer peer({[&](Conversation& conversation) {
    while (!conversation.read_request().empty()) {
      ++asked;
      conversation.send(refusal("RequestTimeTooSkewed", "Sun, 30 Aug 2015 12:36:00 GMT"));
    }
  }});
  {
    const Result<Response> answer = client_of(peer)->send({.body = "{}"}, in(kAmple));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400);
  }
  peer.end();
  EXPECT_EQ(asked, 2);
}

class TwoKeys final : public Credentials {
 public:
  Result<Keys> keys(Deadline /*deadline*/) override {
    return Keys{refused_ ? "SECOND" : "FIRST", "secret"};
  }
  void refused(const Keys& keys) override { refused_ = keys.access_key_id == "FIRST"; }

 private:
  std::atomic<bool> refused_ = false;
};

TEST(AwsClient, ExpiredKeysAreReplacedAndTheRequestSentOnceMore) {
  std::vector<std::string> asked;
  ScriptedPeer peer({[&](Conversation& conversation) {
    asked.push_back(value_in(conversation.read_request(), "Authorization"));
    conversation.send(refusal("ExpiredTokenException", "Sun, 30 Aug 2015 12:36:00 GMT"));
    asked.push_back(value_in(conversation.read_request(), "Authorization"));
    conversation.answer("200 OK", "{}");
  }});
  ClientOptions options = options_for(peer.url());
  options.credentials = std::make_shared<TwoKeys>();
  const Result<Response> answer = Client::open(options).value()->send({.body = "{}"}, in(kAmple));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  peer.end();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_NE(asked[0].find("Credential=FIRST/"), std::string::npos);
  EXPECT_NE(asked[1].find("Credential=SECOND/"), std::string::npos);
}

TEST(AwsClient, AccessDeniedIsNotSentAgain) {
  int asked = 0;
  ScriptedPeer peer({[&](Conversation& conversation) {
    while (!conversation.read_request().empty()) {
      ++asked;
      conversation.send(refusal("AccessDeniedException", "Sun, 30 Aug 2015 12:36:00 GMT"));
    }
  }});
  EXPECT_EQ(client_of(peer)->send({.body = "{}"}, in(kAmple)).value().status, 400);
  peer.end();
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace once::aws
