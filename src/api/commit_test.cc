#include "api/service_fixture.h"
#include "once/blocking_driver.h"
#include "testing/limited_store.h"
#include "testing/sealing_store.h"

namespace once::api {
namespace {

class ApiCommit : public ServiceFixture {
 protected:
  Response commit(const std::string& body) { return post("/v1/commit", body); }
  std::string ticket(const std::string& key = "c") {
    return field(post("/v1/claims/" + key, "{}"), "ticket");
  }
  // A claim's part, with its comma.
  static std::string claim(const std::string& ticket, const std::string& result = "1") {
    return R"("claim":{"key":"c","ticket":")" + ticket + R"(","result":)" + result + "},";
  }
  static constexpr const char* kRest =
      R"("logs":[{"stream":"s","events":[{"data":{"n":1}},{"data":2}]}],)"
      R"("docs":[{"key":"d","if_none_match":"*","body":{"a": [1, 2]}}],)"
      R"("tallies":[{"key":"t","kind":"sum","add":5},{"key":"u","kind":"count"}])";

  std::string etag_now() {
    const Response found = get("/v1/docs/d");
    return std::string(found.headers.find("ETag").value_or("none"));
  }
  void expect_nothing() {
    EXPECT_EQ(get("/v1/logs/s").body, R"({"events":[],"next":1})");
    EXPECT_EQ(get("/v1/docs/d").status, 404);
    EXPECT_EQ(get("/v1/tallies/t").status, 404);
    EXPECT_EQ(get("/v1/tallies/u").status, 404);
  }
};

TEST_F(ApiCommit, EveryPartHappensAndIsAnswered) {
  const std::string held = ticket();
  const Response made = commit("{" + claim(held, R"({"paid":true})") + kRest + "}");
  EXPECT_EQ(made.status, 200);
  const std::string etag = etag_now().substr(1, 16);
  EXPECT_EQ(made.body,
            R"({"claim":{"state":"done"},"logs":[{"first":1,"last":2}],"docs":[{"etag":")" + etag +
                R"("}],"tallies":[{"kind":"sum","value":5},{"kind":"count","value":1}]})");
  EXPECT_FALSE(is_replayed(made));
  EXPECT_EQ(field(get("/v1/claims/c"), "result"), R"({"paid":true})");
  EXPECT_EQ(field(get("/v1/logs/s"), "next"), "3");
  EXPECT_EQ(get("/v1/docs/d").body, R"({"a":[1,2]})");
  EXPECT_EQ(get("/v1/docs/d").headers.find("Content-Type"), "application/json");
  EXPECT_EQ(get("/v1/tallies/t").body, R"({"kind":"sum","value":5})");
}

TEST_F(ApiCommit, ARepeatByTheTicketThatCompletedIsAReplay) {
  const std::string held = ticket();
  const std::string body = "{" + claim(held) + kRest + "}";
  const Response first = commit(body);
  const Response again = commit(body);
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(field(again, "logs"), field(first, "logs"));
  EXPECT_EQ(field(again, "docs"), field(first, "docs"));
  EXPECT_EQ(field(again, "tallies"), R"([{"kind":"sum"},{"kind":"count"}])");
  EXPECT_EQ(field(get("/v1/logs/s"), "next"), "3");
  const Response other = commit("{" + claim(held, "2") + kRest + "}");
  expect_problem(other, 422, "mismatch");
  EXPECT_EQ(field(other, "part"), "claim");
}

TEST_F(ApiCommit, ARepeatUnderTheSameIdIsAReplay) {
  const std::string body = std::string(R"({"id":"i",)") + kRest + "}";
  EXPECT_EQ(commit(body).status, 200);
  EXPECT_TRUE(is_replayed(commit(body)));
  EXPECT_EQ(get("/v1/tallies/t").body, R"({"kind":"sum","value":5})");
  const Response other = commit(R"({"id":"i","tallies":[{"key":"t","kind":"sum","add":6}]})");
  expect_problem(other, 422, "mismatch");
  EXPECT_EQ(field(other, "part"), "id");
}

TEST_F(ApiCommit, AnIdIsKnownForAsLongAsItsTtlSays) {
  const auto add = [&](const std::string& ttl) {
    return post("/v1/commit",
                R"({"id":"i",)" + ttl + R"("tallies":[{"key":"t","kind":"sum","add":1}]})");
  };
  EXPECT_FALSE(is_replayed(add(R"("id_ttl":"48h",)")));
  clock_.advance(std::chrono::hours(47));
  EXPECT_TRUE(is_replayed(add(R"("id_ttl":"48h",)")));
  clock_.advance(std::chrono::hours(2));
  EXPECT_FALSE(is_replayed(add("")));
  EXPECT_EQ(field(get("/v1/tallies/t"), "value"), "2");
  expect_problem(add(R"("id_ttl":"1s",)"), 400, "invalid");
  expect_problem(post("/v1/commit", R"({"id_ttl":"1h"})"), 400, "invalid");
}

TEST_F(ApiCommit, AnEventHasNoIdOfItsOwn) {
  const Response refused =
      post("/v1/commit", R"({"logs":[{"stream":"s","events":[{"data":1,"id":"e"}]}]})");
  expect_problem(refused, 400, "invalid");
  EXPECT_NE(refused.body.find("logs[0].events[0].id"), std::string::npos) << refused.body;
}

TEST_F(ApiCommit, EveryPartIsOptional) {
  EXPECT_EQ(commit("").body, "{}");
  EXPECT_EQ(commit(R"({"id":"i"})").body, "{}");
  EXPECT_EQ(commit(R"({"logs":[],"docs":[],"tallies":[]})").body, "{}");
  EXPECT_EQ(commit("{" + claim(ticket()) + R"("logs":[]})").body, R"({"claim":{"state":"done"}})");
  EXPECT_EQ(commit(R"({"tallies":[{"key":"b","kind":"bloom","items":["x"]}]})").body,
            R"({"tallies":[{"kind":"bloom","value":true}]})");
}

// As the claim's own complete does it.
TEST_F(ApiCommit, AClaimWithoutAResultIsCompletedWithNull) {
  const std::string held = ticket();
  const std::string body = R"({"claim":{"key":"c","ticket":")" + held + R"("}})";
  EXPECT_EQ(commit(body).status, 200);
  EXPECT_EQ(field(get("/v1/claims/c"), "result"), "null");
  EXPECT_TRUE(is_replayed(post("/v1/claims/c/complete", R"({"ticket":")" + held + R"("})")));
}

TEST_F(ApiCommit, AFencedTicketRefusesItAll) {
  const std::string stale = ticket();
  call("DELETE", "/v1/claims/c");
  ticket();
  const Response refused = commit("{" + claim(stale) + kRest + "}");
  expect_problem(refused, 412, "fenced");
  EXPECT_EQ(field(refused, "part"), "claim");
  expect_nothing();
}

TEST_F(ApiCommit, ADocumentThatIsNotAsWantedRefusesItAllAndTellsItsEtag) {
  const auto put = [&](const std::string& condition, const std::string& id = "") {
    return commit("{" + id + R"("logs":[{"stream":"s","events":[{"data":1}]}],)" +
                  R"("docs":[{"key":"other","if_none_match":"*","body":0},{"key":"d",)" +
                  condition + R"(,"body":1}]})");
  };
  const Response absent = put(R"("if_match":"0123456789abcdef")");
  expect_problem(absent, 412, "precondition_failed");
  EXPECT_EQ(field(absent, "part"), "docs[1]");
  EXPECT_FALSE(absent.headers.find("ETag").has_value());
  expect_nothing();
  call("PUT", "/v1/docs/d", "0", {{"If-None-Match", "*"}});
  for (const char* condition :
       {R"("if_match":"0123456789abcdef")", R"("if_match":"nonsense")", R"("if_none_match":"*")"}) {
    const Response refused = put(condition);
    expect_problem(refused, 412, "precondition_failed");
    EXPECT_EQ(field(refused, "part"), "docs[1]");
    EXPECT_EQ(refused.headers.find("ETag"), etag_now());
  }
  EXPECT_EQ(get("/v1/docs/other").status, 404);
  EXPECT_EQ(field(get("/v1/logs/s"), "next"), "1");
}

TEST_F(ApiCommit, AnEtagMayComeWithOrWithoutItsQuotes) {
  call("PUT", "/v1/docs/d", "0", {{"If-None-Match", "*"}});
  const auto replace = [&](const std::string& etag) {
    return commit(R"({"docs":[{"key":"d","if_match":)" + json_text(etag) + R"(,"body":1}]})");
  };
  EXPECT_EQ(replace(etag_now()).status, 200);
  EXPECT_EQ(replace(etag_now().substr(1, 16)).status, 200);
}

TEST_F(ApiCommit, AnotherKindOfTallyRefusesItAll) {
  post("/v1/tallies/u", R"({"kind":"max","value":1})");
  const Response refused = commit(std::string("{") + kRest + "}");
  expect_problem(refused, 409, "mismatch");
  EXPECT_EQ(field(refused, "part"), "tallies[1]");
  EXPECT_EQ(field(refused, "kind"), "max");
  EXPECT_EQ(get("/v1/docs/d").status, 404);
  EXPECT_EQ(get("/v1/tallies/t").status, 404);
}

TEST_F(ApiCommit, AnIdOfATallyWithAnotherInputRefusesItAll) {
  post("/v1/tallies/t", R"({"kind":"sum","add":1,"id":"i"})");
  const Response refused = commit(R"({"tallies":[{"key":"t","kind":"sum","add":2,"id":"i"}]})");
  expect_problem(refused, 422, "mismatch");
  EXPECT_EQ(field(refused, "part"), "tallies[0]");
}

TEST_F(ApiCommit, OverflowIsRefusedAndNothingHappens) {
  post("/v1/tallies/t", R"({"kind":"sum","add":9223372036854775807})");
  expect_problem(commit(std::string("{") + kRest + "}"), 400, "invalid");
  EXPECT_EQ(get("/v1/docs/d").status, 404);
  EXPECT_EQ(get("/v1/tallies/t").body, R"({"kind":"sum","value":9223372036854775807})");
}

TEST_F(ApiCommit, AStoreThatTakesOneWriteACommitCannotDoIt) {
  testing::LimitedStore limited(*store_, 1);
  BlockingDriver driver(limited, clock_, entropy_);
  const Request request{"POST", "/v1/commit", {}, std::string("{") + kRest + "}"};
  const auto answer = driver.run(std::get<Plan<Response>>(service_.respond(request)));
  ASSERT_FALSE(answer);
  expect_problem(Service::failed(answer.error()), 501, "unsupported");
  expect_nothing();
}

// On a store whose users have transactions of their own.
class ApiPrepare : public ApiCommit {
 protected:
  Response prepare(const std::string& body) {
    const Request request{"POST", "/v1/commit", {}, R"({"prepare":true,)" + body + "}"};
    BlockingDriver driver(sealing_, clock_, entropy_);
    auto answer = driver.run(std::get<Plan<Response>>(service_.respond(request)));
    return answer ? std::move(*answer) : Service::failed(answer.error());
  }

  testing::SealingStore sealing_{*store_};
};

TEST_F(ApiPrepare, ATokenIsAnsweredAndNothingIsWrittenUntilItIsApplied) {
  const std::string held = ticket();
  const Response sealed = prepare(claim(held) + kRest);
  EXPECT_EQ(sealed.status, 200);
  EXPECT_EQ(sealed.body, R"({"apply":"token-0"})");
  EXPECT_FALSE(is_replayed(sealed));
  expect_nothing();
  ASSERT_TRUE(committed(sealing_.apply(field(sealed, "apply")).value()));
  EXPECT_EQ(field(get("/v1/claims/c"), "state"), "done");
  EXPECT_EQ(field(get("/v1/logs/s"), "next"), "3");
  for (const Response& again :
       {commit("{" + claim(held) + kRest + "}"), prepare(claim(held) + kRest)}) {
    EXPECT_EQ(again.status, 200);
    EXPECT_TRUE(is_replayed(again));
    EXPECT_EQ(field(again, "logs"), R"([{"first":1,"last":2}])");
    EXPECT_EQ(field(again, "apply"), "");
  }
  expect_problem(prepare(claim(held, "2") + kRest), 422, "mismatch");
}

TEST_F(ApiPrepare, WhatDoesNotHoldIsToldAtOnce) {
  call("PUT", "/v1/docs/d", "0", {{"If-None-Match", "*"}});
  const Response refused = prepare(kRest);
  expect_problem(refused, 412, "precondition_failed");
  EXPECT_EQ(field(refused, "part"), "docs[0]");
}

TEST_F(ApiCommit, AStoreWhoseUsersHaveNoTransactionsPreparesNothing) {
  expect_problem(commit(std::string(R"({"prepare":true,)") + kRest + "}"), 501, "unsupported");
  expect_problem(commit(R"({"prepare":1})"), 400, "invalid");
  EXPECT_EQ(commit(R"({"prepare":false})").body, "{}");
  expect_nothing();
}

TEST_F(ApiCommit, BadInputIsRefusedAndChangesNothing) {
  const std::string bad[] = {
      "[]",
      R"("claim":1)",
      R"("claim":{})",
      R"("claim":{"key":"c"})",
      R"("claim":{"key":"","ticket":"nonsense"})",
      R"("claim":{"key":"c","ticket":"x","resolt":1})",
      R"("id":"")",
      R"("id":7)",
      R"("idd":"i")",
      R"("logs":{})",
      R"("logs":[1])",
      R"("logs":[{"stream":"s"}])",
      R"("logs":[{"stream":"s","events":[]}])",
      R"("logs":[{"events":[{"data":1}]}])",
      R"("logs":[{"stream":"","events":[{"data":1}]}])",
      R"("logs":[{"stream":"s","events":[{}]}])",
      R"("logs":[{"stream":"s","events":[{"data":1}],"batch":"b"}])",
      R"("docs":[{"key":"d","body":1}])",
      R"("docs":[{"key":"d","if_none_match":"*"}])",
      R"("docs":[{"key":"d","if_none_match":"x","body":1}])",
      R"("docs":[{"key":"d","if_none_match":"*","if_match":"0123456789abcdef","body":1}])",
      R"("docs":[{"if_none_match":"*","body":1}])",
      R"("docs":[{"key":"d","if_none_match":"*","body":1,"type":"x"}])",
      R"("docs":[{"key":"d","if_none_match":"*","body":123456789012345678901234567890}])",
      R"("tallies":[{"kind":"count"}])",
      R"("tallies":[{"key":"t"}])",
      R"("tallies":[{"key":"t","kind":"sum"}])",
      R"("tallies":[{"key":"t","kind":"sum","add":1},{"key":"t","kind":"max","value":1}])",
      "\"docs\":[{\"key\":\"\xff\",\"if_none_match\":\"*\",\"body\":1}]"};
  for (const std::string& part : bad) {
    // Beside parts that could happen.
    const std::string beside =
        R"("tallies":[{"key":"t","kind":"count"}],"logs":[{"stream":"s","events":[{"data":1}]}],)";
    const bool clashes = part.find("\"logs\"") == 0 || part.find("\"tallies\"") == 0;
    expect_problem(commit("{" + (clashes ? "" : beside) + part + "}"), 400, "invalid");
  }
  EXPECT_EQ(field(commit(R"({"docs":[{},{"key":"d","boddy":1}]})"), "detail"),
            "docs[0].key is missing");
  EXPECT_EQ(
      field(commit(R"({"logs":[{"stream":"s","events":[{"data":1},{"date":1}]}]})"), "detail"),
      "logs[0].events[1].data is missing");
  expect_nothing();
}

// Forty tallies of 16 MiB each are declared by few bytes.
TEST_F(ApiCommit, TalliesThatAreTooLargeTogetherAreRefusedBeforeAnyIsMade) {
  std::string many;
  for (int i = 0; i < 40; ++i) {
    many.append(i == 0 ? "" : ",").append(R"({"key":"t)").append(std::to_string(i));
    many.append(R"(","kind":"bloom","capacity":13000000,"items":["a"]})");
  }
  expect_problem(commit(R"({"tallies":[)" + many + "]}"), 413, "too_large");
  EXPECT_EQ(get("/v1/tallies/t0?item=a").status, 404);
}

TEST_F(ApiCommit, EachMergeIntoOneLargeTallyCounts) {
  std::string many;
  for (int i = 0; i < 40; ++i) {
    many.append(i == 0 ? "" : ",").append(R"({"key":"t","kind":"bloom","capacity":13000000,)");
    many.append(R"("items":["a"]})");
  }
  expect_problem(commit(R"({"tallies":[)" + many + "]}"), 413, "too_large");
  EXPECT_EQ(get("/v1/tallies/t?item=a").status, 404);
}

TEST_F(ApiCommit, ADocumentTwiceOrTooManyPartsAreRefused) {
  const std::string doc = R"({"key":"d","if_none_match":"*","body":1})";
  expect_problem(commit(R"({"docs":[)" + doc + "," + doc + "]}"), 400, "invalid");
  std::string many = R"({"tallies":[{"key":"t","kind":"count"})";
  for (int i = 0; i < 1'000; ++i) many += R"(,{"key":"t","kind":"count"})";
  expect_problem(commit(many + "]}"), 400, "invalid");
  expect_nothing();
}

class ApiDocumentParts : public ServiceFixture {
 protected:
  Response commit_docs(const std::string& parts) {
    return post("/v1/commit", R"({"tallies":[{"key":"t","kind":"count"}],"docs":[)" + parts + "]}");
  }
  std::string created(const std::string& name, const std::string& body) {
    const Response made = call("PUT", "/v1/docs/" + name, body, {{"If-None-Match", "*"}});
    return std::string(made.headers.find("ETag").value_or("none"));
  }
};

TEST_F(ApiDocumentParts, ADocumentIsPatchedOrRemovedWithTheRest) {
  created("a", R"({"x":1,"y":2})");
  const std::string etag = created("b", "1");
  const std::string body = R"({"id":"i","docs":[{"key":"a","patch":{"y":null,"z":3}},)"
                           R"({"key":"b","delete":true,"if_match":)" +
                           json_text(etag) + R"(}],"logs":[{"stream":"s","events":[{"data":1}]}]})";
  const Response made = post("/v1/commit", body);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_NE(made.body.find(R"({"etag":null})"), std::string::npos) << made.body;
  EXPECT_EQ(get("/v1/docs/a").body, R"({"x":1,"z":3})");
  EXPECT_NE(made.body.find(std::string(*get("/v1/docs/a").headers.find("ETag")).substr(1, 16)),
            std::string::npos);
  EXPECT_EQ(get("/v1/docs/b").status, 404);
  const Response again = post("/v1/commit", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(field(again, "docs"), field(made, "docs"));
  EXPECT_EQ(field(get("/v1/logs/s"), "next"), "2");
}

TEST_F(ApiDocumentParts, ADocumentIsOverwrittenOnlyIfThatIsSaid) {
  const std::string commit = R"({"id":"i","docs":[{"key":"a","overwrite":true,"body":{"n":1}}]})";
  ASSERT_EQ(post("/v1/commit", commit).status, 200);
  EXPECT_EQ(get("/v1/docs/a").body, R"({"n":1})");
  call("PATCH", "/v1/docs/a", R"({"n":2})", {{"Content-Type", "application/merge-patch+json"}});
  const Response again = post("/v1/commit", commit);
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(get("/v1/docs/a").body, R"({"n":2})");
  ASSERT_EQ(commit_docs(R"({"key":"a","overwrite":true,"body":3})").status, 200);
  EXPECT_EQ(get("/v1/docs/a").body, "3");
  for (const char* const bad :
       {R"("body":1)", R"("body":1,"overwrite":false)", R"("patch":{},"overwrite":true)",
        R"("body":1,"overwrite":true,"if_none_match":"*")"}) {
    expect_problem(commit_docs(R"({"key":"a",)" + std::string(bad) + "}"), 400, "invalid");
  }
}

TEST_F(ApiDocumentParts, APatchInACommitKeepsTheDocumentsTypeAndEnd) {
  call("PUT", "/v1/docs/a", "{}",
       {{"If-None-Match", "*"}, {"Content-Type", "application/x+json"}, {"Once-TTL", "10m"}});
  ASSERT_EQ(commit_docs(R"({"key":"a","patch":{"n":1}})").status, 200);
  const Response patched = get("/v1/docs/a");
  EXPECT_EQ(patched.body, R"({"n":1})");
  EXPECT_EQ(patched.headers.find("Content-Type"), "application/x+json");
  clock_.advance(std::chrono::minutes(11));
  EXPECT_EQ(get("/v1/docs/a").status, 404);
}

TEST_F(ApiDocumentParts, APartThatDoesNotHoldNamesItselfItsKeyAndItsEtagsAndNothingHappens) {
  const std::string etag = created("a", "{}");
  for (const std::string part : {R"({"key":"a","patch":{},"if_match":"0123456789abcdef"})",
                                 R"({"key":"a","delete":true,"if_match":"0123456789abcdef"})",
                                 R"({"key":"a","body":1,"if_match":"0123456789abcdef"})"}) {
    const Response refused = commit_docs(part);
    expect_problem(refused, 412, "precondition_failed");
    EXPECT_EQ(field(refused, "part"), "docs[0]") << part;
    EXPECT_EQ(field(refused, "key"), "a") << part;
    EXPECT_EQ(field(refused, "expected"), "0123456789abcdef") << part;
    EXPECT_EQ(field(refused, "current"), etag.substr(1, 16)) << part;
    EXPECT_EQ(refused.headers.find("ETag"), etag) << part;
  }
  const Response missing = commit_docs(R"({"key":"none","patch":{}})");
  expect_problem(missing, 412, "precondition_failed");
  EXPECT_EQ(field(missing, "part"), "docs[0]");
  EXPECT_EQ(get("/v1/tallies/t").status, 404);
  EXPECT_EQ(get("/v1/docs/a").body, "{}");
}

TEST_F(ApiDocumentParts, APatchThatDoesNotApplyRefusesItAll) {
  created("a", "{}");
  created("text", "not JSON");
  const Response refused =
      commit_docs(R"({"key":"a","patch":{"n":1}},{"key":"text","patch":{"n":1}})");
  expect_problem(refused, 422, "invalid");
  EXPECT_EQ(field(refused, "part"), "docs[1]");
  EXPECT_EQ(get("/v1/docs/a").body, "{}");
  EXPECT_EQ(get("/v1/tallies/t").status, 404);
}

TEST_F(ApiDocumentParts, RemovingWithoutAConditionWhatIsNotThereIsDone) {
  EXPECT_EQ(commit_docs(R"({"key":"none","delete":true})").status, 200);
  created("a", "1");
  EXPECT_EQ(commit_docs(R"({"key":"a","delete":true})").status, 200);
  EXPECT_EQ(get("/v1/docs/a").status, 404);
  EXPECT_EQ(field(get("/v1/tallies/t"), "value"), "2");
}

TEST_F(ApiDocumentParts, APartIsABodyAPatchOrARemoval) {
  created("a", "{}");
  for (const std::string part :
       {R"({"key":"a","patch":{},"body":1})", R"({"key":"a","patch":{},"delete":true})",
        R"({"key":"a","delete":true,"body":1})", R"({"key":"a","delete":true,"if_none_match":"*"})",
        R"({"key":"a","patch":{},"if_none_match":"*"})", R"({"key":"a","delete":false})",
        R"({"key":"a","delete":"yes"})", R"({"key":"a"})"}) {
    expect_problem(commit_docs(part), 400, "invalid");
  }
  EXPECT_EQ(get("/v1/docs/a").body, "{}");
  EXPECT_EQ(get("/v1/tallies/t").status, 404);
}

}  // namespace
}  // namespace once::api
