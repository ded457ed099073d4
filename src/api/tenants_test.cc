#include "api/tenants.h"

#include <gtest/gtest.h>

#include "api/routes.h"
#include "api/service_fixture.h"
#include "base/shares.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

TEST(Shares, OneAloneMayTakeItsShareAndOthersFindTheRest) {
  Shares pool(64, 75);
  while (pool.may_take("greedy")) pool.take("greedy");
  EXPECT_EQ(pool.held_by("greedy"), 48U);
  while (pool.may_take("second")) pool.take("second");
  EXPECT_GE(pool.held_by("second"), 11U);
  EXPECT_TRUE(pool.may_take("third")) << "whoever has nothing finds something";
  for (int i = 0; i < 48; ++i) pool.give_back("greedy");
  EXPECT_EQ(pool.held_by("greedy"), 0U);
  while (pool.may_take("second")) pool.take("second");
  EXPECT_EQ(pool.held_by("second"), 48U);
}

TEST(Shares, ASmallPoolHasRoomForOne) {
  EXPECT_TRUE(within_share(0, 1, 0, 1, 75));
  EXPECT_FALSE(within_share(0, 1, 1, 1, 75));
  EXPECT_TRUE(within_share(9, 1, 9, 10, 100)) << "no share, only the pool";
}

TEST(TokenBucketTest, LetsASecondsWorthPassAtOnceAndThenTheRate) {
  TokenBucket bucket(10);
  const std::chrono::nanoseconds start = 100s;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(bucket.take(start)) << i;
  EXPECT_EQ(bucket.take(start), 100ms);
  EXPECT_EQ(bucket.take(start + 40ms), 60ms);
  EXPECT_FALSE(bucket.take(start + 100ms));
  EXPECT_TRUE(bucket.take(start + 100ms));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(bucket.take(start + 1h)) << "an hour saves no more";
  EXPECT_TRUE(bucket.take(start + 1h));
}

TEST(TokenBucketTest, ARateBelowOneLetsOnePass) {
  TokenBucket bucket(0.5);
  EXPECT_FALSE(bucket.take(100s));
  EXPECT_EQ(bucket.take(100s), 2s);
  EXPECT_FALSE(bucket.take(102s));
}

TEST(Quotas, RequestsBeyondTheRateAre429AndOthersAreNotConcerned) {
  metrics::Registry registry;
  Tenants tenants({{"a", {.requests_per_second = 1}}}, registry);
  EXPECT_FALSE(refusal_by_quota(*tenants.find("a"), true, 0, 100s));
  const auto refused = refusal_by_quota(*tenants.find("a"), true, 0, 100s);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.find("Retry-After"), "1");
  EXPECT_NE(refused->body.find(R"("code":"overloaded")"), std::string::npos) << refused->body;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(refusal_by_quota(*tenants.find("b"), true, 0, 100s));
}

TEST(Quotas, AStarBoundsEachNamespaceThatIsNotListed) {
  metrics::Registry registry;
  Tenants tenants({{"*", {.requests_per_second = 1}}, {"free", {}}}, registry);
  for (const std::string_view name : {"a", "b"}) {
    EXPECT_FALSE(refusal_by_quota(*tenants.find(name), false, 0, 100s));
    EXPECT_TRUE(refusal_by_quota(*tenants.find(name), false, 0, 100s));
  }
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(refusal_by_quota(*tenants.find("free"), true, 0, 100s));
}

TEST(Quotas, WhatIsFullTakesNothingNewAndCanBeReadAndEmptied) {
  metrics::Registry registry;
  Tenants tenants({{"a", {.keys = 10, .bytes = 1'000}}}, registry);
  Tenant& tenant = *tenants.find("a");
  tenant.keys = 9;
  tenant.bytes = 900;
  EXPECT_FALSE(refusal_by_quota(tenant, true, 99, 0s));
  EXPECT_TRUE(refusal_by_quota(tenant, true, 100, 0s)) << "its body does not fit";
  EXPECT_FALSE(refusal_by_quota(tenant, false, 100, 0s));
  EXPECT_TRUE(tenant.wants_count);
  tenant.keys = 10;
  const auto refused = refusal_by_quota(tenant, true, 0, 0s);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.find("Retry-After"), "5");
  EXPECT_FALSE(refusal_by_quota(tenant, false, 0, 0s));
  EXPECT_EQ(tenant.refusals(QuotaRefusal::keys), 1U);
  EXPECT_EQ(tenant.refusals(QuotaRefusal::bytes), 1U);
}

TEST(Quotas, OnlyWhatMayStoreSomethingNewCountsAsAdding) {
  std::vector<std::string> adding;
  for (const Route& route : routes()) {
    if (adds(route)) adding.push_back(std::string(route.method).append(" ").append(route.path));
  }
  const std::vector<std::string> wanted = {
      "POST /v1/claims/{}", "POST /v1/seen",     "POST /v1/logs/{}",
      "PUT /v1/docs/{}",    "PATCH /v1/docs/{}", "POST /v1/tallies/{}",
      "POST /v1/commit",    "POST /v1/events",   "POST /v1/items"};
  EXPECT_EQ(adding, wanted);
}

std::size_t series_of(const std::string& text, std::string_view family) {
  std::size_t count = 0;
  const std::string start = "\n" + std::string(family) + "{";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    ++count;
  }
  return count;
}

bool has(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(TenantMetrics, TheBusiestHaveSeriesOfTheirOwnAndTheRestIsOther) {
  metrics::Registry registry;
  Tenants tenants({}, registry);
  const auto count = [&](const std::string& name, int times) {
    for (int i = 0; i < times; ++i) tenants.find(name)->answered(200);
  };
  for (int i = 0; i < 150; ++i) count("n" + std::to_string(i), 1);
  std::string text = registry.text();
  EXPECT_EQ(series_of(text, "once_namespace_requests_total"), 101U * 3);
  EXPECT_TRUE(has(text, R"(once_namespace_requests_total{namespace="other",result="ok"} 50)"));
  count("n149", 5);
  text = registry.text();
  EXPECT_TRUE(has(text, R"(once_namespace_requests_total{namespace="n149",result="ok"} 0)"))
      << text;
  EXPECT_TRUE(has(text, R"(once_namespace_requests_total{namespace="other",result="ok"} 55)"));
  count("n149", 2);
  text = registry.text();
  EXPECT_TRUE(has(text, R"(once_namespace_requests_total{namespace="n149",result="ok"} 2)"))
      << text;
  EXPECT_TRUE(has(text, R"(once_namespace_requests_total{namespace="other",result="ok"} 55)"));
  EXPECT_EQ(series_of(text, "once_namespace_requests_total"), 101U * 3);
}

TEST(TenantMetrics, ANamespaceCalledOtherIsNoSecondSeries) {
  metrics::Registry registry;
  Tenants tenants({}, registry);
  tenants.find("other")->answered(503);
  const std::string text = registry.text();
  EXPECT_TRUE(has(text, R"(once_namespace_requests_total{namespace="other",result="failed"} 1)"));
  EXPECT_EQ(series_of(text, "once_namespace_requests_total"), 3U);
}

TEST(TenantMetrics, StrangersCannotMakeMoreThanTheBoundAndPushOutNoneWithAQuota) {
  metrics::Registry registry;
  Tenants tenants({{"mine", {.requests_per_second = 1}}}, registry);
  const std::shared_ptr<Tenant> mine = tenants.find("mine");
  for (std::size_t i = 0; i < 3 * Tenants::kMost; ++i) {
    tenants.find("n" + std::to_string(i))->answered(400);
  }
  EXPECT_EQ(tenants.find("mine"), mine);
  std::vector<std::shared_ptr<Tenant>> in_use;
  for (std::size_t i = 0; i < 2 * Tenants::kMost; ++i) {
    in_use.push_back(tenants.find("m" + std::to_string(i)));
  }
  EXPECT_EQ(in_use.back()->name(), "other") << "those in use stay, and the rest share one";
  EXPECT_LE(series_of(registry.text(), "once_namespace_requests_total"), 101U * 3);
}

class TenantPages : public ServiceFixture {};

TEST_F(TenantPages, ATokenOfOneNamespaceReadsTheMetricsOfThatNamespaceAlone) {
  const std::string admin = field(post("/v1/tokens", "{}"), "token");
  const auto bearer = [](const std::string& token) {
    return std::vector<Headers::Field>{{"Authorization", "Bearer " + token}};
  };
  const std::string token =
      field(call("POST", "/v1/tokens", R"({"namespace":"mine"})", bearer(admin)), "token");
  service_.tenants().find("mine")->answered(200);
  service_.tenants().find("theirs")->answered(200);
  const std::string all = call("GET", "/metrics", "", bearer(admin)).body;
  EXPECT_NE(all.find(R"(namespace="theirs")"), std::string::npos);
  EXPECT_NE(all.find("once_outcomes_total"), std::string::npos);
  const Response own = call("GET", "/metrics", "", bearer(token));
  EXPECT_EQ(own.status, 200);
  EXPECT_TRUE(has(own.body, R"(once_namespace_requests_total{namespace="mine",result="ok"} 1)"))
      << own.body;
  EXPECT_EQ(own.body.find("theirs"), std::string::npos);
  EXPECT_EQ(own.body.find("once_outcomes_total"), std::string::npos) << "of all namespaces";
  EXPECT_EQ(call("GET", "/metrics").status, 401);
}

TEST(QuotasThatChange, CountFromTheNextRequestOnAndForNamespacesThatWereKnown) {
  metrics::Registry registry;
  Tenants tenants({{"a", {.requests_per_second = 1.0}}, {"b", {.keys = 10}}}, registry);
  const std::shared_ptr<Tenant> a = tenants.find("a");
  const TokenBucket::Instant now = std::chrono::seconds(100);
  EXPECT_FALSE(a->take_turn(now));
  EXPECT_TRUE(a->take_turn(now));
  const Quotas fresh = {{"b", {.keys = 20}}, {"*", {.requests_per_second = 1'000.0}}};
  tenants.set_quotas(fresh);
  EXPECT_FALSE(a->take_turn(now));
  EXPECT_EQ(tenants.find("b")->quota().keys, 20U);
  EXPECT_EQ(tenants.find("c")->quota().requests_per_second, 1'000.0);
  tenants.set_quotas({{"new", {.bytes = 1}}});
  ASSERT_EQ(tenants.counted().size(), 1U);
  EXPECT_EQ(tenants.counted()[0], tenants.find("new"));
}

}  // namespace
}  // namespace once::api
