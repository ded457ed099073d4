#include "once/tallies.h"

#include <limits>

#include "api/service_fixture.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

class ApiTallies : public ServiceFixture {
 protected:
  Response add(std::string body) { return post("/v1/tallies/t", std::move(body)); }
  std::string body_now(const std::string& query = "") { return get("/v1/tallies/t" + query).body; }
};

TEST_F(ApiTallies, NumbersAreMergedByTheirKind) {
  EXPECT_EQ(add(R"({"kind":"sum","add":5})").body, R"({"kind":"sum","value":5})");
  EXPECT_EQ(add(R"({"kind":"sum","add":-7})").body, R"({"kind":"sum","value":-2})");
  EXPECT_EQ(body_now(), R"({"kind":"sum","value":-2})");
  post("/v1/tallies/real", R"({"kind":"real","add":0.5})");
  EXPECT_EQ(post("/v1/tallies/real", R"({"kind":"real","add":1})").body,
            R"({"kind":"real","value":1.5})");
  post("/v1/tallies/count", R"({"kind":"count"})");
  EXPECT_EQ(post("/v1/tallies/count", R"({"kind":"count","add":3})").body,
            R"({"kind":"count","value":4})");
  post("/v1/tallies/max", R"({"kind":"max","value":42})");
  EXPECT_EQ(post("/v1/tallies/max", R"({"kind":"max","value":-1})").body,
            R"({"kind":"max","value":42})");
  post("/v1/tallies/min", R"({"kind":"min","value":42})");
  EXPECT_EQ(post("/v1/tallies/min", R"({"kind":"min","value":-1})").body,
            R"({"kind":"min","value":-1})");
}

TEST_F(ApiTallies, SketchesAnswerWhatTheyKnow) {
  EXPECT_EQ(post("/v1/tallies/d", R"({"kind":"distinct","items":["a","b","a"]})").body,
            R"({"kind":"distinct","value":2})");
  EXPECT_EQ(
      post("/v1/tallies/p", R"({"kind":"top","items":["a",{"item":"b","count":3},{"item":"a"}]})")
          .body,
      R"({"kind":"top","value":[{"item":"b","count":3,"error":0},{"item":"a","count":2,"error":0}]})");
  EXPECT_EQ(post("/v1/tallies/b", R"({"kind":"bloom","items":["a b"]})").body,
            R"({"kind":"bloom","value":true})");
  EXPECT_EQ(get("/v1/tallies/b?item=a%20b").body, R"({"kind":"bloom","value":true})");
  EXPECT_EQ(get("/v1/tallies/b?item=c").body, R"({"kind":"bloom","value":false})");
  expect_problem(get("/v1/tallies/b"), 400, "invalid");
  expect_problem(get("/v1/tallies/d?item=a"), 400, "invalid");
}

TEST_F(ApiTallies, SketchesMayHaveASizeOfTheirOwn) {
  EXPECT_EQ(post("/v1/tallies/d", R"({"kind":"distinct","items":["a"],"precision":8})").status,
            200);
  EXPECT_EQ(post("/v1/tallies/p", R"({"kind":"top","items":["a"],"counters":2})").status, 200);
  EXPECT_EQ(
      post("/v1/tallies/b", R"({"kind":"bloom","items":["a"],"capacity":99,"rate":0.1})").status,
      200);
  expect_problem(post("/v1/tallies/p", R"({"kind":"top","items":["a"]})"), 409, "mismatch");
  for (const char* bad :
       {R"({"kind":"distinct","items":[],"precision":-8})",
        R"({"kind":"distinct","items":[],"precision":4294967310})",
        R"({"kind":"distinct","items":[],"counters":8})",
        R"({"kind":"top","items":[],"counters":0})", R"({"kind":"bloom","items":[],"capacity":0})",
        R"({"kind":"bloom","items":[],"capacity":1000000000000})",
        R"({"kind":"bloom","items":[],"rate":1})"}) {
    expect_problem(add(bad), 400, "invalid");
  }
  expect_problem(get("/v1/tallies/t"), 404, "not_found");
}

TEST_F(ApiTallies, AnIdIsMergedOnce) {
  EXPECT_FALSE(is_replayed(add(R"({"kind":"sum","add":5,"id":"i"})")));
  add(R"({"kind":"sum","add":1})");
  const Response again = add(R"({"kind":"sum","add":5,"id":"i"})");
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(is_replayed(again));
  EXPECT_EQ(again.body, R"({"kind":"sum","value":6})");
  expect_problem(add(R"({"kind":"sum","add":6,"id":"i"})"), 422, "mismatch");
  EXPECT_EQ(body_now(), R"({"kind":"sum","value":6})");
}

TEST_F(ApiTallies, AnotherKindOrWindowIsRefusedAndNamed) {
  add(R"({"kind":"sum","add":5,"window":"hour"})");
  const Response kind = add(R"({"kind":"max","value":9,"window":"hour"})");
  expect_problem(kind, 409, "mismatch");
  EXPECT_EQ(field(kind, "kind"), "sum");
  EXPECT_EQ(field(kind, "window"), "hour");
  expect_problem(add(R"({"kind":"sum","add":5})"), 409, "mismatch");
  expect_problem(add(R"({"kind":"sum","add":5,"window":"day"})"), 409, "mismatch");
  post("/v1/tallies/d", R"({"kind":"distinct","items":["a"]})");
  EXPECT_EQ(field(post("/v1/tallies/d", R"({"kind":"count"})"), "kind"), "distinct");
  EXPECT_EQ(body_now(), R"({"kind":"sum","window":"hour","value":5})");
}

TEST_F(ApiTallies, OverflowIsRefusedAndChangesNothing) {
  add(R"({"kind":"sum","add":9223372036854775807})");
  expect_problem(add(R"({"kind":"sum","add":1})"), 400, "invalid");
  expect_problem(add(R"({"kind":"sum","add":1,"id":"i"})"), 400, "invalid");
  EXPECT_EQ(body_now(), R"({"kind":"sum","value":9223372036854775807})");
  EXPECT_EQ(add(R"({"kind":"sum","add":-1,"id":"i"})").body,
            R"({"kind":"sum","value":9223372036854775806})");
  post("/v1/tallies/real", R"({"kind":"real","add":1.7e308})");
  expect_problem(post("/v1/tallies/real", R"({"kind":"real","add":1.7e308})"), 400, "invalid");
  EXPECT_EQ(get("/v1/tallies/real").body, R"({"kind":"real","value":1.7e+308})");
}

TEST_F(ApiTallies, WindowsAreReadByTheTimesAtWhichTheyStart) {
  const auto at = [](std::string time, int add) {
    return R"({"kind":"sum","window":"hour","add":)" + std::to_string(add) +
           R"(,"at":"2026-01-31T)" + time + R"(:00Z"})";
  };
  add(at("09:10", 1));
  add(at("10:00", 10));
  EXPECT_EQ(add(at("10:59", 20)).body, R"({"kind":"sum","window":"hour","value":30})");
  add(at("11:00", 100));
  const auto value = [&](const std::string& query) {
    return field(get("/v1/tallies/t?" + query), "value");
  };
  EXPECT_EQ(value(""), "131");
  EXPECT_EQ(value("from=2026-01-31T10:00:00Z&to=2026-01-31T11:00:00Z"), "30");
  EXPECT_EQ(value("from=2026-01-31T09:30:00Z"), "130");
  EXPECT_EQ(value("to=2026-01-31T10:00:00.001Z"), "31");
  EXPECT_EQ(value("from=2026-01-31T12:00:00Z"), "0");
  EXPECT_EQ(value("from=2026-01-31T11:00:00%2B01:00&to=2026-01-31T12:00:00%2B01:00"), "30");
}

TEST_F(ApiTallies, TheMaxOfNothingIsNull) {
  add(R"({"kind":"max","value":1,"window":"minute"})");
  EXPECT_EQ(body_now("?to=2020-01-01T00:00:00Z"),
            R"({"kind":"max","window":"minute","value":null})");
}

TEST_F(ApiTallies, ABucketIsKeptForItsTtl) {
  add(R"({"kind":"sum","add":5,"window":"minute","ttl":"1h"})");
  clock_.advance(1h);
  EXPECT_EQ(field(get("/v1/tallies/t"), "value"), "5");
  clock_.advance(1min);
  expect_problem(get("/v1/tallies/t"), 404, "not_found");
}

TEST_F(ApiTallies, AWindowIsAnyLengthThatFitsIntoDays) {
  for (const std::string window : {R"(900)", R"("7d")", R"("60m")", R"("minute")"}) {
    const std::string path = "/v1/tallies/w" + std::to_string(window.size());
    EXPECT_EQ(post(path, R"({"kind":"count","window":)" + window + "}").status, 200) << window;
  }
  EXPECT_EQ(field(get("/v1/tallies/w5"), "window"), "hour");
  EXPECT_EQ(field(get("/v1/tallies/w4"), "window"), "7d");
  for (const std::string window : {R"("7m")", R"("36h")", R"("0s")", R"("10ms")", "true", "-60"}) {
    expect_problem(add(R"({"kind":"count","window":)" + window + "}"), 400, "invalid");
  }
}

TEST_F(ApiTallies, TheLastTimeAndTheSeriesAreRead) {
  const auto count = [&] { add(R"({"kind":"count","window":"15m"})"); };
  count();
  clock_.advance(15min);
  count();
  count();
  clock_.advance(14min);
  EXPECT_EQ(field(get("/v1/tallies/t?last=10m"), "value"), "2");
  EXPECT_EQ(field(get("/v1/tallies/t?last=900"), "value"), "3");
  EXPECT_EQ(
      get("/v1/tallies/t?series=true").body,
      R"({"kind":"count","window":"15m","series":[{"at":"2024-10-04T00:00:00.000Z","value":1},)"
      R"({"at":"2024-10-04T00:15:00.000Z","value":2}]})");
  EXPECT_EQ(field(get("/v1/tallies/t?series=true&last=1m"), "series"),
            R"([{"at":"2024-10-04T00:15:00.000Z","value":2}])");
  for (const char* bad : {"last=soon", "last=1m&from=2024-10-04T00:00:00Z", "series=1", "limit=0",
                          "limit=1", "item=a"}) {
    expect_problem(get(std::string("/v1/tallies/t?") + bad), 400, "invalid");
  }
}

TEST_F(ApiTallies, OnlyTheFirstOfATopAreReadIfFewAreWanted) {
  add(R"({"kind":"top","items":["a","b","b",{"item":"c","count":9}]})");
  EXPECT_EQ(field(get("/v1/tallies/t?limit=1"), "value"), R"([{"item":"c","count":9,"error":0}])");
}

TEST_F(ApiTallies, ReadsMayDifferInKeyRangeAndItem) {
  add(R"({"kind":"count","window":"minute"})");
  clock_.advance(10min);
  add(R"({"kind":"count","window":"minute"})");
  post("/v1/tallies/b", R"({"kind":"bloom","items":["x"]})");
  EXPECT_EQ(post("/v1/tallies/read",
                 R"({"reads":[{"key":"t","last":"1m"},{"key":"b","item":"x"},{"key":"none"},)"
                 R"({"key":"t"},{"key":"b","item":"y"}]})")
                .body,
            R"({"values":[{"kind":"count","window":"minute","value":1},)"
            R"({"kind":"bloom","value":true},null,{"kind":"count","window":"minute","value":2},)"
            R"({"kind":"bloom","value":false}]})");
  expect_problem(post("/v1/tallies/read", R"({"reads":[{"key":"b"}]})"), 400, "invalid");
  expect_problem(post("/v1/tallies/read", R"({"reads":[{"key":"t","to":1}]})"), 400, "invalid");
  expect_problem(post("/v1/tallies/read", R"({"reads":[{"key":"t"}],"keys":["t"]})"), 400,
                 "invalid");
}

TEST_F(ApiTallies, AnIdIsKnownForItsOwnTtl) {
  const auto add_one = [&] { return add(R"({"kind":"sum","add":5,"id":"i","id_ttl":"10m"})"); };
  add_one();
  clock_.advance(9min);
  EXPECT_TRUE(is_replayed(add_one()));
  clock_.advance(1min);
  EXPECT_FALSE(is_replayed(add_one()));
}

TEST_F(ApiTallies, ARemovedOneIsGoneWithItsKindAndIds) {
  add(R"({"kind":"sum","add":5,"id":"i"})");
  EXPECT_EQ(call("DELETE", "/v1/tallies/t").status, 204);
  expect_problem(call("DELETE", "/v1/tallies/t"), 404, "not_found");
  expect_problem(get("/v1/tallies/t"), 404, "not_found");
  const Response anew = add(R"({"kind":"max","value":7,"id":"i"})");
  EXPECT_EQ(anew.body, R"({"kind":"max","value":7})");
  EXPECT_FALSE(is_replayed(anew));
}

TEST_F(ApiTallies, AreListedAndRemovedByPrefix) {
  post("/v1/tallies/a", R"({"kind":"count","window":"7d"})");
  post("/v1/tallies/b", R"({"kind":"bloom","items":[]})");
  EXPECT_EQ(get("/v1/tallies?prefix=a").body,
            R"({"tallies":[{"key":"a","kind":"count","window":"7d"}],"cursor":null})");
  EXPECT_EQ(get("/v1/tallies?prefix=b").body,
            R"({"tallies":[{"key":"b","kind":"bloom","window":null}],"cursor":null})");
  EXPECT_EQ(post("/v1/bulk/tallies/delete", R"({"prefix":"a"})").body,
            R"({"deleted":1,"cursor":null})");
  EXPECT_EQ(get("/v1/tallies/a").status, 404);
}

TEST_F(ApiTallies, ManyAreReadInOrder) {
  add(R"({"kind":"sum","add":5})");
  post("/v1/tallies/m", R"({"kind":"min","value":1})");
  EXPECT_EQ(post("/v1/tallies/read", R"({"keys":["m","none","t","m"]})").body,
            R"({"values":[{"kind":"min","value":1},null,{"kind":"sum","value":5},)"
            R"({"kind":"min","value":1}]})");
  EXPECT_EQ(post("/v1/tallies/read", R"({"keys":[]})").body, R"({"values":[]})");
  post("/v1/tallies/w", R"({"kind":"count","window":"day","at":"2026-01-31T09:00:00Z"})");
  EXPECT_EQ(post("/v1/tallies/read", R"({"keys":["w"],"from":"2026-02-01T00:00:00Z"})").body,
            R"({"values":[{"kind":"count","window":"day","value":0}]})");
  EXPECT_EQ(post("/v1/tallies/read", R"({"keys":["w"],"to":"2026-02-01T00:00:00Z"})").body,
            R"({"values":[{"kind":"count","window":"day","value":1}]})");
}

TEST_F(ApiTallies, AKeyTwiceIsReadOnceAndTooMuchIsRefused) {
  std::string keys;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "large" + std::to_string(i);
    const Response made =
        post("/v1/tallies/" + name, R"({"kind":"bloom","capacity":13000000,"items":["a"]})");
    ASSERT_EQ(made.status, 200) << made.body;
    keys.append(i == 0 ? "" : ",").append("\"" + name + "\"");
  }
  const Response twice =
      post("/v1/tallies/read", R"({"keys":["large0","none","large0","large0","large0"]})");
  EXPECT_EQ(twice.body, R"({"values":[{"kind":"bloom","value":null},null,)"
                        R"({"kind":"bloom","value":null},{"kind":"bloom","value":null},)"
                        R"({"kind":"bloom","value":null}]})");
  expect_problem(post("/v1/tallies/read", R"({"keys":[)" + keys + "]}"), 413, "too_large");
  EXPECT_EQ(get("/v1/tallies/large4?item=a").body, R"({"kind":"bloom","value":true})");
}

TEST_F(ApiTallies, BadReadsAreRefused) {
  for (const char* body : {"{}", R"({"keys":"t"})", R"({"keys":[1]})", R"({"keys":[""]})",
                           R"({"keys":["t"],"form":1})", R"({"keys":["t"],"from":"now"})",
                           R"({"keys":["t"],"to":1})"}) {
    expect_problem(post("/v1/tallies/read", body), 400, "invalid");
  }
  std::string many = R"({"keys":["a")";
  for (int i = 0; i < 10'000; ++i) many += R"(,"a")";
  expect_problem(post("/v1/tallies/read", many + "]}"), 400, "invalid");
  for (const char* query : {"from=now", "to=1", "form=x", "item=a&item=b"}) {
    expect_problem(get(std::string("/v1/tallies/t?") + query), 400, "invalid");
  }
  expect_problem(get("/v1/tallies/t"), 404, "not_found");
}

// "read" is a name as any other, by another spelling of its path.
TEST_F(ApiTallies, ATallyMayBeNamedRead) {
  EXPECT_EQ(post("/v1/tallies/%72ead", R"({"kind":"count"})").status, 200);
  EXPECT_EQ(get("/v1/tallies/read").body, R"({"kind":"count","value":1})");
  EXPECT_EQ(call("PUT", "/v1/tallies/read").headers.find("Allow"),
            "DELETE, POST, GET, HEAD, OPTIONS");
}

TEST_F(ApiTallies, BadInputIsRefusedAndChangesNothing) {
  const char* const bodies[] = {"",
                                "{}",
                                "[]",
                                R"({"kind":"average"})",
                                R"({"kind":1})",
                                R"({"kind":"own"})",
                                R"({"kind":"sum"})",
                                R"({"kind":"sum","add":"5"})",
                                R"({"kind":"sum","add":0.5})",
                                R"({"kind":"sum","add":9223372036854775808})",
                                R"({"kind":"sum","add":123456789012345678901234567890})",
                                R"({"kind":"sum","value":5})",
                                R"({"kind":"sum","add":5,"value":5})",
                                R"({"kind":"sum","add":5,"add":5})",
                                R"({"kind":"real"})",
                                R"({"kind":"real","add":"1"})",
                                R"({"kind":"real","add":1e999})",
                                R"({"kind":"count","add":0})",
                                R"({"kind":"count","add":-1})",
                                R"({"kind":"count","add":null})",
                                R"({"kind":"max"})",
                                R"({"kind":"max","add":1})",
                                R"({"kind":"min","value":1.5})",
                                R"({"kind":"distinct"})",
                                R"({"kind":"distinct","items":"a"})",
                                R"({"kind":"distinct","items":[1]})",
                                R"({"kind":"bloom","items":[{"item":"a"}]})",
                                R"({"kind":"top","items":[1]})",
                                R"({"kind":"top","items":[{"count":1}]})",
                                R"({"kind":"top","items":[{"item":"a","count":0}]})",
                                R"({"kind":"top","items":[{"item":"a","count":-1}]})",
                                R"({"kind":"top","items":[{"item":"a","error":1}]})",
                                R"({"kind":"sum","add":5,"id":""})",
                                R"({"kind":"sum","add":5,"id":"\u0000"})",
                                R"({"kind":"sum","add":5,"id":7})",
                                R"({"kind":"sum","add":5,"at":"now"})",
                                R"({"kind":"sum","add":5,"at":"1960-01-01T00:00:00Z"})",
                                R"({"kind":"sum","add":5,"window":"week"})",
                                R"({"kind":"sum","add":5,"window":null})",
                                R"({"kind":"sum","add":5,"ttl":"0s"})",
                                R"({"kind":"sum","add":5,"ttl":"forever"})",
                                "{\"kind\":\"distinct\",\"items\":[\"\xff\"]}"};
  for (const char* body : bodies) expect_problem(add(body), 400, "invalid");
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  expect_problem(add(R"({"kind":"distinct","items":)" + deep + "}"), 400, "invalid");
  const std::string item(513, 'x');
  expect_problem(add(R"({"kind":"top","items":[")" + item + R"("]})"), 400, "invalid");
  expect_problem(post("/v1/tallies/t?id=i", R"({"kind":"count"})"), 400, "invalid");
  expect_problem(get("/v1/tallies/t"), 404, "not_found");
}

}  // namespace
}  // namespace once::api
