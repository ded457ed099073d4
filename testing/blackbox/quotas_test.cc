// Quotas of namespaces, in the configuration file of a real server.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

class QuotasOfNamespaces : public ::testing::Test {
 protected:
  void serve(const std::string& configuration) {
    const std::string file = (directory_.path() / "once.toml").string();
    std::ofstream(file) << configuration;
    server_.emplace("memory:", std::vector<std::string>{"--config", file});
    ASSERT_TRUE(server_->running()) << server_->ready_line();
  }
  RawAnswer call(const std::string& method, const std::string& target,
                 const std::string& name_space, const std::string& body = "") {
    return RawHttp(server_->port())
        .call(method, target, body, "Once-Namespace: " + name_space + "\r\n")
        .value_or(RawAnswer{});
  }
  RawAnswer claim(const std::string& name_space, const std::string& name) {
    return call("POST", "/v1/claims/" + name, name_space, "{}");
  }
  bool has_metric(const std::string& line) {
    return call("GET", "/metrics", "x").body.find("\n" + line + "\n") != std::string::npos;
  }

  TempDir directory_;
  std::optional<ServerProcess> server_;
};

TEST_F(QuotasOfNamespaces, BeyondOneIs429AndOthersAreServed) {
  serve("[namespace.small]\nkeys = 3\n[namespace.brief]\nbytes = 500\n");
  while (!has_metric(R"(once_namespace_used{namespace="small",of="keys"} 0)")) {
    std::this_thread::yield();
  }
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(claim("small", name).status, 201) << name;
  const RawAnswer refused = claim("small", "d");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.body.find(R"("code":"overloaded")"), std::string::npos) << refused.body;
  EXPECT_EQ(refused.header("Retry-After"), "5");
  EXPECT_EQ(call("GET", "/v1/claims/d", "small").status, 404) << "nothing was written";
  EXPECT_EQ(claim("other", "d").status, 201);
  EXPECT_EQ(call("PUT", "/v1/docs/d", "brief", std::string(600, 'x')).status, 429);
  EXPECT_EQ(claim("brief", "d").status, 201) << "a short one fits";
  EXPECT_EQ(call("DELETE", "/v1/claims/a", "small").status, 204) << "what is full can be emptied";
  EXPECT_TRUE(has_metric(R"(once_namespace_refused_total{namespace="small",reason="keys"} 1)"));
  EXPECT_TRUE(has_metric(R"(once_namespace_quota{namespace="small",of="keys"} 3)"));
  EXPECT_TRUE(has_metric(R"(once_namespace_used{namespace="small",of="keys"} 3)"));
}

TEST_F(QuotasOfNamespaces, WhatOneHasIsToldWithoutAQuotaToo) {
  serve("count-every = \"1s\"\n");
  for (const char* name : {"a", "b"}) ASSERT_EQ(claim("free", name).status, 201) << name;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const std::string counted = R"(once_namespace_used{namespace="free",of="keys"} 2)";
  while (!has_metric(counted) && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(has_metric(counted));
  const std::string page = call("GET", "/metrics", "x").body;
  EXPECT_NE(page.find(R"(once_namespace_used{namespace="free",of="bytes"} )"), std::string::npos);
  EXPECT_NE(page.find(R"(once_namespace_used{namespace="other",of="keys"} )"), std::string::npos);
  EXPECT_NE(page.find("\nonce_namespace_used_age_seconds "), std::string::npos);
}

TEST_F(QuotasOfNamespaces, RequestsInASecondAreBoundedForEach) {
  serve("[namespace.\"*\"]\nrequests_per_second = 0.001\n[namespace.x]\n");
  EXPECT_EQ(claim("a", "k").status, 201);
  const RawAnswer refused = claim("a", "k");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.header("Retry-After"), "");
  EXPECT_EQ(call("GET", "/v1/claims/k", "a").status, 429) << "reads are requests, too";
  EXPECT_EQ(claim("b", "k").status, 201) << "another namespace has its own";
  EXPECT_EQ(call("GET", "/healthz", "a").status, 200);
  EXPECT_TRUE(has_metric(R"(once_namespace_refused_total{namespace="a",reason="requests"} 2)"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call("GET", "/v1/claims/k", "x").status, 404);
}

}  // namespace
}  // namespace once::testing
