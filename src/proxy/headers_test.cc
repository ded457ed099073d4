#include "proxy/headers.h"

#include <gtest/gtest.h>

namespace once::proxy {
namespace {

api::Headers some_headers() {
  api::Headers headers;
  headers.add("Host", "client");
  headers.add("connection", "close, X-Hop");
  headers.add("x-hop", "1");
  headers.add("Keep-Alive", "timeout=5");
  headers.add("Transfer-Encoding", "chunked");
  headers.add("TE", "trailers");
  headers.add("Trailer", "X");
  headers.add("Upgrade", "websocket");
  headers.add("Proxy-Authorization", "x");
  headers.add("Proxy-Authenticate", "x");
  headers.add("Content-Length", "5");
  headers.add("Date", "then");
  headers.add("Set-Cookie", "a=1");
  headers.add("Set-Cookie", "b=2");
  headers.add("Idempotency-Key", "k");
  return headers;
}

std::string names_of(const api::Headers& headers) {
  std::string names;
  for (const auto& field : headers.fields()) names.append(field.name).append(" ");
  return names;
}

TEST(ProxyHeaders, WhatIsAboutOneConnectionIsNotPassedOn) {
  EXPECT_EQ(names_of(towards_upstream(some_headers())),
            "Date Set-Cookie Set-Cookie Idempotency-Key Via ");
  EXPECT_EQ(names_of(towards_client(some_headers(), "POST")),
            "Host Date Set-Cookie Set-Cookie Idempotency-Key ");
}

TEST(ProxyHeaders, TheRestKeepsItsValuesAndOrder) {
  const api::Headers kept = towards_client(some_headers(), "POST");
  EXPECT_EQ(kept.fields()[2].value, "a=1");
  EXPECT_EQ(kept.fields()[3].value, "b=2");
}

TEST(ProxyHeaders, WhatIsKeptForLaterSetsNoCookies) {
  api::Headers headers = some_headers();
  headers.add("set-cookie2", "c=3");
  EXPECT_EQ(names_of(without_cookies(headers)).find("ookie"), std::string::npos);
  EXPECT_EQ(without_cookies(headers).fields().size(), headers.fields().size() - 3);
}

TEST(ProxyHeaders, HeadKeepsTheLengthThatItTells) {
  EXPECT_EQ(towards_client(some_headers(), "HEAD").find("Content-Length"), "5");
}

// docs/hazards.md#h42
TEST(ProxyHeaders, H42_NoUpstreamIsToldOfAFramingThatIsNotTheProxysOwn) {
  api::Headers headers;
  for (const char* name : {"Content_Length", "transfer_encoding", "Transfer-encodinG", "HOST",
                           "content-length", "Expect"}) {
    headers.add(name, "1");
  }
  EXPECT_EQ(names_of(towards_upstream(headers)), "Via ");
}

TEST(ProxyHeaders, AHeaderThatOnlyResemblesANominatedOneStays) {
  api::Headers headers;
  headers.add("Connection", "X-Hopper");
  headers.add("X-Hop", "1");
  EXPECT_EQ(names_of(towards_client(headers, "GET")), "X-Hop ");
}

}  // namespace
}  // namespace once::proxy
