#include "api/routes.h"
#include "api/service_fixture.h"
#include "events/event_request.h"
#include "wire/worker_status.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

class Operators : public ServiceFixture {
 protected:
  static Headers::Field bearer(const std::string& secret) {
    return {"Authorization", "Bearer " + secret};
  }

  // As a worker leaves it.
  void leave(const std::string& id, const std::string& body, const std::string& name_space) {
    std::string target = "/v1/docs/.once%2Fworkers%2F";
    const Response put = call("PUT", target.append(id), body,
                              {{"If-None-Match", "*"},
                               {"Once-TTL", "35s"},
                               {"Once-Namespace", name_space},
                               {"Content-Type", "application/json"}});
    EXPECT_EQ(put.status, 201) << put.body;
  }
  static std::string status_of(const std::string& kind) {
    return wire::encode({.kind = kind,
                         .name = "jobs",
                         .host = "a",
                         .pid = 7,
                         .started_at = Time(1'000s),
                         .at = Time(1'500s),
                         .done = 3,
                         .waiting = 9,
                         .lag = 250ms});
  }
};

TEST_F(Operators, NamespacesAreThoseThatWereAskedForOrHaveSomethingOrATokenAndTheUsualOne) {
  (void)service_.tenants().find("team-b");
  (void)service_.tenants().find("team-a");
  service_.tenants().set_stored({.by_name = {{"team-a", {}}, {"team-d", {}}}, .all = {}});
  service_.tokens().add({tokens::id_of("all"), {}});
  service_.tokens().add({tokens::id_of("bound"), {.name_space = "team-c"}});
  const auto list = [&](const std::string& query, const std::string& secret) {
    return call("GET", "/v1/namespaces" + query, "", {bearer(secret)}).body;
  };
  EXPECT_EQ(list("", "all"),
            R"({"namespaces":["default","team-a","team-b","team-c","team-d"],"cursor":null})");
  EXPECT_EQ(list("", "bound"), R"({"namespaces":["team-c"],"cursor":null})");
  EXPECT_EQ(list("?prefix=team-b", "all"), R"({"namespaces":["team-b"],"cursor":null})");
  const Response first = call("GET", "/v1/namespaces?prefix=team&limit=2", "", {bearer("all")});
  EXPECT_EQ(field(first, "namespaces"), R"(["team-a","team-b"])");
  EXPECT_EQ(list("?prefix=team&limit=2&cursor=" + field(first, "cursor"), "all"),
            R"({"namespaces":["team-c","team-d"],"cursor":null})");
  expect_problem(call("GET", "/v1/namespaces?limit=0", "", {bearer("all")}), 400, "invalid");
}

TEST_F(Operators, WorkersAreThoseOfTheNamespaceWhileTheirRecordsLast) {
  leave("work%2Fa%2F7-1", status_of("work"), "default");
  leave("proxy%2Fa%2F8-1", status_of("proxy"), "default");
  leave("work%2Fb%2F9-1", "no record", "default");
  leave("work%2Fc%2F7-1", status_of("work"), "other");
  const Response all = get("/v1/workers");
  EXPECT_NE(all.body.find(R"({"workers":[{"id":"proxy/a/8-1","kind":"proxy",)"), std::string::npos)
      << all.body;
  EXPECT_EQ(get("/v1/workers?prefix=work/").body,
            R"({"workers":[{"id":"work/a/7-1","kind":"work","name":"jobs","host":"a","pid":7,)"
            R"("started_at":"1970-01-01T00:16:40.000Z","at":"1970-01-01T00:25:00.000Z",)"
            R"("in_flight":0,"done":3,"duplicates":0,"failed":0,"dead":0,"waiting":9,)"
            R"("lag_seconds":0.25}],"cursor":null})");
  const Response one = get("/v1/workers?limit=1");
  EXPECT_NE(field(one, "cursor"), "null");
  EXPECT_NE(get("/v1/workers?limit=10&cursor=" + field(one, "cursor")).body.find("work/a/7-1"),
            std::string::npos);
  clock_.advance(36s);
  EXPECT_EQ(get("/v1/workers").body, R"({"workers":[],"cursor":null})");
}

TEST_F(Operators, RoutesAreToldToThoseWhoMaySeeAllNamespaces) {
  EXPECT_EQ(get("/v1/routes").body, R"({"routes":[]})");
  events::PlannedEvents events({.routes = {{.type = "a.*", .forward = "http://me:secret@h/p"},
                                           {.type = "b", .log = "l", .tally = "t"}}});
  service_.set_event_receiver(events);
  EXPECT_EQ(get("/v1/routes").body,
            R"({"routes":[{"type":"a.*","forward":"http://me:***@h/p","log":null,"tally":null,)"
            R"("processed":0,"skipped":0,"busy":0,"failed":0},{"type":"b","forward":null,)"
            R"("log":"l","tally":"t","processed":0,"skipped":0,"busy":0,"failed":0}]})");
  service_.tokens().add({tokens::id_of("reader"), {.read_only = true}});
  service_.tokens().add({tokens::id_of("bound"), {.name_space = "n"}});
  EXPECT_EQ(call("GET", "/v1/routes", "", {bearer("reader")}).status, 200);
  expect_problem(call("GET", "/v1/routes", "", {bearer("bound")}), 403, "forbidden");
}

TEST_F(Operators, TheHistoryHasWhatCameOfRequestsAndBeginsWhereItIsAskedFor) {
  EXPECT_EQ(get("/v1/history").body,
            R"({"time":"2024-10-04T00:00:00.000Z","every_seconds":5,"samples":[]})");
  const auto answered = [&](const std::string& method, const std::string& target) {
    service_.metrics().answered(subject_of(method, target), call(method, target), 0ns);
  };
  const auto pass = [&] {
    clock_.advance(5s);
    service_.history().sample(clock_.now());
  };
  answered("POST", "/v1/claims/a");
  answered("POST", "/v1/claims/a");
  answered("GET", "/v1/docs");
  answered("GET", "/metrics");
  pass();
  pass();
  const std::string first =
      R"({"at":"2024-10-04T00:00:05.000Z","seconds":5,"p50_seconds":0,"p99_seconds":0,)"
      R"("outcomes":{"claims":{"executed":1,"busy":1},"documents":{"read":1}}})";
  const std::string second =
      R"({"at":"2024-10-04T00:00:10.000Z","seconds":5,"p50_seconds":null,"p99_seconds":null,)"
      R"("outcomes":{}})";
  EXPECT_EQ(field(get("/v1/history"), "samples"), "[" + first + "," + second + "]");
  EXPECT_EQ(field(get("/v1/history?after=2024-10-04T00:00:05Z"), "samples"), "[" + second + "]");
  expect_problem(get("/v1/history?after=then"), 400, "invalid");
}

TEST_F(Operators, TheHistoryIsToldToThoseWhoMaySeeAllNamespaces) {
  service_.tokens().add({tokens::id_of("reader"), {.read_only = true}});
  service_.tokens().add({tokens::id_of("bound"), {.name_space = "n"}});
  EXPECT_EQ(call("GET", "/v1/history", "", {bearer("reader")}).status, 200);
  expect_problem(call("GET", "/v1/history", "", {bearer("bound")}), 403, "forbidden");
  expect_problem(get("/v1/history"), 401, "unauthorized");
}

}  // namespace
}  // namespace once::api
