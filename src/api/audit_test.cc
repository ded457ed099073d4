// What is taken away leaves a record, exactly one, whatever happens in between.
#include "api/audit.h"

#include "api/call.h"
#include "api/service_fixture.h"
#include "once/batching_driver.h"
#include "once/faulty_store.h"
#include "primitives/keys.h"
#include "testing/limited_store.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

// The API on a store that fails as it is told to, and that may take few writes per commit.
class AuditApi : public ServiceFixture {
 protected:
  static Response send(Service& service, BlockingDriver& driver, std::string method,
                       std::string target, std::string body = "") {
    Request request{std::move(method), std::move(target), {}, std::move(body)};
    Answer answer = service.respond(request);
    if (auto* ready = std::get_if<Response>(&answer)) return std::move(*ready);
    auto ran = driver.run(std::get<Plan<Response>>(std::move(answer)), kAttemptLife);
    return ran ? std::move(*ran) : Service::failed(ran.error());
  }

  // The records as "action namespace/key", one a line.
  std::string trail() {
    const LogPage page = driver_.run(logs::read(logs::stream("once", "audit"), {})).value();
    std::string all;
    for (const LogEntry& event : page.events) {
      const Json data = parse_json(event.data).value();
      all += std::string(data.at_key("action").get_string().value()) + " " +
             std::string(data.at_key("namespace").is_null()
                             ? "-"
                             : data.at_key("namespace").get_string().value()) +
             "/" + std::string(data.at_key("key").get_string().value()) + "\n";
    }
    return all;
  }
};

TEST_F(AuditApi, WhatIsTakenAwayIsRecordedOnce) {
  for (const std::string name : {"a", "bulk-1", "bulk-2"}) post("/v1/claims/" + name, "{}");
  post("/v1/seen", R"({"ids":["s"]})");
  post("/v1/logs/l", R"({"events":[{"data":1},{"data":2}]})");
  post("/v1/tallies/t", R"({"kind":"count"})");
  const Response put = call("PUT", "/v1/docs/d", "x", {{"If-None-Match", "*"}});
  call("PUT", "/v1/docs/many-1", "x", {{"If-None-Match", "*"}});
  EXPECT_EQ(trail(), "");
  for (int repeat = 0; repeat < 2; ++repeat) {
    call("DELETE", "/v1/claims/a");
    call("DELETE", "/v1/seen/s");
    post("/v1/bulk/claims/forget", R"({"prefix":"bulk-"})");
    post("/v1/logs/l/trim", R"({"before":2})");
    post("/v1/logs/l/close", "{}");
    call("DELETE", "/v1/logs/l");
    call("DELETE", "/v1/docs/d", "", {{"If-Match", std::string(*put.headers.find("ETag"))}});
    post("/v1/bulk/docs/delete", R"({"prefix":"many-"})");
    call("DELETE", "/v1/tallies/t");
  }
  EXPECT_EQ(trail(),
            "claim.forget default/a\nseen.forget default/s\nclaim.forget default/bulk-1\n"
            "claim.forget default/bulk-2\nlog.trim default/l\nlog.delete default/l\n"
            "doc.delete default/d\ndoc.delete default/many-1\ntally.delete default/t\n");
}

TEST_F(AuditApi, DocumentsThatACommitRemovesAreRecordedWithIt) {
  for (const std::string name : {"a", "b"}) {
    call("PUT", "/v1/docs/" + name, "x", {{"If-None-Match", "*"}});
  }
  const std::string body =
      R"({"id":"c","docs":[{"key":"a","delete":true},{"key":"b","delete":true},)"
      R"({"key":"new","if_none_match":"*","body":1}],"logs":[{"stream":"s","events":[{"data":1}]}]})";
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Response made = post("/v1/commit", body);
    EXPECT_EQ(made.status, 200) << made.body;
    EXPECT_NE(made.body.find(R"("logs":[{"first":1,"last":1}])"), std::string::npos) << made.body;
  }
  EXPECT_EQ(trail(), "doc.delete default/a\ndoc.delete default/b\n");
  // Neither what is refused nor what was gone before.
  post("/v1/commit", R"({"docs":[{"key":"new","if_match":"1","delete":true}]})");
  post("/v1/commit", R"({"docs":[{"key":"a","delete":true}]})");
  EXPECT_EQ(trail(), "doc.delete default/a\ndoc.delete default/b\n");
}

TEST_F(AuditApi, WhatChangesNothingIsNotRecorded) {
  post("/v1/claims/a", "{}");
  call("DELETE", "/v1/claims/b");
  post("/v1/bulk/claims/forget", R"({"prefix":"a","dry_run":true})");
  call("DELETE", "/v1/docs/d", "", {{"If-Match", R"("0000000000000001")"}});
  post("/v1/logs/l", R"({"events":[{"data":1}]})");
  post("/v1/logs/l/trim", R"({"before":1})");
  call("DELETE", "/v1/logs/l");  // It is open.
  call("DELETE", "/v1/tokens/nobody");
  EXPECT_EQ(trail(), "");
}

// Where the record comes before the change, the condition is looked at before both.
TEST_F(AuditApi, ADeletionThatIsRefusedIsNotRecordedWhereAStoreTakesOneWrite) {
  const Response put = call("PUT", "/v1/docs/d", "x", {{"If-None-Match", "*"}});
  testing::LimitedStore limited(*store_, 1);
  BlockingDriver driver(limited, clock_, entropy_);
  for (const std::string& etag :
       {std::string(R"("0000000000000001")"), std::string(*put.headers.find("ETag"))}) {
    EXPECT_EQ(trail(), "");
    Request request{"DELETE", "/v1/docs/d", {}, ""};
    request.headers.add("If-Match", etag);
    ASSERT_TRUE(driver.run(std::get<Plan<Response>>(service_.respond(request)), kAttemptLife));
  }
  EXPECT_EQ(trail(), "doc.delete default/d\n");
}

TEST_F(AuditApi, ChangesOfTokensSayWhoMadeThem) {
  const Response first = post("/v1/tokens", "{}");
  const std::vector<Headers::Field> as_first = {
      {"Authorization", "Bearer " + field(first, "token")}};
  const Response second = call("POST", "/v1/tokens", R"({"namespace":"n"})", as_first);
  call("DELETE", "/v1/tokens/" + field(second, "id"), "", as_first);
  EXPECT_EQ(trail(), "token.new -/" + field(first, "id") + "\ntoken.new -/" + field(second, "id") +
                         "\ntoken.revoke -/" + field(second, "id") + "\n");
  const LogPage page = driver_.run(logs::read(logs::stream("once", "audit"), {})).value();
  EXPECT_NE(page.events[0].data.find(R"("token":null)"), std::string::npos);
  EXPECT_NE(page.events[2].data.find(R"("token":")" + field(first, "id")), std::string::npos);
  EXPECT_EQ(page.events[2].data.find(field(first, "token")), std::string::npos);
}

TEST_F(AuditApi, NobodyWritesToTheTrailOrTakesItAway) {
  post("/v1/claims/a", "{}");
  call("DELETE", "/v1/claims/a");
  const std::vector<Headers::Field> there = {{"Once-Namespace", "once"}};
  for (const auto& [method, target] :
       std::vector<std::pair<std::string, std::string>>{{"POST", "/v1/logs/audit"},
                                                        {"POST", "/v1/logs/audit/trim"},
                                                        {"POST", "/v1/logs/audit/close"},
                                                        {"DELETE", "/v1/logs/audit"},
                                                        {"POST", "/v1/bulk/logs/delete"},
                                                        {"POST", "/v1/commit"}}) {
    expect_problem(call(method, target, R"({"before":9})", there), 403, "forbidden");
  }
  EXPECT_EQ(call("GET", "/v1/logs/audit", "", there).status, 200);
  EXPECT_EQ(trail(), "claim.forget default/a\n");
  EXPECT_EQ(call("GET", "/v1/items").body.find("audit"), std::string::npos);
}

TEST_F(AuditApi, ATokenOfANamespaceDoesNotReadIt) {
  const Response made = post("/v1/tokens", R"({"namespace":"n"})");
  const Response refused =
      call("GET", "/v1/logs/audit", "",
           {{"Once-Namespace", "once"}, {"Authorization", "Bearer " + field(made, "token")}});
  expect_problem(refused, 403, "forbidden");
}

TEST_F(AuditApi, AnImportThatIsSentAgainIsOneRecord) {
  call("PUT", "/v1/docs/d", "x", {{"If-None-Match", "*"}});
  const std::string items = field(get("/v1/items"), "items");
  EXPECT_EQ(post("/v1/items", R"({"items":)" + items + "}").status, 200);
  EXPECT_EQ(post("/v1/items", R"({"items":)" + items + "}").status, 200);
  EXPECT_EQ(trail(), "import */*\n");
}

TEST_F(AuditApi, RecordsAreKeptForThirtyDays) {
  post("/v1/claims/a", "{}");
  call("DELETE", "/v1/claims/a");
  clock_.advance(29 * 24h);
  EXPECT_EQ(trail(), "claim.forget default/a\n");
  clock_.advance(2 * 24h);
  EXPECT_EQ(trail(), "");
}

// Forgets one claim on a store where the n-th call meets a fault, then again without one, as a
// caller does whose answer was lost or whose process died.
struct Interrupted {
  Fault fault;
  std::size_t writes_per_commit;
};
class InterruptedAudit : public AuditApi, public ::testing::WithParamInterface<Interrupted> {};

TEST_P(InterruptedAudit, LeavesOneRecordOfAForgetThatIsRepeated) {
  for (std::size_t at = 0; at < 12; ++at) {
    Service service;
    const auto store = open_memory({}, clock_);
    testing::LimitedStore limited(*store, GetParam().writes_per_commit);
    const auto faulty = inject_faults(limited, {}, clock_);
    BlockingDriver driver(*faulty, clock_, entropy_);
    BlockingDriver sound(*store, clock_, entropy_);
    ASSERT_EQ(send(service, driver, "POST", "/v1/claims/a", "{}").status, 201);
    std::vector<Fault> script(at, Fault::none);
    script.push_back(GetParam().fault);
    faulty->script(script);
    send(service, driver, "DELETE", "/v1/claims/a");
    const std::vector<Fault> none(64, Fault::none);
    faulty->script(none);
    send(service, driver, "DELETE", "/v1/claims/a");
    faulty->deliver_late();
    send(service, driver, "DELETE", "/v1/claims/a");
    const LogPage page = sound.run(logs::read(logs::stream("once", "audit"), {})).value();
    EXPECT_EQ(page.events.size(), 1U) << "fault at call " << at;
    EXPECT_FALSE(sound.run(claims::show(keys::claim("default", "a"))).value());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, InterruptedAudit,
    ::testing::Values(Interrupted{Fault::fail_before, 1'000}, Interrupted{Fault::fail_after, 1'000},
                      Interrupted{Fault::lose_reply, 1'000}, Interrupted{Fault::land_late, 1'000},
                      Interrupted{Fault::fail_before, 1}, Interrupted{Fault::fail_after, 1},
                      Interrupted{Fault::lose_reply, 1}, Interrupted{Fault::land_late, 1}),
    [](const auto& tested) {
      return std::to_string(static_cast<int>(tested.param.fault)) + "With" +
             std::to_string(tested.param.writes_per_commit);
    });

// The record and the change are one commit, so that neither is seen without the other.
TEST_F(AuditApi, ACrashBetweenChangeAndRecordIsImpossibleWhereAStoreTakesBoth) {
  post("/v1/claims/a", "{}");
  for (std::size_t at = 0; at < 8; ++at) {
    const auto faulty = inject_faults(*store_, {}, clock_);
    BlockingDriver driver(*faulty, clock_, entropy_);
    std::vector<Fault> script(at, Fault::none);
    script.resize(1'000, Fault::fail_before);  // From then on it is as if the process had died.
    faulty->script(script);
    send(service_, driver, "DELETE", "/v1/claims/a");
    const bool gone = !driver_.run(claims::show(keys::claim("default", "a"))).value();
    EXPECT_EQ(gone, !trail().empty()) << at;
    if (gone) return;
  }
  FAIL() << "it was never forgotten";
}

TEST_F(AuditApi, ManyDeletionsAtOnceShareCommits) {
  constexpr int kClaims = 200;
  for (int i = 0; i < kClaims; ++i) post("/v1/claims/c" + std::to_string(i), "{}");
  const auto counted = inject_faults(*store_, {.scope = FaultPlan::Scope::group}, clock_);
  std::atomic<int> left = kClaims;
  {
    BatchingDriver driver(*counted, {}, clock_);
    for (int i = 0; i < kClaims; ++i) {
      const Request request{"DELETE", "/v1/claims/c" + std::to_string(i), {}, ""};
      Answer answer = service_.respond(request);
      ASSERT_TRUE(driver.start<Response>(std::get<Plan<Response>>(std::move(answer)),
                                         [&left](Result<Response> made) {
                                           EXPECT_TRUE(made && made->status == 204);
                                           --left;
                                         }));
    }
    while (left > 0) std::this_thread::yield();
  }
  EXPECT_EQ(driver_.run(logs::ends(logs::stream("once", "audit")))->next, kClaims + 1);
  EXPECT_LT(counted->counts().calls, kClaims * 2U);
}

TEST(Origin, IsTheAddressOrTheNetwork) {
  EXPECT_EQ(origin_text(0), "local");
  EXPECT_EQ(origin_text((std::uint64_t{1} << 32) | 0x7f000001), "127.0.0.1");
  EXPECT_EQ(origin_text(0x20010db800000001), "2001:db8:0:1::/64");
  EXPECT_EQ(origin_text(1), "::/64");
}

}  // namespace
}  // namespace once::api
