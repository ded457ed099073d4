// Who is let in, and that it stays so.
#include "api/tokens.h"

#include "api/call.h"
#include "api/follow.h"
#include "api/service_fixture.h"
#include "primitives/keys.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

class TokensApi : public ServiceFixture {
 protected:
  Response as(const std::string& secret, std::string method, std::string target,
              std::string body = "") {
    return call(std::move(method), std::move(target), std::move(body),
                {{"Authorization", "Bearer " + secret}});
  }
  Response make(std::string body = "{}") { return post("/v1/tokens", std::move(body)); }

  // As a server does every two seconds.
  void refresh() { service_.tokens().replace(listing(), clock_.now()); }
  tokens::Listing listing() { return driver_.run(tokens::list()).value(); }

  void write_damaged(const std::string& id) {
    Write write = put(keys::token(id), "not a record", anything());
    write.version = Version{7};
    ASSERT_TRUE(committed(store_->commit({&write, 1}).value()));
  }
};

TEST_F(TokensApi, AnEmptyNamespaceMakesNoTokenForAll) {
  expect_problem(make(R"({"namespace":""})"), 400, "invalid");
  EXPECT_EQ(get("/v1/tokens").body, R"({"tokens":[]})");
  EXPECT_EQ(make(R"({"namespace":"n"})").status, 201);
}

TEST_F(TokensApi, AStoreThatHadATokenStaysClosedWhenTheLastIsRevoked) {
  const Response made = make();
  const std::string secret = field(made, "token");
  EXPECT_EQ(as(secret, "DELETE", "/v1/tokens/" + field(made, "id")).status, 204);
  expect_problem(post("/v1/claims/a", "{}"), 401, "unauthorized");
  expect_problem(as(secret, "POST", "/v1/claims/a", "{}"), 401, "unauthorized");
  refresh();
  expect_problem(post("/v1/claims/a", "{}"), 401, "unauthorized");
  // So does a server that is started later,
  EXPECT_TRUE(listing().tokens.empty());
  EXPECT_TRUE(listing().is_closed());
  Service next;
  next.tokens().replace(listing(), clock_.now());
  EXPECT_FALSE(next.is_open());
}

TEST_F(TokensApi, AStoreThatWasEmptiedBehindAServerDoesNotOpenIt) {
  const Response made = make();
  refresh();
  service_.tokens().replace({}, clock_.now());
  expect_problem(post("/v1/claims/a", "{}"), 401, "unauthorized");
  expect_problem(as(field(made, "token"), "POST", "/v1/claims/a", "{}"), 401, "unauthorized");
}

// A token's writer may have died before it wrote the mark, or be an older version.
TEST_F(TokensApi, TheMarkIsThereBeforeTheLastTokenIsGone) {
  const std::string id = tokens::id_of("secret");
  Write write = put(keys::token(id), tokens::encode({}), anything());
  write.version = Version{7};
  ASSERT_TRUE(committed(store_->commit({&write, 1}).value()));
  EXPECT_FALSE(listing().has_mark);
  EXPECT_TRUE(driver_.run(tokens::revoke(id)).value());
  EXPECT_TRUE(listing().has_mark);
}

TEST_F(TokensApi, TheMarkOfAClosedStoreIsNoTokenAndCannotBeRevoked) {
  const std::string secret = field(make(), "token");
  expect_problem(as(secret, "DELETE", "/v1/tokens/closed"), 404, "not_found");
  EXPECT_TRUE(listing().has_mark);
  EXPECT_EQ(listing().tokens.size(), 1U);
  EXPECT_EQ(as(secret, "GET", "/v1/tokens").body.find("closed"), std::string::npos);
}

TEST_F(TokensApi, ADamagedRecordHidesNoOtherAndCanBeRevoked) {
  const std::string secret = field(make(), "token");
  write_damaged("bad");
  const Response listed = as(secret, "GET", "/v1/tokens");
  EXPECT_EQ(listed.status, 200);
  EXPECT_EQ(field(listed, "damaged"), R"(["bad"])");
  refresh();
  EXPECT_EQ(as(secret, "GET", "/v1/claims").status, 200);
  EXPECT_EQ(as(secret, "DELETE", "/v1/tokens/bad").status, 204);
  EXPECT_EQ(field(as(secret, "GET", "/v1/tokens"), "damaged"), "");
}

TEST_F(TokensApi, AStoreWhoseOnlyTokenIsDamagedIsClosed) {
  write_damaged("bad");
  refresh();
  expect_problem(post("/v1/claims/a", "{}"), 401, "unauthorized");
}

TEST_F(TokensApi, ATokenLetsNobodyInOnceItHasExpired) {
  const Response made = make(R"({"expires":"90d"})");
  const std::string secret = field(made, "token");
  EXPECT_NE(field(made, "expires_at"), "");
  EXPECT_EQ(
      field(as(secret, "GET", "/v1/tokens"), "tokens").find("expires_at") == std::string::npos,
      false);
  clock_.advance(std::chrono::days(90) - 1ms);
  EXPECT_EQ(as(secret, "GET", "/v1/claims").status, 200);
  clock_.advance(1ms);  // The server has not looked at the store again.
  expect_problem(as(secret, "GET", "/v1/claims"), 401, "unauthorized");
  EXPECT_TRUE(listing().tokens.empty());
  EXPECT_TRUE(listing().is_closed());
}

TEST_F(TokensApi, AnExpiryIsADurationOfUpToTenYears) {
  for (const char* body : {R"({"expires":"0s"})", R"({"expires":"-1s"})", R"({"expires":"3651d"})",
                           R"({"expires":"soon"})"}) {
    expect_problem(make(body), 400, "invalid");
  }
  EXPECT_FALSE(listing().is_closed());
}

TEST_F(TokensApi, TokensThatWereNotReadForTooLongLetNobodyInUntilTheyAre) {
  const std::string secret = field(make(), "token");
  refresh();
  clock_.advance(59s);
  EXPECT_EQ(as(secret, "GET", "/v1/claims").status, 200);
  clock_.advance(1s);
  const Response refused = as(secret, "GET", "/v1/claims");
  expect_problem(refused, 503, "unavailable");
  EXPECT_TRUE(refused.headers.find("Retry-After").has_value());
  expect_problem(as("wrong", "GET", "/v1/claims"), 503, "unavailable");
  expect_problem(get("/v1/claims"), 401, "unauthorized");
  EXPECT_EQ(get("/healthz").status, 200);
  refresh();
  EXPECT_EQ(as(secret, "GET", "/v1/claims").status, 200);
}

TEST_F(TokensApi, AServerThatNeverHadATokenIsOpenHoweverLongAgoItLooked) {
  refresh();
  clock_.advance(std::chrono::days(1));
  EXPECT_EQ(get("/v1/claims").status, 200);
}

TEST_F(TokensApi, OnlyAFollowerTakesATokenFromItsQueryAndOnlyAReadOnlyOne) {
  const std::string all = field(make(), "token");
  const std::string reads = field(as(all, "POST", "/v1/tokens", R"({"read_only":true})"), "token");
  const auto follow = [&](const std::string& secret) {
    const Request request{"GET", "/v1/logs/s?follow=true&access_token=" + secret, {}, ""};
    const auto resolved = resolve(service_, request);
    if (!resolved) return resolved.error().status;
    Call call = resolved->call;
    return following_of(call).has_value() ? 200 : 400;
  };
  EXPECT_EQ(follow(reads), 200);
  EXPECT_EQ(follow(all), 403);
  EXPECT_EQ(follow("wrong"), 401);
  expect_problem(get("/v1/logs/s?access_token=" + reads), 401, "unauthorized");
  expect_problem(get("/v1/claims?access_token=" + reads), 401, "unauthorized");
}

}  // namespace
}  // namespace once::api
