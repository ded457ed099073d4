#include "once/documents.h"

#include <set>

#include "api/service_fixture.h"

namespace once::api {
namespace {

using HeaderList = std::vector<Headers::Field>;

class ApiDocuments : public ServiceFixture {
 protected:
  Response put(std::string body, HeaderList headers) {
    return call("PUT", "/v1/docs/d", std::move(body), std::move(headers));
  }
  Response create(std::string body, std::string type = "application/json") {
    return put(std::move(body), {{"If-None-Match", "*"}, {"Content-Type", std::move(type)}});
  }
  Response read(HeaderList headers = {}) { return call("GET", "/v1/docs/d", "", headers); }
  Response remove(HeaderList headers) { return call("DELETE", "/v1/docs/d", "", headers); }
  static std::string etag(const Response& response) {
    return std::string(response.headers.find("ETag").value_or("none"));
  }
};

TEST_F(ApiDocuments, AnyContentIsStoredAndReturnedAsItCame) {
  const std::string bytes("\0\xff{ \"a\" :1}\r\n", 13);
  for (const std::string type : {"application/json", "text/plain; charset=\"x\"", "image/png"}) {
    const std::string path = "/v1/docs/" + std::to_string(type.size());
    const Response made =
        call("PUT", path, bytes, {{"If-None-Match", "*"}, {"Content-Type", type}});
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.body, "");
    const Response found = get(path);
    EXPECT_EQ(found.status, 200);
    EXPECT_EQ(found.body, bytes);
    EXPECT_EQ(found.headers.find("Content-Type"), type);
    EXPECT_EQ(etag(found), etag(made));
    EXPECT_EQ(etag(found).size(), 18U);
    EXPECT_TRUE(etag(found).starts_with('"') && etag(found).ends_with('"'));
  }
  EXPECT_EQ(call("PUT", "/v1/docs/e", "", {{"If-None-Match", "*"}}).status, 201);
  EXPECT_EQ(get("/v1/docs/e").headers.find("Content-Type"), "application/octet-stream");
  EXPECT_EQ(get("/v1/docs/e").body, "");
}

TEST_F(ApiDocuments, AReaderThatKnowsTheEtagIsToldSo) {
  expect_problem(read(), 404, "not_found");
  expect_problem(read({{"If-None-Match", "*"}}), 404, "not_found");
  const std::string known = etag(create("{}"));
  for (const std::string& list : {known, std::string("*"), "W/" + known, "\"x\", " + known,
                                  known + " ,W/\"y\"", "  " + known + "  "}) {
    const Response same = read({{"If-None-Match", list}});
    EXPECT_EQ(same.status, 304) << list;
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(etag(same), known);
  }
  EXPECT_EQ(read({{"If-None-Match", "\"x\""}}).status, 200);
  EXPECT_EQ(read({{"If-None-Match", "\"x\", W/\"y\""}}).status, 200);
  for (const char* bad : {"", "x", "\"x", "\"x\" \"y\"", "*, \"x\"", ","}) {
    expect_problem(read({{"If-None-Match", bad}}), 400, "invalid");
  }
}

TEST_F(ApiDocuments, NothingIsOverwrittenUnseen) {
  expect_problem(put("x", {}), 428, "precondition_required");
  const std::string first = etag(create("one"));
  const Response again = create("two");
  expect_problem(again, 412, "precondition_failed");
  EXPECT_EQ(etag(again), first);
  const Response second = put("two", {{"If-Match", first}});
  EXPECT_EQ(second.status, 200);
  EXPECT_NE(etag(second), first);
  const Response stale = put("three", {{"If-Match", first}});
  expect_problem(stale, 412, "precondition_failed");
  EXPECT_EQ(etag(stale), etag(second));
  for (const char* other : {"\"x\"", "W/\"0123456789abcdef\"", "\"\""}) {
    expect_problem(put("three", {{"If-Match", other}}), 412, "precondition_failed");
  }
  expect_problem(put("three", {{"If-Match", "W/" + etag(second)}}), 412, "precondition_failed");
  EXPECT_EQ(read().body, "two");
  EXPECT_EQ(put("3", {{"If-Match", etag(second).substr(1, 16)}}).status, 200);
}

TEST_F(ApiDocuments, WhatIsAbsentMatchesNothing) {
  const Response refused = put("x", {{"If-Match", "\"0123456789abcdef\""}});
  expect_problem(refused, 412, "precondition_failed");
  EXPECT_EQ(etag(refused), "none");
  expect_problem(remove({{"If-Match", "\"0123456789abcdef\""}}), 412, "precondition_failed");
}

TEST_F(ApiDocuments, BadConditionsAreRefusedAndChangeNothing) {
  const std::string known = etag(create("one"));
  const HeaderList bad[] = {{{"If-Match", "*"}},
                            {{"If-Match", "x"}},
                            {{"If-Match", ""}},
                            {{"If-Match", known + "," + known}},
                            {{"If-Match", known}, {"If-Match", known}},
                            {{"If-Match", known}, {"If-None-Match", "*"}},
                            {{"If-None-Match", known}},
                            {{"If-None-Match", "*"}, {"if-none-match", "*"}}};
  for (const HeaderList& headers : bad) expect_problem(put("two", headers), 400, "invalid");
  expect_problem(remove({{"If-Match", "*"}}), 400, "invalid");
  expect_problem(put("two", {{"If-Match", known}, {"Content-Type", std::string(257, 't')}}), 400,
                 "invalid");
  expect_problem(put("two", {{"If-Match", known}, {"Content-Type", "a\nb"}}), 400, "invalid");
  expect_problem(put("two", {{"If-Match", known}, {"Content-Type", ""}}), 400, "invalid");
  expect_problem(put("two", {{"If-Match", known}, {"Content-Type", "a"}, {"Content-Type", "b"}}),
                 400, "invalid");
  expect_problem(call("PUT", "/v1/docs/d?x=1", "two", {{"If-Match", known}}), 400, "invalid");
  expect_problem(call("PUT", "/v1/docs/%ff", "two", {{"If-None-Match", "*"}}), 400, "invalid");
  EXPECT_EQ(read().body, "one");
  EXPECT_EQ(etag(read()), known);
}

TEST_F(ApiDocuments, ARemovalNamesWhatItRemoves) {
  const std::string first = etag(create("one"));
  expect_problem(remove({}), 428, "precondition_required");
  const Response wrong = remove({{"If-Match", "\"0123456789abcdef\""}});
  expect_problem(wrong, 412, "precondition_failed");
  EXPECT_EQ(etag(wrong), first);
  const Response removed = remove({{"If-Match", first}});
  EXPECT_EQ(removed.status, 204);
  EXPECT_EQ(removed.body, "");
  expect_problem(read(), 404, "not_found");
  EXPECT_EQ(create("two").status, 201);
}

TEST_F(ApiDocuments, ADocumentBeyondTheStoresLimitIsTooLarge) {
  expect_problem(create(std::string(store_->limits().value_bytes, 'x')), 413, "too_large");
  expect_problem(read(), 404, "not_found");
}

TEST_F(ApiDocuments, ARepeatedPutIsAnsweredAsDone) {
  const HeaderList headers = {{"If-None-Match", "*"}, {"Idempotency-Key", "k"}};
  const Response first = put("one", headers);
  EXPECT_FALSE(is_replayed(first));
  const Response again = put("one", headers);
  EXPECT_EQ(again.status, 201);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(etag(again), etag(first));
  expect_problem(put("two", headers), 422, "mismatch");
  const HeaderList quoted = {{"If-None-Match", "*"}, {"Idempotency-Key", "\"k\""}};
  EXPECT_TRUE(is_replayed(put("one", quoted)));
  const HeaderList next = {{"If-Match", etag(first)}, {"Idempotency-Key", "l"}};
  EXPECT_EQ(put("two", next).status, 200);
  const Response repeated = put("two", next);
  EXPECT_EQ(repeated.status, 200);
  EXPECT_TRUE(is_replayed(repeated));
  expect_problem(put("three", next), 422, "mismatch");
  EXPECT_EQ(read().body, "two");
}

TEST_F(ApiDocuments, ARepeatedRemovalIsAnsweredAsDone) {
  const std::string first = etag(create("one"));
  const HeaderList headers = {{"If-Match", first}, {"Idempotency-Key", "k"}};
  EXPECT_EQ(remove(headers).status, 204);
  const Response again = remove(headers);
  EXPECT_EQ(again.status, 204);
  EXPECT_TRUE(is_replayed(again));
  expect_problem(put("one", {{"If-None-Match", "*"}, {"Idempotency-Key", "k"}}), 422, "mismatch");
}

TEST_F(ApiDocuments, AnIdempotencyKeyHasUpTo255Characters) {
  const auto put_under = [&](std::string key) {
    return put("one", {{"If-None-Match", "*"}, {"Idempotency-Key", std::move(key)}});
  };
  for (const std::string& bad : {std::string(), std::string("\"\""), std::string(256, 'k'),
                                 std::string("a\nb"), std::string("\xff")}) {
    expect_problem(put_under(bad), 400, "invalid");
  }
  expect_problem(
      put("one", {{"If-None-Match", "*"}, {"Idempotency-Key", "a"}, {"Idempotency-Key", "a"}}), 400,
      "invalid");
  expect_problem(read(), 404, "not_found");
  EXPECT_EQ(put_under(std::string(255, 'k')).status, 201);
}

TEST_F(ApiDocuments, ARefusalNamesWhatWasExpectedAndWhatThereIs) {
  const std::string stands = etag(create("1"));
  const std::string bare = stands.substr(1, stands.size() - 2);
  const Response taken = create("2");
  expect_problem(taken, 412, "precondition_failed");
  EXPECT_EQ(field(taken, "key"), "d");
  EXPECT_EQ(field(taken, "expected"), "null");
  EXPECT_EQ(field(taken, "current"), bare);
  for (const std::string method : {"PUT", "DELETE", "PATCH"}) {
    const Response stale = call(
        method, "/v1/docs/d", "{}",
        {{"If-Match", "\"0123456789abcdef\""}, {"Content-Type", "application/merge-patch+json"}});
    expect_problem(stale, 412, "precondition_failed");
    EXPECT_EQ(field(stale, "key"), "d") << method;
    EXPECT_EQ(field(stale, "expected"), "0123456789abcdef") << method;
    EXPECT_EQ(field(stale, "current"), bare) << method;
  }
  const Response none = call("PUT", "/v1/docs/other", "1", {{"If-Match", stands}});
  EXPECT_EQ(field(none, "expected"), bare);
  EXPECT_EQ(field(none, "current"), "null");
}

TEST_F(ApiDocuments, ADocumentEndsWithItsTtl) {
  const HeaderList create_for = {{"If-None-Match", "*"}, {"Once-TTL", "10s"}};
  const std::string first = etag(put("1", create_for));
  clock_.advance(std::chrono::seconds(9));
  EXPECT_EQ(read().status, 200);
  clock_.advance(std::chrono::seconds(1));
  expect_problem(read(), 404, "not_found");
  expect_problem(put("2", {{"If-Match", first}}), 412, "precondition_failed");
  EXPECT_EQ(put("3", create_for).status, 201);
  EXPECT_EQ(put("4", {{"If-Match", etag(read())}}).status, 200);
  clock_.advance(std::chrono::hours(100));
  EXPECT_EQ(read().body, "4") << "a put without a ttl is kept for ever";
}

TEST_F(ApiDocuments, APatchKeepsADocumentsEndUnlessItSaysOtherwise) {
  const HeaderList merge = {{"Content-Type", "application/merge-patch+json"}};
  put("{}", {{"If-None-Match", "*"}, {"Once-TTL", "10"}});
  clock_.advance(std::chrono::seconds(5));
  EXPECT_EQ(call("PATCH", "/v1/docs/d", R"({"a":1})", merge).status, 200);
  HeaderList longer = merge;
  clock_.advance(std::chrono::seconds(4));
  longer.push_back({"Once-TTL", "1m"});
  longer.push_back({"If-Match", etag(read())});
  EXPECT_EQ(call("PATCH", "/v1/docs/d", R"({"b":1})", longer).status, 200);
  clock_.advance(std::chrono::seconds(59));
  EXPECT_EQ(read().body, R"({"a":1,"b":1})");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(read().status, 404);
  put("{}", {{"If-None-Match", "*"}, {"Once-TTL", "10s"}});
  EXPECT_EQ(call("PATCH", "/v1/docs/d", R"({"a":1})", merge).status, 200);
  clock_.advance(std::chrono::seconds(10));
  EXPECT_EQ(read().status, 404);
}

TEST_F(ApiDocuments, AnotherTtlUnderTheSameKeyIsAnotherChange) {
  const auto keyed = [&](const char* ttl) {
    return put("1", {{"If-None-Match", "*"}, {"Once-TTL", ttl}, {"Idempotency-Key", "k"}}).status;
  };
  EXPECT_EQ(keyed("1h"), 201);
  EXPECT_EQ(keyed("3600s"), 201);
  EXPECT_EQ(keyed("2h"), 422);
}

TEST_F(ApiDocuments, ABadTtlOrTimeoutOrPolicyIsRefusedAndChangesNothing) {
  for (const char* bad : {"", "soon", "0s", "-1", "11y", "nan"}) {
    expect_problem(put("1", {{"If-None-Match", "*"}, {"Once-TTL", bad}}), 400, "invalid");
    expect_problem(put("1", {{"If-None-Match", "*"}, {"Once-Timeout", bad}}), 400, "invalid");
  }
  expect_problem(call("PATCH", "/v1/docs/d", "{}",
                      {{"Content-Type", "application/merge-patch+json"}, {"Once-Retry", "often"}}),
                 400, "invalid");
  EXPECT_EQ(read().status, 404);
}

TEST_F(ApiDocuments, ATimeoutBoundsHowLongARequestIsTried) {
  const auto patience = [&](const char* target, std::string body, std::string timeout) {
    Request request{"POST", target, {}, std::move(body)};
    if (!timeout.empty()) request.headers.add("Once-Timeout", timeout);
    return service_.respond(request).patience(kAttemptLife);
  };
  using namespace std::chrono_literals;
  EXPECT_EQ(patience("/v1/claims/c", R"({"wait":"30s"})", ""), 90s);
  EXPECT_EQ(patience("/v1/claims/c", R"({"wait":"30s"})", "2s"), 2s);
  EXPECT_EQ(patience("/v1/claims/c", R"({"wait":30})", "0.25"), 250ms);
  EXPECT_EQ(patience("/v1/seen", R"({"ids":["a"]})", "10m"), 60s);
}

TEST_F(ApiDocuments, AWaitingClaimIsToldWhoHoldsItWithinItsTimeout) {
  post("/v1/claims/c", R"({"owner":"first","lease":"10m"})");
  const Time began = clock_.now();
  const Response busy = call("POST", "/v1/claims/c", R"({"wait":"5m"})", {{"Once-Timeout", "2s"}});
  expect_problem(busy, 409, "busy");
  EXPECT_EQ(field(busy, "owner"), "first");
  EXPECT_LE(clock_.now() - began, std::chrono::seconds(2));
}

TEST_F(ApiDocuments, AreListedByPrefixPageByPage) {
  for (const std::string name : {"a%2F1", "a%2F2", "a%2F3", "b"}) {
    call("PUT", "/v1/docs/" + name, "four", {{"If-None-Match", "*"}, {"Content-Type", "text/x"}});
  }
  const Response gone = call("PUT", "/v1/docs/a%2F0", "x", {{"If-None-Match", "*"}});
  call("DELETE", "/v1/docs/a%2F0", "", {{"If-Match", etag(gone)}, {"Idempotency-Key", "k"}});
  call("PUT", "/v1/docs/a%2F9", "x", {{"If-None-Match", "*"}, {"Once-TTL", "1s"}});
  clock_.advance(std::chrono::seconds(1));
  std::set<std::string> keys;
  std::string cursor;
  do {
    const Response page = get("/v1/docs?prefix=a%2F&limit=2&cursor=" + cursor);
    ASSERT_EQ(page.status, 200) << page.body;
    const Result<Json> body = parse_json(page.body);
    for (const Json row : body->at_key("docs")) {
      const std::string key(row["key"].get_string().value());
      EXPECT_TRUE(keys.insert(key).second);
      EXPECT_EQ(row["bytes"].get_int64().value(), 4);
      EXPECT_EQ(row["content_type"].get_string().value(), "text/x");
      EXPECT_EQ(std::string(row["etag"].get_string().value()).size(), 16U);
    }
    cursor = field(page, "cursor") == "null" ? "" : field(page, "cursor");
  } while (!cursor.empty());
  EXPECT_EQ(keys, (std::set<std::string>{"a/1", "a/2", "a/3"}));
  expect_problem(get("/v1/docs?limit=0"), 400, "invalid");
}

TEST_F(ApiDocuments, ManyAreRemovedByPrefixInBoundedSteps) {
  for (int i = 0; i < 5; ++i) {
    call("PUT", "/v1/docs/a" + std::to_string(i), "x", {{"If-None-Match", "*"}});
  }
  call("PUT", "/v1/docs/b", "x", {{"If-None-Match", "*"}});
  const auto remove_all = [&](const std::string& more) {
    return post("/v1/bulk/docs/delete", R"({"prefix":"a")" + more + "}");
  };
  EXPECT_EQ(remove_all(R"(,"dry_run":true)").body, R"({"deleted":5,"cursor":null})");
  EXPECT_EQ(get("/v1/docs/a0").status, 200);
  const Response first = remove_all(R"(,"limit":3)");
  EXPECT_EQ(field(first, "deleted"), "3");
  const Response second = remove_all(R"(,"cursor":")" + field(first, "cursor") + "\"");
  EXPECT_EQ(field(second, "deleted"), "2");
  EXPECT_EQ(remove_all("").body, R"({"deleted":0,"cursor":null})");
  EXPECT_EQ(get("/v1/docs/a0").status, 404);
  EXPECT_EQ(get("/v1/docs/b").status, 200);
  for (const char* bad : {"{}", R"({"prefix":""})", R"({"prefix":"a","limit":0})",
                          R"({"prefix":"a","cursor":"?"})", R"({"prefix":"a","x":1})"}) {
    expect_problem(post("/v1/bulk/docs/delete", bad), 400, "invalid");
  }
}

}  // namespace
}  // namespace once::api
