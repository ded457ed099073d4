#include "client/event_stream.h"

#include <gtest/gtest.h>

#include "client/url.h"

namespace once::client {
namespace {

TEST(EventStream, AnEventIsItsFieldsUpToAnEmptyLine) {
  EventStream stream;
  EXPECT_FALSE(stream.take(": a comment"));
  EXPECT_FALSE(stream.take("id: 7"));
  EXPECT_FALSE(stream.take("event: append"));
  EXPECT_FALSE(stream.take("data: {\"a\": 1}"));
  const auto event = stream.take("");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, "7");
  EXPECT_EQ(event->data, "{\"a\": 1}");
  EXPECT_FALSE(stream.take(""));
}

TEST(EventStream, DataMayHaveSeveralLinesAndNoSpaceAfterItsColon) {
  EventStream stream;
  stream.take("id:8");
  stream.take("data:one");
  stream.take("data");
  stream.take("data:  two");
  const auto event = stream.take("");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data, "one\n\n two");
  stream.take("data: next");
  EXPECT_EQ(stream.take("")->id, "8");
}

TEST(Url, IsAHostAndAPort) {
  const auto url = parse_url("http://[::1]:7600/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, "7600");
  EXPECT_EQ(url->authority, "[::1]:7600");
  EXPECT_EQ(parse_url("http://once.example")->port, "80");
  EXPECT_EQ(parse_url("http://[::1]")->host, "::1");
  EXPECT_FALSE(parse_url("http://once.example")->tls);
  EXPECT_TRUE(parse_url("https://once.example")->tls);
  EXPECT_EQ(parse_url("https://once.example")->port, "443");
  EXPECT_EQ(parse_url("https://once.example:8443/")->port, "8443");
}

TEST(Url, AnythingElseIsNone) {
  for (const char* text :
       {"", "http://", "http:///", "https://", "https://a/b", "http://a:", "http://a:0",
        "http://a:65536", "http://a:b", "http://a/b", "http://u@a", "http://a?b", "http://[::1",
        "http://[]:1", "http://:80", "http://a b", "ftp://a", "/dir"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

}  // namespace
}  // namespace once::client
