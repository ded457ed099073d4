#include "api/service_fixture.h"
#include "once/blocking_driver.h"
#include "once/documents.h"
#include "stores/decorators/decorator.h"

namespace once::api {
namespace {

using HeaderList = std::vector<Headers::Field>;

class ApiPatches : public ServiceFixture {
 protected:
  std::string create(std::string body, std::string type = "application/json") {
    const Response made = call("PUT", "/v1/docs/d", std::move(body),
                               {{"If-None-Match", "*"}, {"Content-Type", std::move(type)}});
    return etag(made);
  }
  Response merge(std::string body, HeaderList headers = {}) {
    headers.push_back({"Content-Type", "application/merge-patch+json"});
    return call("PATCH", "/v1/docs/d", std::move(body), std::move(headers));
  }
  Response patch(std::string body, HeaderList headers = {}) {
    headers.push_back({"Content-Type", "application/json-patch+json; charset=utf-8"});
    return call("PATCH", "/v1/docs/d", std::move(body), std::move(headers));
  }
  static std::string etag(const Response& response) {
    return std::string(response.headers.find("ETag").value_or("none"));
  }
  std::string body_now() { return get("/v1/docs/d").body; }
};

TEST_F(ApiPatches, BothKindsAnswerTheNewDocument) {
  const std::string first = create(R"({"a":1})", "application/vnd.x+json");
  const Response merged = merge(R"({"b":[2],"a":null})");
  EXPECT_EQ(merged.status, 200);
  EXPECT_EQ(merged.body, R"({"b":[2]})");
  EXPECT_EQ(merged.headers.find("Content-Type"), "application/vnd.x+json");
  EXPECT_NE(etag(merged), first);
  const Response patched = patch(R"([{"op":"add","path":"/b/-","value":3}])");
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(patched.body, R"({"b":[2,3]})");
  EXPECT_EQ(etag(patched), etag(get("/v1/docs/d")));
  EXPECT_EQ(body_now(), patched.body);
}

TEST_F(ApiPatches, WhatDoesNotApplyChangesNothing) {
  const std::string first = create(R"({"a":1})");
  const std::string test = R"([{"op":"test","path":"/a","value":2}])";
  expect_problem(patch(test), 422, "invalid");
  expect_problem(patch(test, {{"If-Match", first}}), 422, "invalid");
  expect_problem(patch(test, {{"Idempotency-Key", "k"}}), 422, "invalid");
  EXPECT_EQ(patch(R"([{"op":"test","path":"/a","value":1}])", {{"Idempotency-Key", "k"}}).status,
            200);
}

TEST_F(ApiPatches, ADocumentThatIsNotJsonCannotBePatched) {
  create("plain text", "application/json");
  expect_problem(merge("{}"), 422, "invalid");
  EXPECT_EQ(body_now(), "plain text");
}

TEST_F(ApiPatches, WhatIsNotThereIsNotFound) {
  expect_problem(merge("{}"), 404, "not_found");
  expect_problem(merge("{}", {{"If-Match", "\"0123456789abcdef\""}}), 404, "not_found");
}

TEST_F(ApiPatches, OnlyTheEtagThatStandsIsPatchedIfOneIsGiven) {
  const std::string first = create("{}");
  const Response made = merge(R"({"a":1})", {{"If-Match", first}});
  EXPECT_EQ(made.status, 200);
  for (const std::string& stale : {first, std::string("\"x\"")}) {
    const Response refused = merge(R"({"a":2})", {{"If-Match", stale}});
    expect_problem(refused, 412, "precondition_failed");
    EXPECT_EQ(etag(refused), etag(made));
  }
  EXPECT_EQ(body_now(), R"({"a":1})");
}

TEST_F(ApiPatches, ARepeatIsAnsweredWithWhatStandsThereNow) {
  const std::string first = create(R"({"n":[]})");
  const std::string append = R"([{"op":"add","path":"/n/-","value":1}])";
  for (const HeaderList& headers :
       {HeaderList{{"Idempotency-Key", "k"}},
        HeaderList{{"Idempotency-Key", "\"k\""}, {"If-Match", first}}}) {
    patch(append, headers);
  }
  merge(R"({"other":true})");
  const Response again = patch(append, {{"Idempotency-Key", "k"}});
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(again.body, R"({"n":[1],"other":true})");
  EXPECT_EQ(etag(again), etag(get("/v1/docs/d")));
  expect_problem(patch("[]", {{"Idempotency-Key", "k"}}), 422, "mismatch");
  expect_problem(patch("[]", {{"Idempotency-Key", "k"}, {"If-Match", first}}), 422, "mismatch");
  expect_problem(merge(append, {{"Idempotency-Key", "k"}}), 422, "mismatch");
}

TEST_F(ApiPatches, ARepeatIsKnownThoughTheDocumentIsGone) {
  create("{}");
  const Response made = merge(R"({"a":1})", {{"Idempotency-Key", "k"}});
  call("DELETE", "/v1/docs/d", "", {{"If-Match", etag(made)}});
  for (const HeaderList& headers :
       {HeaderList{{"Idempotency-Key", "k"}},
        HeaderList{{"Idempotency-Key", "k"}, {"If-Match", etag(made)}}}) {
    const Response again = merge(R"({"a":1})", headers);
    EXPECT_EQ(again.status, 200);
    EXPECT_TRUE(is_replayed(again));
    EXPECT_EQ(again.body, "");
  }
}

TEST_F(ApiPatches, OtherContentTypesAreNotPatches) {
  create("{}");
  for (const char* type : {"application/json", "text/plain", "", "application/merge-patch"}) {
    const Response refused = call("PATCH", "/v1/docs/d", "{}", {{"Content-Type", type}});
    expect_problem(refused, 415, "invalid");
    EXPECT_TRUE(refused.headers.find("Accept-Patch").has_value());
  }
  expect_problem(call("PATCH", "/v1/docs/d", "{}"), 415, "invalid");
}

TEST_F(ApiPatches, BadPatchesAreRefusedAndChangeNothing) {
  const std::string first = create(R"({"a":1})");
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  for (const std::string& bad : {std::string(), std::string("{"), std::string("\"\xff\""), deep,
                                 std::string(R"({"a":123456789012345678901234567890})")}) {
    expect_problem(merge(bad), 400, "invalid");
    expect_problem(patch(bad), 400, "invalid");
  }
  expect_problem(patch("{}"), 400, "invalid");
  expect_problem(patch(R"([{"op":"add"}])"), 400, "invalid");
  expect_problem(merge("{}", {{"If-Match", "*"}}), 400, "invalid");
  expect_problem(merge("{}", {{"If-Match", first}, {"If-Match", first}}), 400, "invalid");
  expect_problem(merge("{}", {{"If-None-Match", "*"}}), 400, "invalid");
  expect_problem(merge("{}", {{"Idempotency-Key", ""}}), 400, "invalid");
  std::string many = "[";
  for (int i = 0; i < 10'001; ++i) many += R"({"op":"remove","path":"/a"},)";
  many.back() = ']';
  expect_problem(patch(many), 413, "too_large");
  EXPECT_EQ(etag(get("/v1/docs/d")), first);
}

// Lets a rival change the document before each commit of ours.
class RivalStore final : public Decorator<Store> {
 public:
  using Decorator::Decorator;
  std::function<void()> rival;

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    rival();
    return inner_.commit(transaction);
  }
};

TEST_F(ApiPatches, ADocumentThatOthersAlwaysChangeFirstIsContended) {
  create(R"({"n":0})");
  RivalStore raced(*store_);
  raced.rival = [&] { merge(R"({"rival":1})"); };
  BlockingDriver driver(raced, clock_, entropy_);
  Request request{"PATCH", "/v1/docs/d", {}, R"({"n":1})"};
  request.headers.add("Content-Type", "application/merge-patch+json");
  auto answer = driver.run(std::get<Plan<Response>>(service_.respond(request)), kRequestPatience);
  ASSERT_TRUE(answer);
  expect_problem(*answer, 409, "contended");
  EXPECT_TRUE(answer->headers.find("Retry-After").has_value());
  EXPECT_EQ(field(*answer, "key"), "d");
  EXPECT_EQ(body_now(), R"({"n":0,"rival":1})");
  EXPECT_NE(field(*answer, "attempts"), "4");
  request.headers.add("Once-Retry", "fixed");
  answer = driver.run(std::get<Plan<Response>>(service_.respond(request)), kRequestPatience);
  ASSERT_TRUE(answer);
  expect_problem(*answer, 409, "contended");
  EXPECT_EQ(field(*answer, "attempts"), "4");
}

}  // namespace
}  // namespace once::api
