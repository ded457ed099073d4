#include "work/door/http.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "testing/upstream.h"

namespace once::work {
namespace {

using namespace std::chrono_literals;

std::string answer(const std::string& status, const std::string& type, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class HttpHandler : public ::testing::Test {
 protected:
  Result<Effects> handle(testing::Upstream& upstream) {
    Message message;
    message.id = "m1";
    message.body = "hello";
    message.content_type = "text/plain";
    message.attributes = {{"ce-id", "7"}, {"ce-bad", "a\nb"}, {"other", "x"}};
    Attempt attempt("key", 7, 2);
    Renewals renewals;
    Task task{message, attempt, stop_.get_token(), renewals};
    return http_handler(upstream.url() + "/jobs?x=1", 10s).value()(task);
  }

  std::stop_source stop_;
};

TEST_F(HttpHandler, AMessageIsAPostThatTellsItsAttempt) {
  std::string request;
  testing::Upstream upstream([&](const std::string& got, int) {
    request = got;
    return answer("204 No Content", "text/plain", "");
  });
  const Result<Effects> handled = handle(upstream);
  ASSERT_TRUE(handled.has_value()) << handled.error().message;
  EXPECT_TRUE(request.starts_with("POST /jobs?x=1 HTTP/1.1\r\n")) << request;
  for (const char* part : {"Once-Fence: 7", "Once-Attempt: 2", "Idempotency-Key: ", "ce-id: 7",
                           "Content-Type: text/plain", "Once-Message-Id: m1"}) {
    EXPECT_NE(request.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(request.find("ce-bad"), std::string::npos);
  EXPECT_TRUE(request.ends_with("hello"));
}

TEST_F(HttpHandler, AnythingBut2xxIsAFailure) {
  testing::Upstream upstream(
      [](const std::string&, int) { return answer("503 Busy", "text/plain", "no"); });
  EXPECT_EQ(handle(upstream).error().message, "the handler answered 503");
}

TEST_F(HttpHandler, AnAnswerOfTheirTypeIsEffects) {
  std::string type = "application/json";
  testing::Upstream upstream([&](const std::string&, int) {
    return answer("200 OK", type, R"({"tallies":[{"key":"t","kind":"count"}]})");
  });
  EXPECT_TRUE(handle(upstream).value().tallies().empty());
  type = kEffectsType;
  EXPECT_EQ(handle(upstream).value().tallies().size(), 1U);
}

TEST_F(HttpHandler, EffectsThatAreNoneAreAFailure) {
  testing::Upstream upstream(
      [&](const std::string&, int) { return answer("200 OK", std::string(kEffectsType), "[]"); });
  EXPECT_TRUE(handle(upstream).error().message.starts_with("its effects are none: "));
}

TEST_F(HttpHandler, ALostLeaseEndsTheRequest) {
  testing::Upstream upstream([&](const std::string&, int) {
    stop_.request_stop();
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  });
  EXPECT_FALSE(handle(upstream).has_value());
}

TEST_F(HttpHandler, WhatIsNoUrlIsRefused) {
  EXPECT_EQ(http_handler("ftp://x", 1s).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace once::work
