// The proxy with its claims in a store that others use, too.
#include <gtest/gtest.h>

#include "testing/blackbox/served_store.h"
#include "testing/proxy_process.h"

namespace once::testing {
namespace {

std::optional<RawAnswer> post_to(const ProxyProcess& proxy, const std::string& key,
                                 const std::string& body = "b") {
  RawHttp client(proxy.port());
  return client.call("POST", "/orders", body, key_header(key));
}

TEST(ProxyOnAStore, TwoProxiesSendEachRequestOnceBetweenThem) {
  const ServedStore store;
  Upstream upstream(numbered);
  ProxyProcess one(upstream.url(), store.address());
  ProxyProcess two(upstream.url(), store.address());
  ASSERT_TRUE(one.running() && two.running()) << one.ready_line() << two.ready_line();
  const auto first = post_to(one, "k");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status, 201) << first->body;
  const auto again = post_to(two, "k");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->header("Idempotent-Replayed"), "true");
  EXPECT_EQ(again->body, "1");
  EXPECT_EQ(post_to(two, "k", "another body")->status, 422);
  EXPECT_EQ(post_to(two, "l")->body, "2");
  EXPECT_EQ(upstream.requests(), 2);
}

TEST(ProxyOnAStore, WhatOneLostIsUnknownToBoth) {
  const ServedStore store;
  Upstream upstream([](const std::string&, int) { return ""; });
  ProxyProcess one(upstream.url(), store.address());
  ProxyProcess two(upstream.url(), store.address());
  for (const ProxyProcess* proxy : {&one, &two}) {
    const auto lost = post_to(*proxy, "k");
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(lost->status, 502);
    EXPECT_NE(lost->body.find(R"("code":"unknown")"), std::string::npos) << lost->body;
  }
  EXPECT_EQ(upstream.requests(), 1);
}

// DynamoDB's items have at most 400 KB.
TEST(ProxyOnAStore, H16_AnAnswerOfAnySizeIsRecorded) {
  const ServedStore store;
  const std::string large(1'000'000, 'x');
  Upstream upstream([&](const std::string&, int) { return http_answer("200 OK", large); });
  ProxyProcess proxy(upstream.url(), store.address());
  EXPECT_TRUE(post_to(proxy, "k")->body == large);
  const auto again = post_to(proxy, "k");
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->status == 409 ? again->body.find("too_large") != std::string::npos
                                   : again->body == large)
      << again->head;
  EXPECT_EQ(upstream.requests(), 1);
}

}  // namespace
}  // namespace once::testing
