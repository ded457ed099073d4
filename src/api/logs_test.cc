#include "once/local.h"
#include "once/log.h"

#include "api/service_fixture.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

class ApiLogs : public ServiceFixture {
 protected:
  // An append of one kind of lines.
  Response lines(std::string type, std::string body, std::string query = "") {
    return call("POST", "/v1/logs/s" + query, std::move(body), {{"Content-Type", std::move(type)}});
  }
  // The data of the events, as a JSON array.
  std::string data(const std::string& query = "") {
    const Response page = get("/v1/logs/s" + query);
    EXPECT_EQ(page.status, 200) << page.body;
    std::string out;
    const Result<Json> body = parse_json(page.body);
    for (const Json event : body->at_key("events").get_array()) {
      if (!out.empty()) out += ' ';
      out += to_line(event.at_key("data").value());
    }
    return out;
  }
  void expect_empty() { EXPECT_EQ(get("/v1/logs/s").body, R"({"events":[],"next":1})"); }
};

TEST_F(ApiLogs, EventsGetConsecutiveIndexesFromOne) {
  const Response first = post("/v1/logs/s", R"({"events":[{"data":{"a":1}},{"data":"x"}]})");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.body, R"({"first":1,"last":2})");
  EXPECT_EQ(post("/v1/logs/s", R"({"events":[{"data":null}]})").body, R"({"first":3,"last":3})");
  EXPECT_EQ(get("/v1/logs/s").body,
            R"({"events":[{"index":1,"time":"2024-10-04T00:00:00.000Z","data":{"a":1}},)"
            R"({"index":2,"time":"2024-10-04T00:00:00.000Z","data":"x"},)"
            R"({"index":3,"time":"2024-10-04T00:00:00.000Z","data":null}],"next":4})");
}

// Three thousand elsewhere would make each append wait for as many reads.
TEST_F(ApiLogs, AnAppendWakesTheFollowersOfItsStreamAlone) {
  using Streams = std::vector<std::string>;
  EXPECT_EQ(lines("text/plain", "a").telemetry.appended, Streams({"s"}));
  const Response commit = post("/v1/commit", R"({"logs":[{"stream":"s","events":[{"data":1}]},)"
                                             R"({"stream":"t","events":[{"data":1}]}],"docs":[]})");
  EXPECT_EQ(commit.telemetry.appended, Streams({"s", "t"})) << commit.body;
  EXPECT_EQ(get("/v1/logs/s").telemetry.appended, Streams());
}

TEST_F(ApiLogs, AClosedLogTakesNothingMoreAndReplaysWhatItKnows) {
  expect_problem(post("/v1/logs/s/close", "{}"), 404, "not_found");
  const std::string batch = R"({"events":[{"data":1}],"batch":"b"})";
  post("/v1/logs/s", batch);
  const Response closed = post("/v1/logs/s/close", R"({"ttl":"10m"})");
  EXPECT_EQ(closed.status, 200);
  EXPECT_EQ(closed.body, R"({"next":2,"closed":true})");
  EXPECT_EQ(post("/v1/logs/s/close", "").body, closed.body);
  expect_problem(lines("text/plain", "x"), 409, "closed");
  EXPECT_EQ(post("/v1/logs/s", batch).status, 200);
  const Response commit =
      post("/v1/commit", R"({"id":"c","logs":[{"stream":"t","events":[{"data":1}]},)"
                         R"({"stream":"s","events":[{"data":1}]}]})");
  expect_problem(commit, 409, "closed");
  EXPECT_NE(commit.body.find(R"("part":"logs[1]")"), std::string::npos) << commit.body;
  EXPECT_EQ(get("/v1/logs/t").body, R"({"events":[],"next":1})");
  EXPECT_NE(get("/v1/logs/s").body.find(R"("next":2,"closed":true)"), std::string::npos);
  expect_problem(post("/v1/logs/s/close", R"({"tll":"10m"})"), 400, "invalid");
}

TEST_F(ApiLogs, AClosedLogCanBeDeletedAndItsNameBeginsAtOne) {
  expect_problem(call("DELETE", "/v1/logs/s", ""), 404, "not_found");
  lines("text/plain", "a\nb");
  expect_problem(call("DELETE", "/v1/logs/s", ""), 409, "busy");
  post("/v1/logs/s/close", "{}");
  EXPECT_EQ(call("DELETE", "/v1/logs/s", "").status, 204);
  expect_problem(call("DELETE", "/v1/logs/s", ""), 404, "not_found");
  expect_empty();
  EXPECT_EQ(lines("text/plain", "c").body, R"({"first":1,"last":1})");
}

TEST_F(ApiLogs, LogsAreListedAndDeletedInBulk) {
  for (const char* const name : {"a%2F1", "a%2F2", "b"}) {
    call("POST", std::string("/v1/logs/") + name, "x", {{"Content-Type", "text/plain"}});
  }
  post("/v1/logs/a%2F1/close", "{}");
  EXPECT_EQ(get("/v1/logs?prefix=a%2F1").body,
            R"({"logs":[{"stream":"a/1","oldest":1,"next":2,"closed":true}],"cursor":null})");
  expect_problem(post("/v1/bulk/logs/delete", "{}"), 400, "invalid");
  expect_problem(post("/v1/bulk/logs/delete", R"({"prefix":""})"), 400, "invalid");
  EXPECT_EQ(post("/v1/bulk/logs/delete", R"({"prefix":"a","dry_run":true})").body,
            R"({"deleted":1,"cursor":null})");
  EXPECT_EQ(post("/v1/bulk/logs/delete", R"({"prefix":"a"})").body,
            R"({"deleted":1,"cursor":null})");
  EXPECT_EQ(get("/v1/logs?prefix=a").body,
            R"({"logs":[{"stream":"a/2","oldest":1,"next":2,"closed":false}],"cursor":null})");
}

TEST_F(ApiLogs, AnEventThatIsKnownKeepsItsIndexAndIsNotStoredAgain) {
  const Response first =
      post("/v1/logs/s", R"({"events":[{"data":1,"id":"a"},{"data":2,"id":"b"}]})");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.body, R"({"first":1,"last":2,"indexes":[1,2]})");
  const Response cut = post(
      "/v1/logs/s",
      R"({"events":[{"data":2,"id":"b"},{"data":3,"id":"c"},{"data":3,"id":"c"},{"data":4}]})");
  EXPECT_EQ(cut.status, 201) << cut.body;
  EXPECT_EQ(cut.body, R"({"first":3,"last":4,"indexes":[2,3,3,4]})");
  const Response none = post("/v1/logs/s", R"({"events":[{"data":1,"id":"a"}]})");
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none.body, R"({"first":null,"last":null,"indexes":[1]})");
  EXPECT_EQ(data(), "1 2 3 4");
  clock_.advance(24h);
  EXPECT_EQ(post("/v1/logs/s", R"({"events":[{"data":1,"id":"a"}],"id_ttl":"1h"})").body,
            R"({"first":5,"last":5,"indexes":[5]})");
  clock_.advance(1h);
  EXPECT_EQ(post("/v1/logs/s", R"({"events":[{"data":1,"id":"a"}]})").status, 201);
}

TEST_F(ApiLogs, ARepeatOfABatchWithIdsStoresNothing) {
  const std::string body = R"({"events":[{"data":1,"id":"a"},{"data":2}],"batch":"x"})";
  EXPECT_EQ(post("/v1/logs/s", body).status, 201);
  const Response again = post("/v1/logs/s", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, R"({"first":1,"last":2,"indexes":[1,2]})");
  EXPECT_EQ(data(), "1 2");
}

TEST_F(ApiLogs, ARepeatOfABatchIsAnsweredAsTheFirstTimeAlsoWhereSomeEventsWereKnownBefore) {
  post("/v1/logs/s", R"({"events":[{"data":1,"id":"a"},{"data":9},{"data":9}]})");
  const std::string body = R"({"events":[{"data":1,"id":"a"},{"data":2,"id":"b"}],"batch":"x"})";
  EXPECT_EQ(post("/v1/logs/s", body).body, R"({"first":4,"last":4,"indexes":[1,4]})");
  post("/v1/logs/s", R"({"events":[{"data":9}]})");
  const Response again = post("/v1/logs/s", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(again.body, R"({"first":4,"last":4,"indexes":[1,4]})");
  const std::string known = R"({"events":[{"data":1,"id":"a"},{"data":2,"id":"b"}],"batch":"y"})";
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(post("/v1/logs/s", known).body, R"({"first":null,"last":null,"indexes":[1,4]})");
  }
}

TEST_F(ApiLogs, SinceBeginsAtATime) {
  lines("text/plain", "a");
  clock_.advance(1h);
  lines("text/plain", "b");
  EXPECT_EQ(data("?since=2024-10-04T00:00:00.001Z"), R"("b")");
  EXPECT_EQ(data("?since=2024-10-04T00:00:00Z"), R"("a" "b")");
  EXPECT_EQ(get("/v1/logs/s?since=2024-10-04T00:00:00Z&from=1").status, 400);
  EXPECT_EQ(get("/v1/logs/s?since=yesterday").status, 400);
}

TEST_F(ApiLogs, AnEventMayBringItsOwnTime) {
  post("/v1/logs/s", R"({"events":[{"data":1,"time":"2026-01-31T10:00:00+01:00"}]})");
  EXPECT_NE(get("/v1/logs/s").body.find(R"("time":"2026-01-31T09:00:00.000Z")"), std::string::npos);
}

TEST_F(ApiLogs, ABatchIdIsAppendedOnce) {
  const std::string body = R"({"events":[{"data":1},{"data":2}],"batch":"b"})";
  EXPECT_EQ(post("/v1/logs/s", body).status, 201);
  post("/v1/logs/s", R"({"events":[{"data":3}]})");
  const Response again = post("/v1/logs/s", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, R"({"first":1,"last":2})");
  EXPECT_TRUE(is_replayed(again));
  expect_problem(post("/v1/logs/s", R"({"events":[{"data":9}],"batch":"b"})"), 422, "mismatch");
  EXPECT_EQ(data(), "1 2 3");
}

TEST_F(ApiLogs, AnExpectedIndexHoldsOrNothingIsAppended) {
  EXPECT_EQ(post("/v1/logs/s", R"({"events":[{"data":1},{"data":2}],"expect":1})").status, 201);
  for (const char* index : {"1", "2", "4"}) {
    const Response refused =
        post("/v1/logs/s", R"({"events":[{"data":9}],"expect":)" + std::string(index) + "}");
    expect_problem(refused, 412, "precondition_failed");
    EXPECT_EQ(field(refused, "next"), "3");
  }
  EXPECT_EQ(post("/v1/logs/s", R"({"events":[{"data":3}],"expect":3})").status, 201);
  EXPECT_EQ(data(), "1 2 3");
}

TEST_F(ApiLogs, ARepeatedBatchIsAReplayAlthoughItsExpectationIsGone) {
  const std::string body = R"({"events":[{"data":1}],"batch":"b","expect":1})";
  EXPECT_EQ(post("/v1/logs/s", body).status, 201);
  EXPECT_TRUE(is_replayed(post("/v1/logs/s", body)));
}

TEST_F(ApiLogs, ALineOfTextIsAnEvent) {
  EXPECT_EQ(lines("text/plain", "one\ntwo \"2\"\r\n\n\tlast").body, R"({"first":1,"last":4})");
  EXPECT_EQ(data(), R"("one" "two \"2\"" "" "\tlast")");
  EXPECT_EQ(lines("Text/Plain; charset=utf-8", "x\n").body, R"({"first":5,"last":5})");
}

TEST_F(ApiLogs, ALineOfJsonIsAnEvent) {
  EXPECT_EQ(lines("application/x-ndjson", "{ \"a\" : 1 }\n\n[2, 3]\r\n\"x\"\n").body,
            R"({"first":1,"last":3})");
  EXPECT_EQ(data(), R"({"a":1} [2,3] "x")");
}

TEST_F(ApiLogs, LinesHaveBatchExpectAndTtlInTheQuery) {
  for (const char* type : {"text/plain", "application/x-ndjson"}) {
    const std::string batch = std::string("?batch=") + (*type == 't' ? "t" : "n");
    const Response first = lines(type, "1\n", batch + "&ttl=1h");
    EXPECT_EQ(first.status, 201);
    EXPECT_TRUE(is_replayed(lines(type, "1\n", batch)));
    expect_problem(lines(type, "2\n", batch), 422, "mismatch");
    expect_problem(lines(type, "2\n", "?expect=1"), 412, "precondition_failed");
    EXPECT_EQ(
        lines(type, "2\n", "?expect=" + std::to_string(std::stoi(field(first, "last")) + 1)).status,
        201);
  }
  clock_.advance(2h);
  EXPECT_EQ(data(), R"("2" 1 2)");
}

TEST_F(ApiLogs, PagesAreReadInBothDirections) {
  lines("text/plain", "1\n2\n3\n4\n5\n");
  EXPECT_EQ(data("?from=2&limit=2"), R"("2" "3")");
  EXPECT_EQ(field(get("/v1/logs/s?from=2&limit=2"), "next"), "4");
  EXPECT_EQ(data("?order=desc&limit=2"), R"("5" "4")");
  EXPECT_EQ(field(get("/v1/logs/s?order=desc&limit=2"), "next"), "3");
  EXPECT_EQ(data("?order=desc&from=3"), R"("3" "2" "1")");
  EXPECT_EQ(field(get("/v1/logs/s?order=desc&from=3"), "next"), "0");
  EXPECT_EQ(data("?order=asc&from=9"), "");
  EXPECT_EQ(field(get("/v1/logs/s?from=9"), "next"), "6");
}

TEST_F(ApiLogs, APageHasAHundredEventsUnlessToldOtherwise) {
  std::string body;
  for (int i = 0; i < 150; ++i) body += "x\n";
  lines("text/plain", body);
  EXPECT_EQ(field(get("/v1/logs/s"), "next"), "101");
  EXPECT_EQ(field(get("/v1/logs/s?limit=10000"), "next"), "151");
}

TEST_F(ApiLogs, TrimmedEventsAreGoneAndIndexesGoOn) {
  expect_problem(post("/v1/logs/s/trim", "{}"), 400, "invalid");
  EXPECT_EQ(post("/v1/logs/s/trim", R"({"before":3})").body, R"({"oldest":1,"next":1})");
  lines("text/plain", "1\n2\n3\n");
  EXPECT_EQ(post("/v1/logs/s/trim", R"({"before":3})").body, R"({"oldest":3,"next":4})");
  EXPECT_EQ(data("?from=1"), R"("3")");
  EXPECT_EQ(post("/v1/logs/s/trim", R"({"before":99})").body, R"({"oldest":4,"next":4})");
  EXPECT_EQ(get("/v1/logs/s").body, R"({"events":[],"next":4})");
  EXPECT_EQ(lines("text/plain", "4").body, R"({"first":4,"last":4})");
}

TEST_F(ApiLogs, ATtlTrimsInTime) {
  post("/v1/logs/s", R"({"events":[{"data":1}],"ttl":"1h"})");
  EXPECT_EQ(data(), "1");
  clock_.advance(1h);
  EXPECT_EQ(get("/v1/logs/s").body, R"({"events":[],"next":2})");
}

TEST_F(ApiLogs, NamespacesAndStreamsAreApart) {
  lines("text/plain", "1");
  EXPECT_EQ(call("GET", "/v1/logs/s", "", {{"Once-Namespace", "o"}}).body,
            R"({"events":[],"next":1})");
  EXPECT_EQ(get("/v1/logs/S").body, R"({"events":[],"next":1})");
}

TEST_F(ApiLogs, ABatchTooLargeIsTooLargeAndNothingIsWritten) {
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "x\n";
  expect_problem(lines("text/plain", many), 413, "too_large");
  const std::size_t limit = store_->limits().value_bytes;
  expect_problem(lines("text/plain", std::string(limit, 'x')), 413, "too_large");
  expect_empty();
}

TEST_F(ApiLogs, BadAppendsAreRefusedAndChangeNothing) {
  const char* const bodies[] = {"",
                                "{}",
                                R"({"events":[]})",
                                R"({"events":{}})",
                                R"({"events":[1]})",
                                R"({"events":[{}]})",
                                R"({"events":[{"data":1,"at":2}]})",
                                R"({"events":[{"data":1}],"batsh":"b"})",
                                R"({"events":[{"data":1}],"batch":""})",
                                R"({"events":[{"data":1}],"batch":1})",
                                R"({"events":[{"data":1}],"batch":"\u0007"})",
                                R"({"events":[{"data":1}],"expect":0})",
                                R"({"events":[{"data":1}],"expect":"1"})",
                                R"({"events":[{"data":1}],"expect":1.5})",
                                R"({"events":[{"data":1}],"expect":9223372036854775808})",
                                R"({"events":[{"data":1}],"ttl":"0s"})",
                                R"({"events":[{"data":1}],"ttl":-60})",
                                R"({"events":[{"data":1,"time":"yesterday"}]})",
                                R"({"events":[{"data":1,"data":2}]})",
                                R"({"events":[{"data":123456789012345678901234567890}]})",
                                "{\"events\":[{\"data\":\"\xff\"}]}"};
  for (const char* body : bodies) expect_problem(post("/v1/logs/s", body), 400, "invalid");
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  expect_problem(post("/v1/logs/s", R"({"events":[{"data":)" + deep + "}]}"), 400, "invalid");
  expect_problem(post("/v1/logs/s?expect=1", R"({"events":[{"data":1}]})"), 400, "invalid");
  expect_empty();
}

TEST_F(ApiLogs, BadLinesAreRefusedAndChangeNothing) {
  expect_problem(lines("text/plain", ""), 400, "invalid");
  expect_problem(lines("text/plain", "\xff\n"), 400, "invalid");
  expect_problem(lines("text/plain", "x", "?expect=one"), 400, "invalid");
  expect_problem(lines("text/plain", "x", "?ttl=soon"), 400, "invalid");
  expect_problem(lines("text/plain", "x", "?batch="), 400, "invalid");
  expect_problem(lines("text/plain", "x", "?expect=1&expect=1"), 400, "invalid");
  expect_problem(lines("text/plain", "x", "?time=now"), 400, "invalid");
  expect_problem(lines("application/x-ndjson", "\n \n"), 400, "invalid");
  const Response bad = lines("application/x-ndjson", "1\n{\n");
  expect_problem(bad, 400, "invalid");
  EXPECT_EQ(field(bad, "detail"), "line 2: the JSON is not JSON");
  expect_problem(call("POST", "/v1/logs/s", "x",
                      {{"Content-Type", "text/plain"}, {"content-type", "application/json"}}),
                 400, "invalid");
  expect_empty();
}

TEST_F(ApiLogs, BadReadsAndTrimsAreRefused) {
  for (const char* query : {"from=-1", "from=x", "from=9223372036854775808", "limit=0",
                            "limit=10001", "limit=x", "order=up", "follow=yes", "form=1"}) {
    expect_problem(get(std::string("/v1/logs/s?") + query), 400, "invalid");
  }
  for (const char* body : {"{}", R"({"before":-1})", R"({"before":"1"})", R"({"bevore":1})"}) {
    expect_problem(post("/v1/logs/s/trim", body), 400, "invalid");
  }
  expect_problem(post("/v1/logs/s/trim?x=1", R"({"before":1})"), 400, "invalid");
  expect_problem(post("/v1/logs/%ff", R"({"events":[{"data":1}]})"), 400, "invalid");
}

// Whatever a program appends by other ways comes out as JSON, and as itself where it is JSON.
TEST_F(ApiLogs, EventsOfOtherWritersAreJsonToo) {
  LocalLog log(*store_, "default", LogStrategy::conditional, clock_, entropy_);
  ASSERT_TRUE(log.append("s", {{"plain text", {}}, {"{\"a\": 1}", {}}, {"\xff", {}}, {"", {}}}));
  EXPECT_EQ(data(), R"("plain text" {"a":1} {"base64":"/w=="} null)");
}

}  // namespace
}  // namespace once::api
