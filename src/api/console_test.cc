#include "console/assets.h"

#include "api/service_fixture.h"

namespace once::api {
namespace {

using Console = ServiceFixture;

const std::vector<Headers::Field> kBrowser = {{"Accept", "text/html,application/xhtml+xml"}};

TEST_F(Console, ThePageIsForThoseWhoAcceptHtmlAndSaysNothingOfTheServer) {
  const Response page = call("GET", "/", "", kBrowser);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.find("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.body, console::find_asset("index.html")->bytes);
  EXPECT_EQ(call("GET", "/", "", {{"Accept", "*/*"}}).body, page.body);
  EXPECT_NE(get("/").body.find("/readyz"), std::string::npos);
  EXPECT_NE(call("GET", "/", "", {{"Accept", "text/plain"}}).body, page.body);
}

TEST_F(Console, NothingInlineAndNothingFromElsewhereIsLetIn) {
  for (const console::Asset& asset : console::assets()) {
    const Response file = get("/console/" + std::string(asset.name));
    const std::string policy(file.headers.find("Content-Security-Policy").value_or(""));
    EXPECT_TRUE(policy.starts_with("default-src 'self';")) << asset.name;
    EXPECT_EQ(policy.find("unsafe"), std::string::npos) << asset.name;
    EXPECT_EQ(file.headers.find("X-Content-Type-Options"), "nosniff") << asset.name;
    EXPECT_EQ(file.headers.find("Content-Type"), asset.type) << asset.name;
    EXPECT_TRUE(file.body == asset.bytes) << asset.name;
  }
  expect_problem(get("/console/nothing.js"), 404, "not_found");
  expect_problem(get("/console/..%2Fmain.js"), 404, "not_found");
}

TEST_F(Console, AFileIsCompressedForThoseWhoTakeThatAndSentOnlyIfItChanged) {
  const Response zipped = call("GET", "/console/main.js", "", {{"Accept-Encoding", "br, gzip"}});
  EXPECT_EQ(zipped.headers.find("Content-Encoding"), "gzip");
  EXPECT_TRUE(zipped.body.starts_with("\x1f\x8b"));
  const std::string etag(zipped.headers.find("ETag").value_or(""));
  const Response known = call("GET", "/console/main.js", "", {{"If-None-Match", etag}});
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(known.body, "");
}

TEST_F(Console, IsSmall) {
  std::size_t compressed = 0;
  for (const console::Asset& asset : console::assets()) compressed += asset.gzip.size();
  EXPECT_LT(compressed, 120'000U);
  EXPECT_GT(compressed, 10'000U);
}

TEST_F(Console, AnyoneIsToldWhatTheirTokenAllowsAndAStrangerNothingElse) {
  Service service({.store = "rocksdb /var/lib/once"});
  const auto answer = [&](const std::string& secret, const std::string& name_space = "") {
    Request request{"GET", "/v1/whoami", {}, ""};
    if (!secret.empty()) request.headers.add("Authorization", "Bearer " + secret);
    if (!name_space.empty()) request.headers.add("Once-Namespace", name_space);
    const auto response = std::get<Response>(service.respond(request));
    EXPECT_EQ(response.status, 200);
    return response.body;
  };
  constexpr std::string_view kStore = R"("store":"rocksdb /var/lib/once"})";
  EXPECT_EQ(answer(""), R"({"open":true,"access":"admin","bound":false,"namespace":"default",)" +
                            std::string(kStore));
  service.tokens().add({tokens::id_of("all"), {}});
  service.tokens().add({tokens::id_of("reader"), {.read_only = true}});
  service.tokens().add({tokens::id_of("bound"), {.name_space = "n"}});
  EXPECT_EQ(answer(""), R"({"open":false,"access":"none"})");
  EXPECT_EQ(answer("wrong"), R"({"open":false,"access":"none"})");
  EXPECT_EQ(answer("bound", "other"),
            R"({"open":false,"access":"write","bound":true,"namespace":"n"})");
  EXPECT_EQ(
      answer("reader", "m"),
      R"({"open":false,"access":"read","bound":false,"namespace":"m",)" + std::string(kStore));
  EXPECT_EQ(answer("all"),
            R"({"open":false,"access":"admin","bound":false,"namespace":"default",)" +
                std::string(kStore));
}

TEST_F(Console, AnOperatorReleasesAClaimWithoutItsTicketAndItsHolderIsFenced) {
  const std::string ticket = field(post("/v1/claims/held", R"({"lease":"10m"})"), "ticket");
  post("/v1/claims/other", R"({"lease":"10m"})");
  const std::string only_held = R"({"key":"held"})";
  EXPECT_EQ(post("/v1/bulk/claims/release", R"({"key":"held","dry_run":true})").body,
            R"({"released":1,"cursor":null})");
  EXPECT_EQ(field(get("/v1/claims/held"), "state"), "busy");
  EXPECT_EQ(post("/v1/bulk/claims/release", only_held).body, R"({"released":1,"cursor":null})");
  EXPECT_EQ(field(get("/v1/claims/held"), "state"), "free");
  EXPECT_EQ(field(get("/v1/claims/held"), "failure"), "released by an operator");
  EXPECT_EQ(field(get("/v1/claims/other"), "state"), "busy");
  expect_problem(post("/v1/claims/held/complete", R"({"ticket":")" + ticket + R"("})"), 412,
                 "fenced");
  EXPECT_EQ(post("/v1/bulk/claims/release", only_held).body, R"({"released":0,"cursor":null})");
  const Response next = post("/v1/claims/held", "{}");
  EXPECT_EQ(field(next, "attempt"), "2");
  expect_problem(post("/v1/claims/held/renew", R"({"ticket":")" + ticket + R"("})"), 412, "fenced");
}

TEST_F(Console, AnAbandonedClaimIsReleasedAndOneWithAnOutcomeIsLeftAlone) {
  post("/v1/claims/lost", R"({"lease":"1s"})");
  const std::string ticket = field(post("/v1/claims/done", "{}"), "ticket");
  post("/v1/claims/done/complete", R"({"ticket":")" + ticket + R"("})");
  clock_.advance(std::chrono::minutes(1));
  EXPECT_EQ(field(get("/v1/claims/lost"), "state"), "abandoned");
  EXPECT_EQ(post("/v1/bulk/claims/release", R"({"state":"abandoned"})").body,
            R"({"released":1,"cursor":null})");
  EXPECT_EQ(field(get("/v1/claims/lost"), "state"), "free");
  EXPECT_EQ(post("/v1/bulk/claims/release", R"({"key":"done"})").body,
            R"({"released":0,"cursor":null})");
  EXPECT_EQ(field(get("/v1/claims/done"), "state"), "done");
  const Response audit = call("GET", "/v1/logs/audit", "", {{"Once-Namespace", "once"}});
  EXPECT_NE(audit.body.find("claim.release"), std::string::npos) << audit.body;
}

}  // namespace
}  // namespace once::api
