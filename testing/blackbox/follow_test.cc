// Following a log over HTTP.
#include <gtest/gtest.h>

#include "testing/blackbox/served_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

class Follow : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.ready_line(); }

  void append(int first, int count) {
    RawHttp peer(server_.port());
    std::string lines;
    for (int i = first; i < first + count; ++i) lines += "\"e" + std::to_string(i) + "\"\n";
    const auto answer =
        peer.call("POST", "/v1/logs/s", lines, "Content-Type: application/x-ndjson\r\n");
    ASSERT_EQ(answer->status, 201) << answer->body;
  }

  RawHttp follower(const std::string& target, const std::string& headers = "") {
    RawHttp peer(server_.port());
    peer.send("GET", target, "", headers);
    const auto head = peer.receive(true);
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->header("Content-Type"), "text/event-stream");
    return peer;
  }

  // The next event, as its lines.
  static std::string event_of(RawHttp& peer) {
    std::string event;
    for (;;) {
      const auto line = peer.receive_line();
      if (!line) return event + "(ended)";
      if (line->empty() && !event.empty()) return event;
      if (!line->empty() && *line != ":") event += *line + "\n";
    }
  }

  ServedStore store_;
  ServerProcess server_{store_.address()};
};

TEST_F(Follow, SeesWhatIsThereAndWhatIsAppendedLater) {
  append(1, 2);
  RawHttp peer = follower("/v1/logs/s?follow=true");
  for (int i = 1; i <= 2; ++i) EXPECT_TRUE(event_of(peer).starts_with("id: " + std::to_string(i)));
  append(3, 2);
  for (int i = 3; i <= 4; ++i) EXPECT_TRUE(event_of(peer).starts_with("id: " + std::to_string(i)));
}

TEST_F(Follow, EndsWithTheLog) {
  append(1, 1);
  RawHttp peer = follower("/v1/logs/s?follow=true");
  EXPECT_TRUE(event_of(peer).starts_with("id: 1"));
  RawHttp closer(server_.port());
  ASSERT_EQ(closer.call("POST", "/v1/logs/s/close", "{}", "")->status, 200);
  EXPECT_TRUE(event_of(peer).starts_with("event: end\n"));
  EXPECT_TRUE(event_of(peer).ends_with("(ended)"));
  RawHttp late = follower("/v1/logs/s?follow=true");
  EXPECT_TRUE(event_of(late).starts_with("id: 1"));
  EXPECT_TRUE(event_of(late).starts_with("event: end\n"));
}

TEST_F(Follow, ResumesAfterTheLastEventWithTheSameBytes) {
  append(1, 5);
  RawHttp whole = follower("/v1/logs/s", "Accept: text/event-stream\r\n");
  std::vector<std::string> events;
  for (int i = 0; i < 5; ++i) events.push_back(event_of(whole));
  RawHttp resumed = follower("/v1/logs/s", "Accept: text/event-stream\r\nLast-Event-ID: 3\r\n");
  EXPECT_EQ(event_of(resumed), events[3]);
  EXPECT_EQ(event_of(resumed), events[4]);
}

TEST_F(Follow, BeginsAtATimeWhetherThatIsPastOrYetToCome) {
  append(1, 1);
  RawHttp past = follower("/v1/logs/s?follow=true&since=2000-01-01T00:00:00Z");
  EXPECT_TRUE(event_of(past).starts_with("id: 1"));
  RawHttp never = follower("/v1/logs/s?follow=true&since=2999-01-01T00:00:00Z");
  append(2, 1);
  EXPECT_TRUE(event_of(past).starts_with("id: 2"));
  RawHttp closer(server_.port());
  ASSERT_EQ(closer.call("POST", "/v1/logs/s/close", "{}", "")->status, 200);
  EXPECT_TRUE(event_of(never).starts_with("event: end\n"));
}

TEST_F(Follow, ALimitEndsIt) {
  append(1, 5);
  RawHttp peer = follower("/v1/logs/s?follow=true&order=asc&limit=3");
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(event_of(peer).starts_with("id: " + std::to_string(i)));
  EXPECT_EQ(peer.receive_line(), std::nullopt);
}

TEST_F(Follow, AStreamThatDoesNotExistYetCanBeFollowed) {
  RawHttp peer = follower("/v1/logs/s?follow=true");
  append(1, 1);
  EXPECT_TRUE(event_of(peer).starts_with("id: 1\n"));
}

TEST_F(Follow, AFollowerThatReadsNothingHoldsUpNobody) {
  RawHttp stuck = follower("/v1/logs/s?follow=true");
  RawHttp quick = follower("/v1/logs/s?follow=true");
  const std::string large(200'000, 'x');
  for (int i = 1; i <= 40; ++i) {
    RawHttp peer(server_.port());
    ASSERT_EQ(peer.call("POST", "/v1/logs/s", large, "Content-Type: text/plain\r\n")->status, 201);
    EXPECT_TRUE(event_of(quick).starts_with("id: " + std::to_string(i) + "\n")) << i;
  }
  for (int i = 1; i <= 40; ++i) {
    EXPECT_TRUE(event_of(stuck).starts_with("id: " + std::to_string(i) + "\n")) << i;
  }
}

TEST_F(Follow, FollowersDoNotKeepAServerFromStopping) {
  RawHttp peer = follower("/v1/logs/s?follow=true");
  EXPECT_EQ(server_.terminate(), 0);
  EXPECT_TRUE(peer.ended());
}

TEST_F(Follow, ABadStartIsRefused) {
  RawHttp peer(server_.port());
  EXPECT_EQ(peer.call("GET", "/v1/logs/s?follow=true", "", "Last-Event-ID: x\r\n")->status, 400);
  EXPECT_EQ(peer.call("GET", "/v1/logs/s?follow=maybe")->status, 400);
}

}  // namespace
}  // namespace once::testing
