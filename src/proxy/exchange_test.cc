#include "proxy/exchange.h"

#include <gtest/gtest.h>

#include "once/local.h"
#include "once/memory_store.h"
#include "testing/scripted_peer.h"

namespace once::proxy {
namespace {

using namespace std::chrono_literals;
using testing::Conversation;
using testing::ScriptedPeer;

// Closes each connection when it was idle for a moment, just when the next request is on its way.
ScriptedPeer::Script closing_idle_ones() {
  return [](Conversation& c) {
    if (c.read_request().empty()) return;
    c.answer("200 OK", "{}");
    c.read_request();
  };
}

// The statuses of requests with these keys, one after the other.
std::vector<int> statuses_of(const std::vector<std::string>& keys, Rules rules) {
  const std::unique_ptr<MemoryStore> store = open_memory();
  LocalClaims claims(*store);
  metrics::AnswerMetrics metrics(metrics::Door::proxy);
  server::Journal journal({});
  ProxyTelemetry telemetry(metrics, journal);
  Exchange exchange(std::move(rules), KeyRecords(claims, {.instance = "one", .patience = 35s}),
                    telemetry);
  std::vector<int> statuses;
  for (const std::string& key : keys) {
    api::Request request{"POST", "/", {}, "b"};
    request.headers.add("Idempotency-Key", key);
    const Exchange::Answer answer = exchange.answer(request, nullptr);
    statuses.push_back(answer ? answer->status : 0);
  }
  return statuses;
}

// On a connection that is not fresh the request is lost, and its key refused until it is forgotten:
// the upstream closed it and never read the request.
TEST(Exchange, H40_AnUpstreamThatClosesIdleConnectionsMakesNoKeyUnknown) {
  const std::vector<ScriptedPeer::Script> connections(6, closing_idle_ones());
  ScriptedPeer upstream(connections);
  const std::vector<std::string> keys = {"0", "1", "2"};
  EXPECT_EQ(statuses_of(keys, {.upstream = upstream.url(), .reuse_within = Duration::zero()}),
            (std::vector{200, 200, 200}));
  ScriptedPeer other(connections);
  EXPECT_EQ(statuses_of(keys, {.upstream = other.url(), .reuse_within = 1h}),
            (std::vector{200, 502, 200}));
}

// The upstream has read the request, and closes the connection.
TEST(Exchange, H30_WhatTheUpstreamMayHaveDoneIsNotSentAgain) {
  const auto acts_and_breaks = [](Conversation& c) { c.read_request(); };
  const auto acts = [](Conversation& c) {
    c.read_request();
    c.answer("200 OK", "{}");
  };
  ScriptedPeer upstream({acts_and_breaks, acts});
  EXPECT_EQ(statuses_of({"k", "k", "other"}, {.upstream = upstream.url()}),
            (std::vector{502, 502, 200}));
}

TEST(Exchange, H40_AKeyGoesOnAConnectionThatWasUsedWithinASecondAtMost) {
  EXPECT_EQ(Rules().reuse_within, 1s);
}

}  // namespace
}  // namespace once::proxy
