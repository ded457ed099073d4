// What a server does with connections, whatever is asked on them.
#include <gtest/gtest.h>

#include "testing/blackbox/served_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

class Connections : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.ready_line(); }
  RawHttp connect() { return RawHttp(server_.port()); }

  ServedStore store_;
  ServerProcess server_{store_.address()};
};

TEST_F(Connections, AnswersComeInOrderHoweverManyRequestsWereSentAtOnce) {
  RawHttp peer = connect();
  std::string many;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "k" + std::to_string(i);
    many +=
        "POST /v1/claims/" + name + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    many += "GET /v1/claims/" + name + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  ASSERT_TRUE(peer.send(many));
  for (int i = 0; i < 500; ++i) {
    const auto claimed = peer.receive();
    ASSERT_TRUE(claimed.has_value());
    EXPECT_EQ(claimed->status, 201);
    const auto shown = peer.receive();
    ASSERT_TRUE(shown.has_value());
    EXPECT_NE(shown->body.find("\"k" + std::to_string(i) + "\""), std::string::npos) << i;
  }
}

TEST_F(Connections, ARequestMayComeByteByByte) {
  RawHttp peer = connect();
  const std::string request =
      "POST /v1/claims/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
      "15\r\n\r\n{\"owner\":\"slow\"}";
  for (const char byte : request.substr(0, request.size() - 1)) peer.send(std::string(1, byte));
  const auto answer = peer.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 400);  // Fifteen bytes of it are no JSON.
  EXPECT_EQ(peer.call("GET", "/healthz")->status, 200);
}

TEST_F(Connections, AChunkedBodyIsABody) {
  RawHttp peer = connect();
  peer.send(
      "POST /v1/claims/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\n{\"o\r\nb\r\nwner\":\"me\"}\r\n0\r\n\r\n");
  EXPECT_EQ(peer.receive()->status, 201);
  EXPECT_NE(peer.call("GET", "/v1/claims/a")->body.find("\"me\""), std::string::npos);
}

TEST_F(Connections, HeadHasTheHeadOfGetAndNoBody) {
  RawHttp peer = connect();
  const auto got = peer.call("GET", "/healthz");
  const auto head = peer.call("HEAD", "/healthz");
  ASSERT_TRUE(got && head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->header("Content-Length"), got->header("Content-Length"));
  EXPECT_EQ(peer.call("GET", "/healthz")->body, got->body);
}

TEST_F(Connections, ConnectionCloseAndHttp10AreHonoured) {
  RawHttp closing = connect();
  const auto answer = closing.call("GET", "/healthz", "", "Connection: close\r\n");
  EXPECT_EQ(answer->header("Connection"), "close");
  EXPECT_TRUE(closing.ended());
  RawHttp old = connect();
  old.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.receive()->status, 200);
  EXPECT_TRUE(old.ended());
}

TEST_F(Connections, ExpectContinueIsInvited) {
  RawHttp peer = connect();
  peer.send(
      "POST /v1/claims/a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 2\r\n\r\n");
  EXPECT_EQ(peer.receive()->status, 100);
  peer.send("{}");
  EXPECT_EQ(peer.receive()->status, 201);
}

TEST_F(Connections, WhatIsNoHttpIsRefusedAndTheConnectionEnds) {
  for (const char* bytes :
       {"GARBAGE\r\n\r\n", "GET / HTTP/3.0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: "
        "2\r\n\r\n",
        "\x16\x03\x01\x02"}) {
    RawHttp peer = connect();
    peer.send(bytes);
    peer.send("\r\n\r\n");
    const auto answer = peer.receive();
    ASSERT_TRUE(answer.has_value()) << bytes;
    EXPECT_EQ(answer->status, 400) << bytes;
    EXPECT_EQ(answer->header("Content-Type"), "application/problem+json");
    EXPECT_TRUE(peer.ended());
  }
}

TEST_F(Connections, HeadersAndBodiesAreBounded) {
  RawHttp long_header = connect();
  long_header.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(40'000, 'x') +
                   "\r\n\r\n");
  EXPECT_EQ(long_header.receive()->status, 431);
  RawHttp long_body = connect();
  long_body.send(
      "POST /v1/claims/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n");
  const auto refused = long_body.receive();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 413);
  EXPECT_NE(refused->body.find("too_large"), std::string::npos);
  RawHttp chunked = connect();
  chunked.send(
      "POST /v1/claims/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "200000\r\n");
  chunked.send(std::string(1'500'000, ' '));
  EXPECT_EQ(chunked.receive()->status, 413);
}

TEST_F(Connections, AThousandIdleConnectionsHarmNobody) {
  std::vector<RawHttp> idle;
  for (int i = 0; i < 1'000; ++i) {
    idle.push_back(connect());
    ASSERT_TRUE(idle.back().connected()) << i;
  }
  RawHttp busy = connect();
  EXPECT_EQ(busy.call("POST", "/v1/claims/a", "{}")->status, 201);
  for (RawHttp& peer : idle) ASSERT_EQ(peer.call("GET", "/healthz")->status, 200);
}

TEST_F(Connections, TermFinishesWhatIsOwedAndExitsWithZero) {
  RawHttp holder = connect();
  ASSERT_EQ(holder.call("POST", "/v1/claims/a", R"({"lease":"1s"})")->status, 201);
  RawHttp waiter = connect();
  // In one piece: once the first is answered, the second is under way.
  waiter.send(
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "POST /v1/claims/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
      "13\r\n\r\n{\"wait\":\"3s\"}");
  EXPECT_EQ(waiter.receive()->status, 200);
  EXPECT_EQ(server_.terminate(), 0);
  const auto answer = waiter.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 201);
  EXPECT_FALSE(connect().connected());
}

TEST_F(Connections, TermDoesNotWaitForWhatTakesLonger) {
  RawHttp holder = connect();
  ASSERT_EQ(holder.call("POST", "/v1/claims/a", R"({"lease":"5m"})")->status, 201);
  RawHttp waiter = connect();
  waiter.send(
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "POST /v1/claims/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
      "13\r\n\r\n{\"wait\":\"5m\"}");
  EXPECT_EQ(waiter.receive()->status, 200);
  EXPECT_EQ(server_.terminate(), 0);
  EXPECT_TRUE(waiter.ended());
}

}  // namespace
}  // namespace once::testing
