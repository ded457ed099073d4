// Every row of the contract's tables over a real socket: method, path, status, and what the row
// says of the answer. What each means in depth is proved beside the code.
#include <gtest/gtest.h>

#include <thread>

#include "testing/blackbox/served_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

const std::string kCreate = "If-None-Match: *\r\n";
const std::string kMerge = "Content-Type: application/merge-patch+json\r\n";
const std::string kPatch = "Content-Type: application/json-patch+json\r\n";

const std::string kKeyed = "Idempotency-Key: \"k1\"\r\n";

class Contract : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.ready_line(); }

  // The answer, with the status and with these words in its body.
  RawAnswer expect(int status, const std::string& words, const std::string& method,
                   const std::string& target, const std::string& body = "",
                   const std::string& headers = "") {
    const RawAnswer answer = peer_.call(method, target, body, headers).value_or(RawAnswer{});
    const std::string what = method + " " + target + " " + body + ": " + answer.body;
    EXPECT_EQ(answer.status, status) << what;
    EXPECT_NE(answer.body.find(words), std::string::npos) << what << " lacks " << words;
    const bool problem = answer.header("Content-Type") == "application/problem+json";
    EXPECT_EQ(problem, status >= 400) << what;
    return answer;
  }
  RawAnswer post(int status, const std::string& words, const std::string& target,
                 const std::string& body, const std::string& headers = "") {
    return expect(status, words, "POST", target, body, headers);
  }
  RawAnswer get(int status, const std::string& words, const std::string& target,
                const std::string& headers = "") {
    return expect(status, words, "GET", target, "", headers);
  }

  static std::string code(const std::string& name) { return "\"code\":\"" + name + "\""; }
  static bool replayed(const RawAnswer& answer) {
    return answer.header("Idempotent-Replayed") == "true";
  }
  static std::string field(const RawAnswer& answer, const std::string& name) {
    const std::string before = "\"" + name + "\":\"";
    const std::size_t at = answer.body.find(before);
    if (at == std::string::npos) return "";
    const std::size_t from = at + before.size();
    return answer.body.substr(from, answer.body.find('"', from) - from);
  }
  std::string take(const std::string& name) {
    return field(post(201, R"("state":"claimed")", "/v1/claims/" + name, "{}"), "ticket");
  }
  static std::string with_ticket(const std::string& ticket, const std::string& more = "") {
    return R"({"ticket":")" + ticket + "\"" + more + "}";
  }

  ServedStore store_;
  ServerProcess server_{store_.address()};
  RawHttp peer_{server_.port()};
};

TEST_F(Contract, ClaimsAreTakenBusyDoneOrOfAnotherPayload) {
  const RawAnswer taken =
      post(201, R"("attempt":1)", "/v1/claims/a%2Fb",
           R"({"owner":"me","request":"r","lease":"30s","ttl":"24h","payload":"p","wait":"0s"})");
  EXPECT_NE(field(taken, "ticket"), "");
  EXPECT_NE(taken.body.find("\"fence\":"), std::string::npos);
  EXPECT_TRUE(field(taken, "lease_until").ends_with("Z"));
  const RawAnswer again = post(201, "", "/v1/claims/a%2Fb", R"({"request":"r","payload":"p"})");
  EXPECT_EQ(field(again, "ticket"), field(taken, "ticket"));
  const RawAnswer busy = post(409, code("busy"), "/v1/claims/a%2Fb", R"({"payload":"p"})");
  EXPECT_EQ(field(busy, "owner"), "me");
  EXPECT_NE(field(busy, "lease_until"), "");
  EXPECT_NE(busy.header("Retry-After"), "");
  post(422, code("mismatch"), "/v1/claims/a%2Fb", R"({"payload":"q"})");
  const std::string ticket = field(taken, "ticket");
  post(200, "", "/v1/claims/a%2Fb/complete", with_ticket(ticket, R"(,"result":{"n":1})"));
  const RawAnswer done =
      post(200, R"("state":"done","result":{"n":1})", "/v1/claims/a%2Fb", R"({"payload":"p"})");
  EXPECT_TRUE(replayed(done));
  EXPECT_NE(field(done, "completed_at"), "");
}

TEST_F(Contract, AHolderRenewsCompletesAndReleases) {
  const std::string ticket = take("a");
  post(200, R"("lease_until":")", "/v1/claims/a/renew", with_ticket(ticket, R"(,"lease":"1m")"));
  const std::string complete = with_ticket(ticket, R"(,"result":[1])");
  EXPECT_FALSE(replayed(post(200, "", "/v1/claims/a/complete", complete)));
  EXPECT_TRUE(replayed(post(200, "", "/v1/claims/a/complete", complete)));
  post(422, code("mismatch"), "/v1/claims/a/complete", with_ticket(ticket, R"(,"result":2)"));
  post(200, "", "/v1/claims/b/release", with_ticket(take("b")));
  get(404, code("not_found"), "/v1/claims/b");
  post(200, "", "/v1/claims/b/release", with_ticket(take("b"), R"(,"failure":"x","final":false)"));
  const RawAnswer free = get(200, R"("state":"free")", "/v1/claims/b");
  EXPECT_EQ(field(free, "failure"), "x");
  EXPECT_NE(field(free, "failed_at"), "");
  post(200, "", "/v1/claims/b/release", with_ticket(take("b"), R"(,"failure":"x","final":true)"));
  post(200, R"("state":"failed","failure":"x")", "/v1/claims/b", "{}");
}

TEST_F(Contract, AClaimIsShownListedAndForgottenAndItsOldTicketFenced) {
  const std::string ticket = take("a");
  get(200, R"({"key":"a","state":"busy","owner":"","fence":)", "/v1/claims/a");
  get(404, code("not_found"), "/v1/claims/none");
  get(200, R"({"claims":[{"key":"a")", "/v1/claims?state=busy&limit=10&cursor=");
  get(200, R"({"claims":[],"cursor":null})", "/v1/claims?state=done");
  expect(204, "", "DELETE", "/v1/claims/a");
  for (const char* verb : {"renew", "complete", "release"}) {
    post(412, code("fenced"), std::string("/v1/claims/a/") + verb, with_ticket(ticket));
  }
  post(201, "", "/v1/claims/a", "{}");
}

TEST_F(Contract, IdsAreSeenInOrderOnce) {
  post(200, R"({"first":[true,true,false],"at":[")", "/v1/seen",
       R"({"ids":["a","b","a"],"ttl":"1h","request":"r"})");
  post(200, R"({"first":[true,true,false],"at":[")", "/v1/seen",
       R"({"ids":["a","b","a"],"ttl":"1h","request":"r"})");
  post(200, R"({"first":[false,true],"at":[")", "/v1/seen", R"({"ids":["a","c"]})");
  get(404, code("not_found"), "/v1/claims/a");
  get(200, R"({"id":"a","at":"20)", "/v1/seen/a");
  expect(204, "", "DELETE", "/v1/seen/a");
  expect(404, code("not_found"), "DELETE", "/v1/seen/a");
  get(404, code("not_found"), "/v1/seen/a");
  post(200, R"({"first":[true],"at":[")", "/v1/seen", R"({"ids":["a"]})");
  const auto ids = [](int count) {
    std::string list = "\"i0\"";
    for (int i = 1; i < count; ++i) list += ",\"i" + std::to_string(i) + "\"";
    return "{\"ids\":[" + list + "]}";
  };
  // Where each is a request, the servers here do some 1,400 a second.
  post(200, "true", "/v1/seen", ids(ServedStore::harness().is_slow ? 2'000 : 10'000));
  post(400, code("invalid"), "/v1/seen", ids(10'001));
}

TEST_F(Contract, ASeenIdKeepsNobodyFromItsClaimNorAClaimFromItsId) {
  post(200, R"({"first":[true],)", "/v1/seen", R"({"ids":["job-77"]})");
  post(201, "", "/v1/claims/job-77", "{}");
  post(201, "", "/v1/claims/job-78", "{}");
  post(200, R"({"first":[true],)", "/v1/seen", R"({"ids":["job-78"]})");
}

TEST_F(Contract, AbandonedClaimsAreListedAndForgottenInBulk) {
  for (const char* key : {"x-1", "x-2", "y-1"}) {
    post(201, "", std::string("/v1/claims/") + key, R"({"lease":"1ms","owner":"gone"})");
  }
  post(201, "", "/v1/claims/x-held", R"({"lease":"1h"})");
  const auto abandoned = [&] {
    return get(200, "", "/v1/claims?state=abandoned&prefix=x-&owner=gone&older_than=0s").body;
  };
  while (abandoned().find("x-1") == std::string::npos ||
         abandoned().find("x-2") == std::string::npos) {
    std::this_thread::yield();
  }
  EXPECT_EQ(abandoned().find("y-1"), std::string::npos);
  get(200, R"("state":"abandoned")", "/v1/claims/x-1");
  get(200, R"({"claims":[],"cursor":)", "/v1/claims?state=abandoned&older_than=1h");
  const std::string meant = R"({"prefix":"x-","state":"abandoned")";
  post(200, R"({"forgotten":2,"cursor":null})", "/v1/bulk/claims/forget",
       meant + R"(,"dry_run":true})");
  post(200, R"({"forgotten":2,"cursor":null})", "/v1/bulk/claims/forget", meant + "}");
  get(404, "", "/v1/claims/x-1");
  get(200, R"("state":"busy")", "/v1/claims/x-held");
  post(400, code("invalid"), "/v1/bulk/claims/forget", "{}");
}

TEST_F(Contract, AFailureIsKeptToldAndMayBeRetried) {
  const std::string ticket = take("a");
  post(200, "", "/v1/claims/a/release", with_ticket(ticket, R"(,"failure":"no luck")"));
  get(200, R"("state":"free")", "/v1/claims/a");
  get(200, R"("failure":"no luck")", "/v1/claims/a");
  const RawAnswer next =
      post(201, R"("previous":{"failure":"no luck","failed_at":"20)", "/v1/claims/a", "{}");
  EXPECT_NE(next.body.find(R"("attempt":2)"), std::string::npos) << next.body;
  const std::string second = field(next, "ticket");
  post(200, "", "/v1/claims/a/release", with_ticket(second, R"(,"failure":"broken","final":true)"));
  post(200, R"("state":"failed")", "/v1/claims/a", "{}");
  post(200, R"({"retried":1,"cursor":null})", "/v1/bulk/claims/retry", R"({"state":"failed"})");
  get(200, R"("state":"free")", "/v1/claims/a");
  post(201, R"("attempt":3)", "/v1/claims/a", "{}");
  post(200, R"({"released":1,"cursor":null})", "/v1/bulk/claims/release", R"({"key":"a"})");
  post(201, R"("attempt":4)", "/v1/claims/a", "{}");
}

// Each once, although all is asked for twice.
TEST_F(Contract, WhatIsTakenAwayIsInTheAuditLog) {
  const std::string there = "Once-Namespace: once\r\n";
  const std::string before = field(get(200, "", "/v1/logs/audit?order=desc&limit=1", there), "key");
  EXPECT_EQ(before, "");
  take("audited");
  post(201, "", "/v1/logs/audited", R"({"events":[{"data":1},{"data":2}]})");
  const RawAnswer put = expect(201, "", "PUT", "/v1/docs/audited", "x", "If-None-Match: *\r\n");
  const std::string match = "If-Match: " + put.header("ETag") + "\r\n";
  for (const int again : {0, 1}) {
    peer_.call("DELETE", "/v1/claims/audited", "", "X-Request-Id: forget-1\r\n");
    peer_.call("POST", "/v1/logs/audited/trim", R"({"before":2})", "");
    peer_.call("DELETE", "/v1/docs/audited", "", match);
    const RawAnswer log = get(200, "", "/v1/logs/audit", there);
    std::size_t events = 0;
    for (std::size_t at = 0; (at = log.body.find(R"("action":)", at + 1)) != std::string::npos;) {
      ++events;
    }
    EXPECT_EQ(events, 3U) << again << log.body;
    const std::string forgotten =
        R"("data":{"action":"claim.forget","namespace":"default","key":"audited","token":null,)"
        R"("from":"127.0.0.1","request_id":"forget-1"})";
    EXPECT_NE(log.body.find(forgotten), std::string::npos) << log.body;
  }
  post(403, code("forbidden"), "/v1/logs/audit", R"({"events":[{"data":1}]})", there);
  expect(403, code("forbidden"), "DELETE", "/v1/logs/audit", "", there);
}

TEST_F(Contract, HotKeysAreThoseWithConflicts) {
  take("a");
  post(409, "", "/v1/claims/a", "{}");
  get(200, R"("key":"claims/a","conflicts":1)", "/v1/hot");
}

TEST_F(Contract, EventsAreAppendedReadAndTrimmed) {
  const std::string batch =
      R"({"events":[{"data":{"n":1},"time":"2026-11-15T09:30:00Z"},{"data":2}],"batch":"b","expect":1})";
  EXPECT_FALSE(replayed(post(201, R"({"first":1,"last":2})", "/v1/logs/s", batch)));
  EXPECT_TRUE(replayed(post(200, R"({"first":1,"last":2})", "/v1/logs/s", batch)));
  post(412, R"("next":3)", "/v1/logs/s", R"({"events":[{"data":3}],"expect":9})");
  post(201, R"({"first":3,"last":4})", "/v1/logs/s", "one\ntwo\n", "Content-Type: text/plain\r\n");
  post(201, R"({"first":5,"last":5})", "/v1/logs/s", "{\"a\":1}\n",
       "Content-Type: application/x-ndjson\r\n");
  post(400, code("invalid"), "/v1/logs/s", R"({"events":[]})");
  get(200, R"({"index":1,"time":"2026-11-15T09:30:00.000Z","data":{"n":1}})",
      "/v1/logs/s?from=1&limit=100&order=asc");
  get(200, R"("next":6)", "/v1/logs/s");
  get(200, R"({"events":[{"index":5)", "/v1/logs/s?order=desc&limit=1");
  get(200, R"({"events":[],"next":1})", "/v1/logs/unknown");
  post(200, R"({"oldest":3,"next":6})", "/v1/logs/s/trim", R"({"before":3})");
  get(200, R"({"events":[{"index":3)", "/v1/logs/s?from=1");
}

TEST_F(Contract, ABatchAboveTheLimitIs413AndNothingIsWritten) {
  post(413, code("too_large"), "/v1/logs/s", std::string(1'100'000, 'x'),
       "Content-Type: text/plain\r\n");
  peer_ = RawHttp(server_.port());  // What was too large was not read, so the connection ended.
  get(200, R"({"events":[],"next":1})", "/v1/logs/s");
}

TEST_F(Contract, AFollowerGetsEventsWithTheirIndexAsId) {
  post(201, "", "/v1/logs/s", R"({"events":[{"data":{"n":1}},{"data":2}]})");
  for (const auto& [target, headers] :
       {std::pair("/v1/logs/s?follow=true", "Last-Event-ID: 1\r\n"),
        std::pair("/v1/logs/s", "Accept: text/event-stream\r\nLast-Event-ID: 1\r\n")}) {
    RawHttp follower(server_.port());
    follower.send("GET", target, "", headers);
    const auto head = follower.receive(true);
    EXPECT_EQ(head->header("Content-Type"), "text/event-stream");
    EXPECT_EQ(follower.receive_line(), "id: 2");
    EXPECT_TRUE(follower.receive_line()->starts_with("data: "));
  }
}

TEST_F(Contract, DocumentsAreNeverOverwrittenUnseen) {
  get(404, code("not_found"), "/v1/docs/d");
  expect(428, code("precondition_required"), "PUT", "/v1/docs/d", "x");
  const RawAnswer made =
      expect(201, "", "PUT", "/v1/docs/d", "one", kCreate + "Content-Type: text/x-odd; a=b\r\n");
  const std::string first = made.header("ETag");
  const RawAnswer got = get(200, "one", "/v1/docs/d");
  EXPECT_EQ(got.header("ETag"), first);
  EXPECT_EQ(got.header("Content-Type"), "text/x-odd; a=b");
  get(304, "", "/v1/docs/d", "If-None-Match: " + first + "\r\n");
  EXPECT_EQ(
      expect(412, code("precondition_failed"), "PUT", "/v1/docs/d", "two", kCreate).header("ETag"),
      first);
  const RawAnswer replaced =
      expect(200, "", "PUT", "/v1/docs/d", "two", "If-Match: " + first + "\r\n");
  expect(412, code("precondition_failed"), "PUT", "/v1/docs/d", "three",
         "If-Match: " + first + "\r\n");
  expect(428, code("precondition_required"), "DELETE", "/v1/docs/d");
  expect(412, code("precondition_failed"), "DELETE", "/v1/docs/d", "",
         "If-Match: " + first + "\r\n");
  expect(204, "", "DELETE", "/v1/docs/d", "", "If-Match: " + replaced.header("ETag") + "\r\n");
  get(404, "", "/v1/docs/d");
}

TEST_F(Contract, DocumentsArePatched) {
  expect(404, code("not_found"), "PATCH", "/v1/docs/d", "{}", kMerge);
  const std::string etag =
      expect(201, "", "PUT", "/v1/docs/d", R"({"a":1})", kCreate).header("ETag");
  const RawAnswer merged =
      expect(200, R"({"a":1,"b":2})", "PATCH", "/v1/docs/d", R"({"b":2})", kMerge);
  EXPECT_NE(merged.header("ETag"), etag);
  expect(200, R"({"b":2})", "PATCH", "/v1/docs/d", R"([{"op":"remove","path":"/a"}])", kPatch);
  expect(412, code("precondition_failed"), "PATCH", "/v1/docs/d", "{}",
         kMerge + "If-Match: " + etag + "\r\n");
  expect(422, code("invalid"), "PATCH", "/v1/docs/d", R"([{"op":"remove","path":"/a"}])", kPatch);
}

TEST_F(Contract, AnIdempotencyKeyIsHonouredOnEveryChange) {
  const RawAnswer made = expect(201, "", "PUT", "/v1/docs/d", "{}", kCreate + kKeyed);
  const RawAnswer again =
      expect(201, "", "PUT", "/v1/docs/d", "{}", kCreate + "Idempotency-Key: k1\r\n");
  EXPECT_TRUE(replayed(again));
  EXPECT_EQ(again.header("ETag"), made.header("ETag"));
  expect(422, code("mismatch"), "PUT", "/v1/docs/d", "[]", kCreate + kKeyed);
  const std::string other = "Idempotency-Key: k2\r\n";
  expect(200, "", "PATCH", "/v1/docs/d", R"({"n":1})", kMerge + other);
  const RawAnswer patched =
      expect(200, R"({"n":1})", "PATCH", "/v1/docs/d", R"({"n":1})", kMerge + other);
  EXPECT_TRUE(replayed(patched));
  expect(422, code("mismatch"), "PATCH", "/v1/docs/d", R"({"n":2})", kMerge + other);
  const std::string gone = "If-Match: " + patched.header("ETag") + "\r\nIdempotency-Key: k3\r\n";
  expect(204, "", "DELETE", "/v1/docs/d", "", gone);
  EXPECT_TRUE(replayed(expect(204, "", "DELETE", "/v1/docs/d", "", gone)));
}

TEST_F(Contract, EveryKindOfTallyIsMergedAndRead) {
  const std::string path = "/v1/tallies/";
  post(200, R"({"kind":"sum","value":5})", path + "sum", R"({"kind":"sum","add":5,"id":"i"})");
  EXPECT_TRUE(replayed(post(200, R"({"kind":"sum","value":5})", path + "sum",
                            R"({"kind":"sum","add":5,"id":"i"})")));
  get(200, R"({"kind":"sum","value":5})", path + "sum");
  post(409, code("mismatch"), path + "sum", R"({"kind":"count"})");
  post(400, code("invalid"), path + "sum", R"({"kind":"sum","add":9223372036854775807})");
  get(200, R"({"kind":"sum","value":5})", path + "sum");
  post(200, R"("value":0.5)", path + "real", R"({"kind":"real","add":0.5})");
  post(200, R"("value":1)", path + "count", R"({"kind":"count"})");
  post(200, R"("value":42)", path + "max", R"({"kind":"max","value":42})");
  post(200, R"("value":-1)", path + "min", R"({"kind":"min","value":-1})");
  post(200, R"("value":2)", path + "distinct", R"({"kind":"distinct","items":["a","b","a"]})");
  post(200, R"({"item":"b","count":3,"error":0})", path + "top",
       R"({"kind":"top","items":["a",{"item":"b","count":3}]})");
  get(200, R"("value":[{"item":"b","count":3,"error":0},{"item":"a","count":1,"error":0}])",
      path + "top");
  post(200, R"("value":true)", path + "bloom", R"({"kind":"bloom","items":["x"]})");
  get(200, R"("value":true)", path + "bloom?item=x");
  get(200, R"("value":false)", path + "bloom?item=y");
  get(404, code("not_found"), path + "none");
  post(200, R"({"values":[{"kind":"sum","value":5},null,{"kind":"max","value":42}]})",
       path + "read", R"({"keys":["sum","none","max"]})");
}

TEST_F(Contract, ARangeTakesTheBucketsThatStartInIt) {
  for (const char* hour : {"09", "10", "11"}) {
    post(200, R"("value":1)", "/v1/tallies/t",
         R"({"kind":"count","window":"hour","at":"2026-11-15T)" + std::string(hour) +
             R"(:30:00Z","ttl":"3650d"})");
  }
  get(200, R"("value":2)", "/v1/tallies/t?from=2026-11-15T09:00:00Z&to=2026-11-15T11:00:00Z");
  get(200, R"("value":3)", "/v1/tallies/t");
}

// Where a commit is one write, or within one home.
TEST_F(Contract, SeveralEffectsAreUnsupportedAndNothingIsWritten) {
  const StoreHarness::Commits commits = ServedStore::harness().commits;
  if (commits == StoreHarness::Commits::any) GTEST_SKIP() << "this store commits them";
  const std::string ticket = take("c");
  post(
      501, code("unsupported"), "/v1/commit",
      R"({"id":"i","claim":{"key":"c","ticket":")" + ticket +
          R"("},"logs":[{"stream":"s","events":[{"data":1}]}],"docs":[{"key":"d","if_none_match":"*","body":1}],"tallies":[{"key":"t","kind":"sum","add":5}]})");
  if (commits == StoreHarness::Commits::of_one_write) {  // Whatever is in it.
    post(501, code("unsupported"), "/v1/commit",
         R"({"tallies":[{"key":"t","kind":"sum","add":5}]})");
  }
  get(200, R"("state":"busy")", "/v1/claims/c");
  get(200, R"({"events":[],"next":1})", "/v1/logs/s");
  get(404, code("not_found"), "/v1/docs/d");
  get(404, code("not_found"), "/v1/tallies/t");
}

TEST_F(Contract, SeveralEffectsAreOneCommit) {
  if (ServedStore::harness().commits != StoreHarness::Commits::any) {
    GTEST_SKIP() << "this store does not commit them";
  }
  const std::string etag = expect(201, "", "PUT", "/v1/docs/old", "{}", kCreate).header("ETag");
  const std::string commit =
      R"({"id":"i","claim":{"key":"c","ticket":")" + take("c") +
      R"(","result":1},"logs":[{"stream":"s","events":[{"data":1}]}],"docs":[{"key":"new","if_none_match":"*","body":{"a":1}},{"key":"old","if_match":)" +
      etag + R"(,"body":2}],"tallies":[{"key":"t","kind":"sum","add":5}]})";
  const RawAnswer made =
      post(200, R"("claim":{"state":"done"},"logs":[{"first":1,"last":1}],"docs":[{"etag":")",
           "/v1/commit", commit);
  EXPECT_FALSE(replayed(made));
  EXPECT_TRUE(replayed(post(200, R"("logs":[{"first":1,"last":1}])", "/v1/commit", commit)));
  get(200, R"({"a":1})", "/v1/docs/new");
  get(200, R"("value":5)", "/v1/tallies/t");
  const std::string also = R"("tallies":[{"key":"t","kind":"sum","add":5}])";
  post(412, R"("part":"docs[0]")", "/v1/commit",
       R"({"docs":[{"key":"new","if_none_match":"*","body":1}],)" + also + "}");
  const std::string fenced = take("d");
  expect(204, "", "DELETE", "/v1/claims/d");
  post(412, R"("part":"claim")", "/v1/commit",
       R"({"claim":{"key":"d","ticket":")" + fenced + R"("},)" + also + "}");
  post(409, R"("part":"tallies[0]")", "/v1/commit", R"({"tallies":[{"key":"t","kind":"count"}]})");
  get(200, R"("value":5)", "/v1/tallies/t");
}

TEST_F(Contract, TokensOpenTheirNamespaceAndNothingElse) {
  const RawAnswer made = post(201, R"("namespace":null)", "/v1/tokens", R"({"label":"admin"})");
  const std::string admin = "Authorization: Bearer " + field(made, "token") + "\r\n";
  const RawAnswer team =
      post(201, "", "/v1/tokens", R"({"namespace":"team","read_only":true})", admin);
  const std::string reader = "Authorization: Bearer " + field(team, "token") + "\r\n";
  post(401, code("unauthorized"), "/v1/claims/a", "{}");
  post(403, code("forbidden"), "/v1/claims/a", "{}", reader);
  get(403, code("forbidden"), "/v1/claims/a", reader + "Once-Namespace: other\r\n");
  post(201, "", "/v1/claims/a", "{}", admin + "Once-Namespace: team\r\n");
  get(200, R"("key":"a")", "/v1/claims/a", reader);
  get(200, field(team, "id"), "/v1/tokens", admin);
  expect(204, "", "DELETE", "/v1/tokens/" + field(team, "id"), "", admin);
  get(401, code("unauthorized"), "/v1/claims/a", reader);
}

TEST_F(Contract, TheServerTellsWhatItIs) {
  get(200, R"("status":"ok")", "/healthz");
  get(200, R"("status":"ready")", "/readyz");
  get(200, "openapi: 3.1.0", "/openapi.yaml");
  EXPECT_TRUE(get(200, "Once", "/").header("Content-Type").starts_with("text/html"));
  const RawAnswer console = get(200, "/console/main.js", "/", "Accept: text/html\r\n");
  EXPECT_TRUE(console.header("Content-Security-Policy").starts_with("default-src 'self';"));
  get(200, R"("access":"admin")", "/v1/whoami");
  get(200, R"("every_seconds":5,"samples":[)", "/v1/history");
  get(200, R"("detail":"it is ready: it answers and takes writes")", "/v1/doctor");
}

}  // namespace
}  // namespace once::testing
