#include "api/service_fixture.h"
#include "once/faulty_store.h"
#include "once/local.h"

namespace once::api {
namespace {

using ApiPages = ServiceFixture;

TEST_F(ApiPages, TheFirstPageSaysWhatRunsHereAndWhereToLook) {
  Service service({.store = "rocksdb at /var/<once> & co"});
  const auto answer = std::get<Response>(service.respond({"GET", "/", {}, ""}));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.find("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(answer.body.find("rocksdb at /var/&lt;once&gt; &amp; co"), std::string::npos);
  for (const std::string path : {"/healthz", "/readyz", "/openapi.yaml"}) {
    EXPECT_NE(answer.body.find("href=\"" + path + "\""), std::string::npos);
    EXPECT_EQ(get(path).status, 200);
  }
}

TEST_F(ApiPages, HealthNeedsNoStoreAndReadinessDoes) {
  EXPECT_EQ(field(get("/healthz"), "status"), "ok");
  EXPECT_EQ(get("/readyz").body, R"({"status":"ready"})");
  const auto down = inject_faults(*store_, {.fail_before = 1.0}, clock_);
  BlockingDriver driver(*down, clock_, entropy_);
  EXPECT_TRUE(std::holds_alternative<Response>(service_.respond({"GET", "/healthz", {}, ""})));
  Answer ready = service_.respond({"GET", "/readyz", {}, ""});
  const auto answer = driver.run(std::get<Plan<Response>>(std::move(ready)));
  ASSERT_TRUE(answer);
  expect_problem(*answer, 503, "unavailable");
  EXPECT_TRUE(answer->headers.find("Retry-After").has_value());
}

TEST_F(ApiPages, H41_AStoreThatWouldRefuseAWriteIsNotReady) {
  Service service({.check_writable = [] { return failure(ErrorCode::unavailable, "full"); }});
  expect_problem(std::get<Response>(service.respond({"GET", "/readyz", {}, ""})), 503,
                 "unavailable");
}

TEST_F(ApiPages, ProbesMayAddToTheQuery) {
  EXPECT_EQ(get("/healthz?probe=7").status, 200);
  EXPECT_EQ(get("/readyz?probe=7").status, 200);
}

TEST_F(ApiPages, WhatIsNotUtf8IsRefusedInUtf8) {
  for (const char* target : {"/v1/hot?%ff=1", "/v1/hot?x=%ff", "/v1/hot?\xff", "/v1/docs/%ff"}) {
    expect_problem(get(target), 400, "invalid");
  }
  expect_problem(call("\xff", "/v1/hot"), 405, "invalid");
  expect_problem(call("GET", "/v1/hot", "", {{"Once-Namespace", "\xff"}}), 400, "invalid");
}

TEST_F(ApiPages, WhatAProgramStoredUnderAnyLabelIsShownInUtf8) {
  LocalClaims claims(*store_, "default", clock_, entropy_);
  ASSERT_TRUE(claims.take("c", {.owner = "m\xff\x80"}));
  EXPECT_EQ(field(get("/v1/claims/c"), "owner"), "m\xef\xbf\xbd\xef\xbf\xbd");
  const Response busy = post("/v1/claims/c", "{}");
  expect_problem(busy, 409, "busy");
}

TEST_F(ApiPages, TheContractIsServedAsItWasBuilt) {
  const Response contract = get("/openapi.yaml");
  EXPECT_EQ(contract.headers.find("Content-Type"), "application/yaml");
  EXPECT_TRUE(contract.body.starts_with("openapi: 3.1.0\n"));
}

TEST_F(ApiPages, ABodyWithEndlessFieldsIsRefusedQuickly) {
  std::string body = "{\"a\":1";
  for (int i = 0; i < 200'000; ++i) body += ",\"f" + std::to_string(i) + "\":1";
  const Response refused = post("/v1/claims/a", body + "}");
  expect_problem(refused, 400, "invalid");
  EXPECT_EQ(field(refused, "detail"), "the body has more fields than any request");
}

// A store's description and its errors name paths.
TEST_F(ApiPages, AnAnonymousCallerOfAClosedServerIsToldNeitherPathsNorNumbers) {
  Service service({.store = "rocksdb at /var/lib/once", .check_writable = [] {
                     return failure(ErrorCode::unavailable, "/var/lib/once is full");
                   }});
  const auto text = [&](std::string path, const std::string& secret = "") {
    Request request{"GET", std::move(path), {}, ""};
    if (!secret.empty()) request.headers.add("Authorization", "Bearer " + secret);
    return std::get<Response>(service.respond(request)).body;
  };
  const auto names_path = [](const std::string& answer) {
    return answer.find("/var/lib/once") != std::string::npos;
  };
  for (const char* path : {"/", "/readyz"}) EXPECT_TRUE(names_path(text(path))) << path;
  service.tokens().add({tokens::id_of("all"), {}});
  service.tokens().add({tokens::id_of("bound"), {.name_space = "n"}});
  for (const char* path : {"/", "/readyz"}) {
    EXPECT_FALSE(names_path(text(path))) << path;
    EXPECT_FALSE(names_path(text(path, "wrong"))) << path;
    EXPECT_FALSE(names_path(text(path, "bound"))) << path;
    EXPECT_TRUE(names_path(text(path, "all"))) << path;
  }
  EXPECT_NE(text("/metrics").find("unauthorized"), std::string::npos);
  EXPECT_EQ(text("/metrics").find("once_"), std::string::npos);
}

struct GuardedApi : ServiceFixture {
  GuardedApi() : ServiceFixture({.needs_tokens = true}) {}
};

TEST_F(GuardedApi, WithoutATokenNobodyGetsInAlsoWhereThereIsNone) {
  expect_problem(post("/v1/claims/a", "{}"), 401, "unauthorized");
  expect_problem(post("/v1/tokens", "{}"), 401, "unauthorized");
  EXPECT_EQ(get("/healthz").status, 200);
  const std::string secret = tokens::new_secret().value();
  service_.tokens().add({tokens::id_of(secret), {}});
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER "}) {
    EXPECT_EQ(call("GET", "/v1/claims", "", {{"Authorization", scheme + secret}}).status, 200);
  }
  service_.tokens().remove(tokens::id_of(secret));
  expect_problem(post("/v1/claims/a", "{}"), 401, "unauthorized");
}

}  // namespace
}  // namespace once::api
