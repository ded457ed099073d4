#include "once/documents.h"

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

}  // namespace
}  // namespace once::api
