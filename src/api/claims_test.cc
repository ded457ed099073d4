#include "api/service_fixture.h"
#include "base/encoding.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

using ApiClaims = ServiceFixture;

TEST_F(ApiClaims, AClaimIsTakenOnceThenBusyThenDone) {
  const Response first = post("/v1/claims/a", R"({"owner":"me","lease":"30s"})");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(field(first, "state"), "claimed");
  EXPECT_EQ(field(first, "attempt"), "1");
  const Response second = post("/v1/claims/a", "{}");
  expect_problem(second, 409, "busy");
  EXPECT_EQ(field(second, "owner"), "me");
  EXPECT_EQ(second.headers.find("Retry-After"), "5");
  const std::string done = R"({"ticket":")" + field(first, "ticket") + R"(","result":{"n":1}})";
  EXPECT_EQ(post("/v1/claims/a/complete", done).status, 200);
  EXPECT_TRUE(is_replayed(post("/v1/claims/a/complete", done)));
  const Response third = post("/v1/claims/a", "");
  EXPECT_EQ(third.status, 200);
  EXPECT_TRUE(is_replayed(third));
  EXPECT_EQ(field(third, "state"), "done");
  EXPECT_EQ(field(third, "result"), R"({"n":1})");
}

TEST_F(ApiClaims, AnotherPayloadOrResultIsAMismatch) {
  const Response first = post("/v1/claims/a", R"({"payload":"x"})");
  expect_problem(post("/v1/claims/a", R"({"payload":"y"})"), 422, "mismatch");
  const std::string ticket = field(first, "ticket");
  EXPECT_EQ(post("/v1/claims/a/complete", R"({"ticket":")" + ticket + R"(","result":1})").status,
            200);
  expect_problem(post("/v1/claims/a/complete", R"({"ticket":")" + ticket + R"(","result":2})"), 422,
                 "mismatch");
}

TEST_F(ApiClaims, ATakenOverTicketIsFenced) {
  const std::string ticket = field(post("/v1/claims/a", R"({"lease":"1s"})"), "ticket");
  clock_.advance(2s);
  EXPECT_EQ(post("/v1/claims/a", "{}").status, 201);
  for (const char* verb : {"renew", "complete", "release"}) {
    expect_problem(post(std::string("/v1/claims/a/") + verb, R"({"ticket":")" + ticket + R"("})"),
                   412, "fenced");
  }
}

TEST_F(ApiClaims, H46_ADamagedRecordIsListedAndDeleted) {
  post("/v1/claims/sound", "{}");
  Write write = put(claims::claim_key("default", "bad"), "damaged", absent());
  write.version = {1};
  ASSERT_TRUE(store_->commit({&write, 1}));
  expect_problem(get("/v1/claims/bad"), 500, "corrupt");
  expect_problem(post("/v1/claims/bad", "{}"), 500, "corrupt");
  const Response all = get("/v1/claims");
  EXPECT_EQ(all.status, 200);
  EXPECT_NE(all.body.find(R"({"key":"bad","state":"corrupt"})"), std::string::npos) << all.body;
  EXPECT_NE(all.body.find(R"("key":"sound")"), std::string::npos) << all.body;
  EXPECT_EQ(field(get("/v1/claims?state=corrupt"), "claims"),
            R"([{"key":"bad","state":"corrupt"}])");
  EXPECT_EQ(call("DELETE", "/v1/claims/bad").status, 204);
  EXPECT_EQ(field(get("/v1/claims?state=corrupt"), "claims"), "[]");
  EXPECT_EQ(post("/v1/claims/bad", "{}").status, 201);
}

TEST_F(ApiClaims, AFailureIsShownAndToldToTheNextAttempt) {
  const std::string ticket = field(post("/v1/claims/a", "{}"), "ticket");
  const std::string failed_at = field(post("/v1/seen", R"({"ids":["now"]})"), "at");
  EXPECT_EQ(
      post("/v1/claims/a/release", R"({"ticket":")" + ticket + R"(","failure":{"n":1}})").status,
      200);
  const Response free = get("/v1/claims/a");
  EXPECT_EQ(field(free, "state"), "free");
  EXPECT_EQ(field(free, "failure"), R"({"n":1})");
  EXPECT_EQ(field(free, "attempt"), "1");
  EXPECT_EQ("[\"" + field(free, "failed_at") + "\"]", failed_at);
  const Response next = post("/v1/claims/a", "{}");
  EXPECT_EQ(next.status, 201);
  EXPECT_EQ(field(next, "previous"), R"({"failure":{"n":1},"failed_at":)" +
                                         failed_at.substr(1, failed_at.size() - 2) +
                                         R"(,"attempt":1})");
}

TEST_F(ApiClaims, ABusyAnswerAsksToComeBackWithinFiveSeconds) {
  post("/v1/claims/a", R"({"lease":"1h"})");
  EXPECT_EQ(post("/v1/claims/a", "{}").headers.find("Retry-After"), "5");
  post("/v1/claims/b", R"({"lease":"2s"})");
  EXPECT_EQ(post("/v1/claims/b", "{}").headers.find("Retry-After"), "2");
}

TEST_F(ApiClaims, APayloadIsComparedByItsValue) {
  post("/v1/claims/a", R"({"payload":{"b":[1,2.50],"a":{"x":"y"}}})");
  expect_problem(post("/v1/claims/a", R"({"payload": {"a":{"x":"y"}, "b":[1.0, 2.5]}})"), 409,
                 "busy");
  expect_problem(post("/v1/claims/a", R"({"payload":{"b":[2.5,1],"a":{"x":"y"}}})"), 422,
                 "mismatch");
  expect_problem(post("/v1/claims/a", R"({"payload":"{}"})"), 422, "mismatch");
  post("/v1/claims/t", R"({"payload":"7"})");
  expect_problem(post("/v1/claims/t", R"({"payload":7})"), 422, "mismatch");
  expect_problem(post("/v1/claims/t", R"({"payload":"7"})"), 409, "busy");
}

TEST_F(ApiClaims, SeenIdsAndClaimsAreTwoSpaces) {
  post("/v1/seen", R"({"ids":["a"]})");
  expect_problem(get("/v1/claims/a"), 404, "not_found");
  EXPECT_EQ(field(get("/v1/seen/a"), "id"), "a");
  EXPECT_NE(field(get("/v1/seen/a"), "until"), "");
  EXPECT_EQ(post("/v1/claims/a", "{}").status, 201);
  EXPECT_EQ(call("DELETE", "/v1/seen/a").status, 204);
  expect_problem(call("DELETE", "/v1/seen/a"), 404, "not_found");
  expect_problem(get("/v1/seen/a"), 404, "not_found");
  expect_problem(post("/v1/claims/a", "{}"), 409, "busy");
}

TEST_F(ApiClaims, AbandonedClaimsAreListedAndForgottenInBulk) {
  for (const char* key : {"x/1", "x/2", "x/3", "y"}) {
    post(std::string("/v1/claims/").append(percent_encode(key)), R"({"lease":"1s"})");
  }
  post("/v1/claims/held", R"({"lease":"1h","owner":"me"})");
  clock_.advance(2h);
  post("/v1/claims/held", R"({"lease":"1h","owner":"me"})");
  EXPECT_EQ(field(get("/v1/claims/y"), "state"), "abandoned");
  EXPECT_EQ(get("/v1/claims?state=busy&owner=&prefix=").body.find("abandoned"), std::string::npos);
  EXPECT_NE(get("/v1/claims?owner=me").body.find("held"), std::string::npos);
  const Response one = get("/v1/claims?state=abandoned&older_than=1h&prefix=x/&limit=1");
  EXPECT_EQ(one.body.find("\"key\""), one.body.rfind("\"key\"")) << "one is found";
  EXPECT_NE(field(one, "cursor"), "null");
  const std::string meant = R"("prefix":"x/","state":"abandoned","older_than":"1h")";
  EXPECT_EQ(post("/v1/bulk/claims/forget", "{" + meant + R"(,"dry_run":true})").body,
            R"({"forgotten":3,"cursor":null})");
  const Response first = post("/v1/bulk/claims/forget", "{" + meant + R"(,"limit":2})");
  EXPECT_EQ(field(first, "forgotten"), "2");
  const Response rest = post("/v1/bulk/claims/forget",
                             "{" + meant + R"(,"cursor":")" + field(first, "cursor") + "\"}");
  EXPECT_EQ(rest.body, R"({"forgotten":1,"cursor":null})");
  expect_problem(post("/v1/bulk/claims/forget", R"({"limit":5})"), 400, "invalid");
  expect_problem(post("/v1/bulk/claims/forget", R"({"prefix":"x","all":true})"), 400, "invalid");
}

TEST_F(ApiClaims, ReleasedIsFreeAndFinalIsAnOutcome) {
  std::string ticket = field(post("/v1/claims/a", "{}"), "ticket");
  EXPECT_EQ(post("/v1/claims/a/release", R"({"ticket":")" + ticket + R"("})").status, 200);
  expect_problem(get("/v1/claims/a"), 404, "not_found");
  ticket = field(post("/v1/claims/a", "{}"), "ticket");
  EXPECT_EQ(post("/v1/claims/a/release",
                 R"({"ticket":")" + ticket + R"(","failure":"broken","final":true})")
                .status,
            200);
  EXPECT_EQ(field(get("/v1/claims/a"), "failure"), "broken");
  EXPECT_EQ(field(get("/v1/claims/a"), "state"), "failed");
}

TEST_F(ApiClaims, AForgottenClaimMayBeTakenAnew) {
  const std::string fence = field(post("/v1/claims/a", "{}"), "fence");
  EXPECT_EQ(call("DELETE", "/v1/claims/a").status, 204);
  const Response again = post("/v1/claims/a", "{}");
  EXPECT_EQ(again.status, 201);
  EXPECT_GT(std::stoll(field(again, "fence")), std::stoll(fence));
}

TEST_F(ApiClaims, APathMayHoldAnyKeyPercentEncoded) {
  EXPECT_EQ(post("/v1/claims/a%2Fb%20%C3%A4", "{}").status, 201);
  EXPECT_EQ(field(get("/v1/claims/a%2Fb%20%C3%A4"), "key"), "a/b \xc3\xa4");
  expect_problem(post("/v1/claims/a%2", "{}"), 400, "invalid");
  expect_problem(post("/v1/claims/%ff", "{}"), 400, "invalid");
  expect_problem(post("/v1/claims/%00", "{}"), 400, "invalid");
  expect_problem(post("/v1/claims/", "{}"), 400, "invalid");
}

TEST_F(ApiClaims, ListingIsPagedByState) {
  for (const char* key : {"a", "b", "c"}) post(std::string("/v1/claims/") + key, "{}");
  post("/v1/seen", R"({"ids":["d"]})");
  std::string keys;
  std::string cursor;
  do {
    const Response page = get("/v1/claims?state=busy&limit=2&cursor=" + cursor);
    ASSERT_EQ(page.status, 200) << page.body;
    keys += field(page, "claims");
    cursor = field(page, "cursor");
  } while (cursor != "null");
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_NE(keys.find(R"("key":")" + std::string(key)), std::string::npos);
  }
  EXPECT_EQ(keys.find(R"("key":"d")"), std::string::npos);
  expect_problem(get("/v1/claims?state=sad"), 400, "invalid");
  expect_problem(get("/v1/claims?cursor=!"), 400, "invalid");
}

TEST_F(ApiClaims, SeenTellsEachIdOnceInOrder) {
  const Response first = post("/v1/seen", R"({"ids":["a","b","a"]})");
  EXPECT_EQ(field(first, "first"), "[true,true,false]");
  clock_.advance(1s);
  const Response second = post("/v1/seen", R"({"ids":["b","c"]})");
  EXPECT_EQ(field(second, "first"), "[false,true]");
  EXPECT_EQ(field(first, "at").substr(0, 26), field(second, "at").substr(0, 26));
  EXPECT_NE(field(second, "at").substr(1, 25), field(second, "at").substr(28, 25));
  expect_problem(post("/v1/seen", R"({"ids":[]})"), 400, "invalid");
  expect_problem(post("/v1/seen", R"({"ids":[1]})"), 400, "invalid");
  expect_problem(post("/v1/seen", "{}"), 400, "invalid");
}

TEST_F(ApiClaims, WhatIsNoTicketIsFenced) {
  post("/v1/claims/a", "{}");
  for (const char* verb : {"renew", "complete", "release"}) {
    expect_problem(post(std::string("/v1/claims/a/") + verb, R"({"ticket":"made up"})"), 412,
                   "fenced");
  }
  expect_problem(post("/v1/commit", R"({"claim":{"key":"a","ticket":"made up","result":1}})"), 412,
                 "fenced");
  EXPECT_EQ(field(get("/v1/claims/a"), "state"), "busy");
}

TEST_F(ApiClaims, ARepeatOfARequestIsMarkedAsOne) {
  const std::string claim = R"({"request":"r"})";
  EXPECT_FALSE(is_replayed(post("/v1/claims/a", claim)));
  EXPECT_TRUE(is_replayed(post("/v1/claims/a", claim)));
  const std::string seen = R"({"ids":["x","y"],"request":"r"})";
  EXPECT_FALSE(is_replayed(post("/v1/seen", seen)));
  const Response again = post("/v1/seen", seen);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(field(again, "first"), "[true,true]");
}

TEST_F(ApiClaims, AnEmptyParameterIsAsIfItWereNotThere) {
  EXPECT_EQ(get("/v1/claims?state=busy&limit=&cursor=").status, 200);
  post("/v1/tallies/t", R"({"kind":"count"})");
  EXPECT_EQ(get("/v1/tallies/t?from=&to=").status, 200);
}

TEST_F(ApiClaims, ATargetMayBeWrittenOutWhole) {
  EXPECT_EQ(post("http://host:7600/v1/claims/a", "{}").status, 201);
  EXPECT_EQ(get("HTTP://host/v1/claims/a").status, 200);
  EXPECT_EQ(get("http://host").status, 200);
  expect_problem(get("http://host/v2"), 404, "not_found");
}

TEST_F(ApiClaims, UnknownFieldsAndParametersAreRefused) {
  expect_problem(post("/v1/claims/a", R"({"leese":"30s"})"), 400, "invalid");
  expect_problem(post("/v1/claims/a?x=1", "{}"), 400, "invalid");
  expect_problem(get("/v1/claims/a"), 404, "not_found");
}

TEST_F(ApiClaims, BadJsonIsRefusedInPlainWords) {
  const auto detail = [&](std::string body) {
    const Response response = post("/v1/claims/a", std::move(body));
    expect_problem(response, 400, "invalid");
    return field(response, "detail");
  };
  EXPECT_EQ(detail("{"), "the JSON is not JSON");
  EXPECT_EQ(detail("[]"), "the body is not a JSON object");
  EXPECT_EQ(detail(R"({"owner":1})"), "owner is not a string");
  EXPECT_EQ(detail(R"({"owner":"a","owner":"b"})"), "owner is there twice");
  EXPECT_EQ(detail("{\"owner\":\"\xff\"}"), "the JSON is not UTF-8");
  EXPECT_EQ(detail(R"({"owner":123456789012345678901234567890})"),
            "the JSON is a number that is none, or beyond 64 bits");
  EXPECT_EQ(detail(std::string(200, '[') + std::string(200, ']')),
            "the JSON is nested deeper than 100");
  EXPECT_EQ(detail(R"({"lease":"soon"})"),
            "lease is not a duration such as 250ms, 30s, 5m, 24h or 7d");
}

TEST_F(ApiClaims, NothingIsTriedForLongerThanAnAttemptLivesButWhatIsWaitedFor) {
  const auto waits = [&](const char* target, std::string body) {
    return service_.respond({"POST", target, {}, std::move(body)}).waits;
  };
  EXPECT_EQ(waits("/v1/claims/a", "{}"), Duration::zero());
  EXPECT_EQ(waits("/v1/claims/a", R"({"wait":"5s"})"), std::chrono::seconds(5));
  EXPECT_EQ(waits("/v1/claims/a", R"({"wait":"1d"})"), kMaxWait);
  EXPECT_EQ(waits("/v1/seen", R"({"ids":["a"]})"), Duration::zero());
  EXPECT_EQ(waits("/v1/logs/s", R"({"events":[{"data":1}]})"), Duration::zero());
}

TEST_F(ApiClaims, PathsMethodsAndNamespaces) {
  expect_problem(get("/v1/nothing"), 404, "not_found");
  const Response wrong = call("PUT", "/v1/claims/a");
  expect_problem(wrong, 405, "invalid");
  EXPECT_EQ(wrong.headers.find("Allow"), "POST, GET, HEAD, DELETE, OPTIONS");
  EXPECT_EQ(call("OPTIONS", "/v1/claims/a").status, 204);
  EXPECT_EQ(get("/healthz").status, 200);
  const std::vector<Headers::Field> other = {{"once-namespace", "other"}};
  EXPECT_EQ(call("POST", "/v1/claims/a", "{}", other).status, 201);
  expect_problem(get("/v1/claims/a"), 404, "not_found");
  EXPECT_EQ(call("GET", "/v1/claims/a", "", other).status, 200);
  expect_problem(call("GET", "/v1/claims/a", "", {{"Once-Namespace", "a/b"}}), 400, "invalid");
}

class DefaultTtl : public ServiceFixture {
 protected:
  DefaultTtl() : ServiceFixture({.default_ttl = std::chrono::hours(1)}) {}

  int status_after(const std::string& body, Duration later) {
    const std::string path = "/v1/claims/" + std::to_string(++claims_);
    const Response claimed = post(path, body);
    post(path + "/complete", R"({"ticket":")" + field(claimed, "ticket") + R"("})");
    clock_.advance(later);
    return post(path, body).status;
  }

  int claims_ = 0;
};

TEST_F(DefaultTtl, IsForRequestsThatNameNone) {
  constexpr Duration kMinute = std::chrono::minutes(1);
  EXPECT_EQ(status_after("{}", 50 * kMinute), 200);
  EXPECT_EQ(status_after("{}", 70 * kMinute), 201);
  EXPECT_EQ(status_after(R"({"ttl":"24h"})", 70 * kMinute), 200);
  EXPECT_EQ(post("/v1/seen", R"({"ids":["a"]})").status, 200);
  EXPECT_EQ(post("/v1/seen", R"({"ids":["b"],"ttl":"24h"})").status, 200);
  clock_.advance(70 * kMinute);
  EXPECT_EQ(field(post("/v1/seen", R"({"ids":["a","b"]})"), "first"), "[true,false]");
}

}  // namespace
}  // namespace once::api
