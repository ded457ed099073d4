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
  EXPECT_EQ(field(get("/v1/tallies/t"), "value"), "0");
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
  EXPECT_EQ(call("PUT", "/v1/tallies/read").headers.find("Allow"), "POST, GET, HEAD, OPTIONS");
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
