// POST /v1/events without forwards: the answers, and what is in the store afterwards.
#include "api/routes.h"
#include "api/service_fixture.h"
#include "events/event_request.h"
#include "once/blocking_driver.h"
#include "once/faulty_store.h"

namespace once::events {
namespace {

using namespace std::chrono_literals;

const std::vector<Headers::Field> kStructured = {{"Content-Type", "application/cloudevents+json"}};
const std::vector<Headers::Field> kBatch = {{"Content-Type", "application/cloudevents-batch+json"}};

std::string plain_event(const std::string& id, const std::string& type = "plain",
                        const std::string& source = "/s") {
  return R"({"specversion":"1.0","source":")" + source + R"(","id":")" + id + R"(","type":")" +
         type + R"(","data":{"n":1}})";
}

class EventsDoor : public api::ServiceFixture {
 protected:
  EventsDoor() { service_.set_event_receiver(events_); }

  Response send(const std::string& event) { return call("POST", "/v1/events", event, kStructured); }
  Response send_batch(const std::string& events) {
    return call("POST", "/v1/events", events, kBatch);
  }

  // Of a batch: the field of each answer, with spaces between.
  static std::string each(const Response& response, std::string_view name) {
    const Result<api::Json> body = api::parse_json(response.body);
    simdjson::dom::array answers;
    if (!body || body->get(answers) != simdjson::SUCCESS) return "no array: " + response.body;
    std::string out;
    for (const api::Json one : answers) {
      api::Json value;
      std::string text = "-";
      if (one.at_key(name).get(value) == simdjson::SUCCESS) text = api::to_line(value);
      out.append(out.empty() ? "" : " ").append(text);
    }
    return out;
  }

  std::int64_t logged(const std::string& stream) {
    return std::stoll(field(get("/v1/logs/" + stream), "next")) - 1;
  }
  std::string counted() { return field(get("/v1/tallies/build-count"), "value"); }

  double value(const std::string& sample) {
    const std::string text = "\n" + get("/metrics").body;
    const std::size_t at = text.find("\n" + sample + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + sample.size() + 2));
  }
  void count(const Response& response) {
    service_.metrics().answered(api::subject_of("POST", "/v1/events"), response, 1ms);
  }

  // On a store with faults in place of the fixture's.
  Response send_to(Store& store, IfStoreDown policy, const std::string& event) {
    EventOptions options = options_;
    options.if_store_down = policy;
    PlannedEvents events(options);
    api::Service service;
    service.set_event_receiver(events);
    BlockingDriver driver(store, clock_, entropy_);
    Request request{"POST", "/v1/events", {}, event};
    request.headers.add("Content-Type", "application/cloudevents+json");
    api::Answer answer = service.respond(request);
    auto ran = driver.run(std::get<Plan<Response>>(std::move(answer)));
    Response response = ran ? std::move(*ran) : api::Service::failed(ran.error());
    count(response);
    return response;
  }

  const EventOptions options_{.routes = {
                                  {.type = "build.*", .log = "builds", .tally = "build-count"},
                                  {.type = "build.late", .log = "never"},
                                  {.type = "short", .ttl = 1s},
                                  {.type = "away", .forward = "http://127.0.0.1:1/"},
                              }};
  PlannedEvents events_{options_};
};

TEST_F(EventsDoor, TheFirstDeliveryIsProcessedAndTheNextSkippedWithTheTimeOfTheFirst) {
  const Response first = send(plain_event("1"));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, R"({"status":"processed","event_id":"1"})");
  clock_.advance(5s);
  const Response second = send(plain_event("1"));
  EXPECT_EQ(second.status, 200);
  EXPECT_TRUE(is_replayed(second));
  EXPECT_EQ(second.body, R"({"status":"skipped","message":"Duplicate event","event_id":"1",)"
                         R"("processed_at":"2024-10-04T00:00:00.000Z"})");
}

TEST_F(EventsDoor, IsLoggedAndCountedWithItsCompletionAndByTheFirstRouteAlone) {
  EXPECT_EQ(field(send(plain_event("1", "build.start")), "status"), "processed");
  EXPECT_EQ(field(send(plain_event("1", "build.start")), "status"), "skipped");
  EXPECT_EQ(field(send(plain_event("2", "build.late")), "status"), "processed");
  EXPECT_EQ(field(send(plain_event("3", "unbuild.start")), "status"), "processed");
  EXPECT_EQ(logged("builds"), 2);
  EXPECT_EQ(logged("never"), 0);
  EXPECT_EQ(counted(), "2");
  EXPECT_TRUE(get("/v1/logs/builds").body.contains(R"("data":)" + plain_event("1", "build.start")));
}

TEST_F(EventsDoor, IsKnownBySourceAndIdTogetherAndApartInEachNamespace) {
  EXPECT_EQ(field(send(plain_event("bc", "plain", "a")), "status"), "processed");
  EXPECT_EQ(field(send(plain_event("c", "plain", "ab")), "status"), "processed");
  EXPECT_EQ(field(send(plain_event("bc", "other", "a")), "status"), "skipped");
  auto headers = kStructured;
  headers.push_back({"Once-Namespace", "n"});
  const Response other = call("POST", "/v1/events", plain_event("bc", "plain", "a"), headers);
  EXPECT_EQ(field(other, "status"), "processed");
}

TEST_F(EventsDoor, AnIdOrASourceOfAnyLengthHasAClaim) {
  const std::string longest(20'000, 'x');
  EXPECT_EQ(field(send(plain_event(longest)), "status"), "processed");
  EXPECT_EQ(field(send(plain_event(longest)), "status"), "skipped");
  EXPECT_EQ(field(send(plain_event(longest + "y")), "status"), "processed");
  EXPECT_EQ(field(send(plain_event("1", "plain", longest)), "status"), "processed");
  EXPECT_EQ(field(send(plain_event("1", "plain", longest)), "status"), "skipped");
}

TEST_F(EventsDoor, IsForgottenAfterTheTtlOfItsType) {
  send(plain_event("1", "short"));
  send(plain_event("2"));
  clock_.advance(2s);
  EXPECT_EQ(field(send(plain_event("1", "short")), "status"), "processed");
  EXPECT_EQ(field(send(plain_event("2")), "status"), "skipped");
  clock_.advance(24h);
  EXPECT_EQ(field(send(plain_event("2")), "status"), "processed");
}

TEST_F(EventsDoor, WhileItIsBeingProcessedIs409AndComesToItsTurnWhenTheLeaseEnds) {
  ASSERT_EQ(post("/v1/claims/event%2F2:%2Fs1", R"({"lease":"30s"})").status, 201);
  const Response busy = send(plain_event("1", "build.start"));
  expect_problem(busy, 409, "busy");
  EXPECT_EQ(busy.headers.find("Retry-After"), "5");
  EXPECT_EQ(field(busy, "event_id"), "1");
  EXPECT_EQ(logged("builds"), 0);
  clock_.advance(1min);
  EXPECT_EQ(field(send(plain_event("1", "build.start")), "status"), "processed");
  EXPECT_EQ(logged("builds"), 1);
}

TEST_F(EventsDoor, WhatIsNoEventMarksNothing) {
  expect_problem(send(R"({"specversion":"1.0","id":"1","source":"/s"})"), 400, "invalid");
  expect_problem(
      call("POST", "/v1/events", plain_event("1"), {{"Content-Type", "application/json"}}), 400,
      "invalid");
  expect_problem(call("POST", "/v1/events", "", {{"Content-Type", "application/cloudevents+xml"}}),
                 400, "invalid");
  expect_problem(call("POST", "/v1/events?x=1", plain_event("1"), kStructured), 400, "invalid");
  expect_problem(send_batch(plain_event("1")), 400, "invalid");
  EXPECT_EQ(get("/v1/claims").body, R"({"claims":[],"cursor":null})");
}

TEST_F(EventsDoor, ABatchIsAnsweredEventByEventInItsOrder) {
  send(plain_event("old"));
  const Response answer =
      send_batch("[" + plain_event("new", "build.start") + R"(,{"id":"bad"},)" +
                 plain_event("old") + "," + plain_event("new", "build.start") + ",7]");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(each(answer, "status"), R"("processed" "invalid" "skipped" "skipped" "invalid")");
  EXPECT_EQ(each(answer, "event_id"), R"("new" "bad" "old" "new" -)");
  EXPECT_EQ(each(answer, "status_code"), "- 400 - - 400");
  EXPECT_EQ(logged("builds"), 1);
  EXPECT_EQ(send_batch("[]").body, "[]");
}

TEST_F(EventsDoor, ABatchHasABound) {
  std::string events = "[" + plain_event("0");
  for (int i = 1; i <= 1'000; ++i) events += "," + plain_event(std::to_string(i));
  expect_problem(send_batch(events + "]"), 413, "too_large");
  EXPECT_EQ(get("/v1/claims").body, R"({"claims":[],"cursor":null})");
}

TEST_F(EventsDoor, InBinaryModeIsTheSameEventAsInStructuredMode) {
  const std::vector<Headers::Field> headers = {{"Content-Type", "application/json"},
                                               {"CE-SpecVersion", "1.0"},
                                               {"ce-id", "a%20b"},
                                               {"ce-source", "/s"},
                                               {"ce-type", "build.start"},
                                               {"ce-subject", "\"Euro %E2%82%AC\""}};
  const Response first = call("POST", "/v1/events", R"({ "n": 1 })", headers);
  EXPECT_EQ(first.body, R"({"status":"processed","event_id":"a b"})");
  EXPECT_EQ(field(send(plain_event("a b")), "status"), "skipped");
  const std::string logged = get("/v1/logs/builds").body;
  EXPECT_TRUE(
      logged.contains(R"("specversion":"1.0","id":"a b","source":"/s","type":"build.start",)"
                      R"("subject":"Euro €","data":{"n":1}})"))
      << logged;
}

TEST_F(EventsDoor, ATallyOfAnotherKindFreesTheEventAndWritesNothing) {
  post("/v1/tallies/build-count", R"({"kind":"max","value":9})");
  expect_problem(send(plain_event("1", "build.start")), 409, "mismatch");
  EXPECT_EQ(logged("builds"), 0);
  EXPECT_EQ(field(get("/v1/claims/event%2F2:%2Fs1"), "state"), "free");
}

TEST_F(EventsDoor, WhoHasNoServerCannotForward) {
  expect_problem(send(plain_event("1", "away")), 501, "unsupported");
}

TEST_F(EventsDoor, AStoreThatIsDownIsPassedOrRefusedAsConfiguredAndCountedEitherWay) {
  const auto down = inject_faults(*store_, {.fail_before = 1.0}, clock_);
  const Response passed = send_to(*down, IfStoreDown::proceed, plain_event("1"));
  EXPECT_EQ(passed.status, 200);
  EXPECT_EQ(passed.body, R"({"status":"processed","event_id":"1","deduplicated":false})");
  EXPECT_EQ(value(R"(idempotency_errors_total{reason="unavailable"})"), 1);
  EXPECT_EQ(value(R"(once_outcomes_total{primitive="events",outcome="unguarded"})"), 1);
  const Response refused = send_to(*down, IfStoreDown::refuse, plain_event("1"));
  expect_problem(refused, 503, "unavailable");
  EXPECT_TRUE(refused.headers.find("Retry-After"));
  EXPECT_EQ(value(R"(idempotency_errors_total{reason="unavailable"})"), 2);
}

TEST_F(EventsDoor, WhatOnlyTheStoreCanDoIsNeverToldAsDoneWhenItIsDown) {
  const auto down = inject_faults(*store_, {.fail_before = 1.0}, clock_);
  expect_problem(send_to(*down, IfStoreDown::proceed, plain_event("1", "build.start")), 503,
                 "unavailable");
}

TEST_F(EventsDoor, ACommitWhoseReplyIsLostIsSentAgainAndTakesEffectOnce) {
  const auto faulty = inject_faults(*store_, {}, clock_);
  // The claim's commit passes; that of log, tally and completion is performed, and not told.
  const std::vector<Fault> faults = {Fault::none, Fault::none, Fault::none, Fault::fail_after};
  faulty->script(faults);
  const Response answer = send_to(*faulty, IfStoreDown::refuse, plain_event("1", "build.start"));
  EXPECT_EQ(field(answer, "status"), "processed") << answer.body;
  EXPECT_EQ(faulty->counts().injected, 1U);
  EXPECT_EQ(logged("builds"), 1);
  EXPECT_EQ(counted(), "1");
}

TEST_F(EventsDoor, EachEventOfABatchIsCountedByItsType) {
  count(send_batch("[" + plain_event("1", "a") + "," + plain_event("2", "b") + "]"));
  count(send_batch("[" + plain_event("1", "a") + "," + plain_event("2", "b") + "," +
                   plain_event("2", "b") + R"(,{"id":"x","type":"c"}])"));
  count(send("{}"));
  EXPECT_EQ(value(R"(duplicate_events_skipped_total{event_type="a"})"), 1);
  EXPECT_EQ(value(R"(duplicate_events_skipped_total{event_type="b"})"), 2);
  EXPECT_EQ(value(R"(validation_errors_total{event_type="c"})"), 1);
  EXPECT_EQ(value(R"(validation_errors_total{event_type="events"})"), 1);
  EXPECT_EQ(value(R"(once_outcomes_total{primitive="events",outcome="executed"})"), 2);
  EXPECT_EQ(value(R"(once_outcomes_total{primitive="events",outcome="replayed"})"), 3);
  EXPECT_EQ(value(R"(once_outcomes_total{primitive="events",outcome="invalid"})"), 2);
  EXPECT_EQ(value(R"(idempotency_cache_operations_total{operation="check"})"), 5);
  EXPECT_EQ(value(R"(idempotency_cache_operations_total{operation="mark"})"), 2);
}

}  // namespace
}  // namespace once::events
