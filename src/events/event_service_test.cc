// Events with handlers: real ones, on loopback, that do what a test wants.
#include "events/event_service.h"

#include <gtest/gtest.h>

#include <future>

#include "once/blocking_driver.h"
#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "testing/manual_clock.h"
#include "testing/upstream.h"
#include "wire/json.h"

namespace once::events {
namespace {

using namespace std::chrono_literals;
using testing::Gate;
using testing::http_answer;
using testing::Upstream;

std::string event_text(const std::string& id, const std::string& type = "t") {
  return R"({"specversion":"1.0","source":"/s","id":")" + id + R"(","type":")" + type + "\"}";
}

std::string ok(const std::string&, int) { return http_answer("204 No Content", ""); }

// A service, a store that may fail, and the events, in time that the test moves, or in real time.
class World {
 public:
  explicit World(const std::string& handler, IfStoreDown policy = IfStoreDown::proceed,
                 FaultPlan faults = {}, std::size_t forwards = 64, Clock* real = nullptr)
      : time_(real != nullptr ? *real : clock_), faulty_(inject_faults(*memory_, faults, time_)) {
    driver_.emplace(*faulty_, BatchingOptions{.batch_window = false}, time_, entropy_);
    events_.emplace(*driver_,
                    EventOptions{.routes = {{.type = "t",
                                             .forward = handler + "/handle?x=1",
                                             .log = "events",
                                             .tally = "count",
                                             .timeout = 20s,
                                             .lease = 30s},
                                            {.type = "bare", .forward = handler}},
                                 .if_store_down = policy,
                                 .forwards = forwards},
                    time_);
    service_.set_event_receiver(*events_);
  }
  ~World() {
    events_->stop();
    driver_.reset();
  }

  std::future<api::Response> send(const std::string& body, bool batch = false,
                                  ForwardContext context = {},
                                  const std::string& name_space = "default") {
    api::Request request{"POST", "/v1/events", {}, body};
    request.headers.add("Once-Namespace", name_space);
    request.headers.add("Content-Type", batch ? "application/cloudevents-batch+json"
                                              : "application/cloudevents+json");
    api::Deferred events = std::get<api::Deferred>(service_.respond(request));
    std::promise<api::Response> promise;
    std::future<api::Response> answer = promise.get_future();
    events.start(std::move(context),
                 [promise = std::move(promise)](api::Response response) mutable {
                   promise.set_value(std::move(response));
                 });
    return answer;
  }

  // The API on the store behind the faults.
  api::Response ask(const std::string& method, const std::string& target,
                    const std::string& body = "") {
    api::Answer answer = service_.respond({method, target, {}, body});
    BlockingDriver driver(*memory_, time_, entropy_);
    return *driver.run(std::get<Plan<api::Response>>(std::move(answer)));
  }
  std::string claim(const std::string& id) {
    return ask("GET", "/v1/claims/event%2F2:%2Fs" + id).body;
  }
  std::size_t logged() {
    const std::string body = ask("GET", "/v1/logs/events").body;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = body.find("\"index\"", at)) != std::string::npos; ++at) ++count;
    return count;
  }

  // In the order of the log.
  std::vector<std::string> logged_ids() {
    const std::string body = ask("GET", "/v1/logs/events").body;
    constexpr std::string_view kId = R"("id":")";
    std::vector<std::string> ids;
    for (std::size_t at = 0; (at = body.find(kId, at)) != std::string::npos;) {
      at += kId.size();
      ids.push_back(body.substr(at, body.find('"', at) - at));
    }
    return ids;
  }

  testing::ManualClock& clock() { return clock_; }
  FaultyStore& store() { return *faulty_; }
  EventService& events() { return *events_; }

 private:
  testing::ManualClock clock_;
  Clock& time_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, time_);
  std::unique_ptr<FaultyStore> faulty_;
  api::Service service_;
  std::optional<EventService> events_;  // Outlives the driver.
  std::optional<BatchingDriver> driver_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(EventDoor, ATallyThatIsNoCountIsFoundBeforeTheHandlerActs) {
  Upstream handler(ok);
  World world(handler.url());
  EXPECT_EQ(world.ask("POST", "/v1/tallies/count", R"({"kind":"sum","add":1})").status, 200);
  for (int i = 0; i < 3; ++i) {
    const api::Response refused = world.send(event_text("1")).get();
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_TRUE(has(refused.body, R"("code":"mismatch")")) << refused.body;
  }
  EXPECT_EQ(handler.requests(), 0);
  EXPECT_EQ(world.send(event_text("1", "bare")).get().status, 200);
}

TEST(EventDoor, SlowEventsOfOneNamespaceLeaveHandlersToOthers) {
  Gate gate;
  Upstream handler([&](const std::string& request, int) {
    if (has(request, "slow")) gate.wait();
    return http_answer("204 No Content", "");
  });
  World world(handler.url());
  std::vector<std::future<api::Response>> slow;
  for (int i = 0; i < 340; ++i) {
    slow.push_back(world.send(event_text("slow" + std::to_string(i), "bare"), false, {}, "greedy"));
  }
  handler.await_requests(36);  // Of 64, for one of several routes of one namespace.
  EXPECT_EQ(world.send(event_text("1", "t"), false, {}, "greedy").get().status, 200)
      << "another route of the same namespace";
  for (int i = 0; i < 20; ++i) {
    const std::string id = std::to_string(i);
    EXPECT_EQ(world.send(event_text(id, "bare"), false, {}, "modest").get().status, 200) << id;
  }
  gate.open();
  int refused = 0;
  for (auto& answer : slow) refused += answer.get().status == 503 ? 1 : 0;
  EXPECT_GT(refused, 0) << "more than may wait";
}

TEST(EventDoor, ForwardsFirstThenRecordsAndAnswersADuplicateWithoutTheHandler) {
  Upstream handler(ok);
  World world(handler.url());
  const api::Response first =
      world.send(event_text("1"), false, {"00-a-b-01", "k=v", "request-7"}).get();
  EXPECT_EQ(first.body, R"({"status":"processed","event_id":"1"})");
  const std::string request = handler.last();
  EXPECT_TRUE(request.starts_with("POST /handle?x=1 HTTP/1.1\r\n")) << request;
  EXPECT_TRUE(request.ends_with("\r\n\r\n" + event_text("1"))) << request;
  for (const std::string_view header :
       {"Content-Type: application/cloudevents+json\r\n", "Once-Attempt: 1\r\n",
        "Once-Fence: ", "Idempotency-Key: ", "traceparent: 00-a-b-01\r\n", "tracestate: k=v\r\n",
        "X-Request-Id: request-7\r\n"}) {
    EXPECT_TRUE(has(request, std::string(header))) << header << request;
  }
  EXPECT_EQ(world.logged(), 1U);
  EXPECT_TRUE(has(world.claim("1"), R"("result":{"status":"processed","forwarded":204})"));
  EXPECT_TRUE(has(world.send(event_text("1")).get().body, R"("status":"skipped")"));
  EXPECT_EQ(handler.requests(), 1);
}

TEST(EventDoor, AHandlerThatDoesNotTakeTheEventFreesIt) {
  Upstream handler([](const std::string&, int number) {
    switch (number) {
      case 1: return http_answer("500 Internal Server Error", "");
      case 2: return http_answer("503 Service Unavailable", "", "Retry-After: 7\r\n");
      case 3: return http_answer("429 Too Many Requests", "");
      case 4: return http_answer("301 Moved Permanently", "");
      case 5: return std::string();  // Hangs up.
      default: return http_answer("200 OK", "taken");
    }
  });
  World world(handler.url());
  const std::array<int, 6> statuses = {502, 503, 503, 502, 502, 200};
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const api::Response answer = world.send(event_text("1")).get();
    EXPECT_EQ(answer.status, statuses[i]) << answer.body;
    EXPECT_EQ(answer.headers.find("Retry-After").has_value(), statuses[i] != 200);
    if (i == 1) {
      EXPECT_EQ(answer.headers.find("Retry-After"), "7");
    }
    if (statuses[i] != 200) {
      EXPECT_EQ(answer.telemetry.outcome, api::Outcome::handler_failed);
      EXPECT_EQ(answer.telemetry.removed, 1U);
      EXPECT_EQ(world.logged(), 0U);
    }
    EXPECT_TRUE(has(handler.last(), "Once-Attempt: " + std::to_string(i + 1) + "\r\n"));
  }
  EXPECT_EQ(world.logged(), 1U);
  EXPECT_TRUE(has(world.send(event_text("1")).get().body, R"("status":"skipped")"));
  EXPECT_EQ(handler.requests(), 6);
}

TEST(EventDoor, ItsRoutesTellWhatCameOfTheirEvents) {
  Upstream handler([](const std::string&, int number) {
    return number == 1 ? http_answer("500 Internal Server Error", "") : http_answer("200 OK", "");
  });
  World world(handler.url());
  EXPECT_EQ(world.send(event_text("1")).get().status, 502);
  EXPECT_EQ(world.send(event_text("1")).get().status, 200);
  EXPECT_EQ(world.send(event_text("1")).get().status, 200);
  EXPECT_EQ(world.send(event_text("2", "bare")).get().status, 200);
  EXPECT_EQ(world.send(event_text("3", "of no route")).get().status, 200);
  std::vector<api::EventRouteReport> routes = world.events().routes();
  ASSERT_EQ(routes.size(), 2U);
  EXPECT_EQ(routes[0].type, "t");
  EXPECT_EQ(routes[0].forward, handler.url() + "/handle?x=1");
  EXPECT_EQ(routes[0].log, "events");
  EXPECT_EQ(routes[0].tally, "count");
  EXPECT_EQ(routes[0].processed, 1U);
  EXPECT_EQ(routes[0].skipped, 1U);
  EXPECT_EQ(routes[0].busy, 0U);
  EXPECT_EQ(routes[0].failed, 1U);
  EXPECT_EQ(routes[1].processed, 1U);
  world.events().set_routes({{.type = "t", .log = "events"}, {.type = "new"}});
  routes = world.events().routes();
  ASSERT_EQ(routes.size(), 2U);
  EXPECT_EQ(routes[0].processed, 1U) << "one that stays keeps its numbers";
  EXPECT_EQ(routes[1].processed, 0U);
}

TEST(EventDoor, AHandlerThatIsNotThereFreesTheEvent) {
  std::string url;
  {
    Upstream gone(ok);
    url = gone.url();
  }
  World world(url);
  EXPECT_EQ(world.send(event_text("1")).get().status, 502);
  EXPECT_TRUE(has(world.claim("1"), R"("state":"free")"));
}

TEST(EventDoor, TheClaimIsRenewedAsLongAsTheHandlerWorks) {
  Gate gate;
  Upstream handler([&](const std::string&, int) {
    gate.wait();
    return http_answer("200 OK", "");
  });
  World world(handler.url());
  std::future<api::Response> first = world.send(event_text("1"));
  handler.await_requests(1);
  // Four leases long; each third of one is renewed before the next passes.
  for (int i = 0; i < 12; ++i) {
    const std::string before = world.claim("1");
    world.clock().advance(10s);
    while (world.claim("1") == before) std::this_thread::yield();
    EXPECT_EQ(world.send(event_text("1")).get().status, 409);
  }
  gate.open();
  EXPECT_EQ(first.get().status, 200);
  EXPECT_EQ(handler.requests(), 1);
  EXPECT_EQ(world.logged(), 1U);
}

TEST(EventDoor, BeyondItsBoundsAnEventIsTurnedAwayAndFree) {
  Gate gate;
  Upstream handler([&](const std::string&, int) {
    gate.wait();
    return http_answer("200 OK", "");
  });
  World world(handler.url(), IfStoreDown::proceed, {}, 1);
  std::vector<std::future<api::Response>> answers;
  answers.push_back(world.send(event_text("0")));
  handler.await_requests(1);
  // Four may wait, and two of them for one of two routes.
  for (int i = 1; i <= 2; ++i) answers.push_back(world.send(event_text(std::to_string(i))));
  const api::Response refused = world.send(event_text("5")).get();
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(has(refused.body, R"("code":"overloaded")"));
  EXPECT_TRUE(refused.headers.find("Retry-After"));
  EXPECT_TRUE(has(world.claim("5"), R"("state":"free")"));
  gate.open();
  for (auto& answer : answers) EXPECT_EQ(answer.get().status, 200);
  EXPECT_EQ(world.send(event_text("5")).get().status, 200);
}

TEST(EventDoor, H44_ABatchIsForwardedAndLoggedInItsOrderAndARepeatInItIsADuplicate) {
  Upstream handler([](const std::string& request, int) {
    const bool bad = request.find(R"("id":"bad")") != std::string::npos;
    return http_answer(bad ? "500 Internal Server Error" : "200 OK", "");
  });
  // Those who meet at the end of the log pause for a moment.
  World world(handler.url(), IfStoreDown::proceed, {}, 64, &system_clock());
  std::string events = "[" + event_text("1") + ",{}," + event_text("bad") + "," + event_text("1");
  std::vector<std::string> ids = {"1"};
  for (int i = 2; i < 100; ++i) {
    ids.push_back(std::to_string(i));
    events += "," + event_text(ids.back());
  }
  const api::Response answer = world.send(events + "]", true).get();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.starts_with(
      R"([{"status":"processed","event_id":"1"},{"status":"invalid","status_code":400,)"))
      << answer.body.substr(0, 200);
  EXPECT_TRUE(has(answer.body, R"({"status":"failed","status_code":502,"retry_after":1,)"));
  EXPECT_TRUE(
      has(answer.body, R"({"status":"skipped","message":"Duplicate event","event_id":"1")"));
  EXPECT_EQ(answer.telemetry.parts.size(), 102U);
  EXPECT_EQ(handler.requests(), 100);
  EXPECT_EQ(world.logged(), 99U);
  EXPECT_EQ(world.logged_ids(), ids);
  EXPECT_EQ(world.send("[]", true).get().body, "[]");
}

TEST(EventDoor, AStoreThatIsDownIsPassedByAndSaidSo) {
  Upstream handler(ok);
  World world(handler.url(), IfStoreDown::proceed, {.fail_before = 1.0});
  const api::Response answer = world.send(event_text("1", "bare")).get();
  EXPECT_EQ(answer.body, R"({"status":"processed","event_id":"1","deduplicated":false})");
  EXPECT_EQ(answer.telemetry.outcome, api::Outcome::unguarded);
  EXPECT_EQ(answer.telemetry.ignored_error, api::Outcome::unavailable);
  EXPECT_FALSE(has(handler.last(), "Once-Fence"));
  EXPECT_TRUE(has(handler.last(), "Idempotency-Key: "));
  EXPECT_TRUE(has(world.send(event_text("1")).get().body, R"("recorded":false)"));
  EXPECT_EQ(handler.requests(), 2);
}

TEST(EventDoor, WhatWasForwardedWhileTheStoreWasDownIsMadeUpForIfItIsBack) {
  Upstream handler(ok);
  World world(handler.url());
  const std::array down = {Fault::fail_before};
  world.store().script(down);
  EXPECT_EQ(world.send(event_text("1")).get().body,
            R"({"status":"processed","event_id":"1","deduplicated":false})");
  EXPECT_EQ(world.logged(), 1U);
  EXPECT_TRUE(has(world.send(event_text("1")).get().body, R"("status":"skipped")"));
  EXPECT_EQ(handler.requests(), 1);
}

TEST(EventDoor, AStoreThatIsDownRefusesWhereThatIsConfigured) {
  Upstream handler(ok);
  World world(handler.url(), IfStoreDown::refuse, {.fail_before = 1.0});
  const api::Response answer = world.send(event_text("1", "bare")).get();
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(has(answer.body, R"("code":"unavailable")"));
  EXPECT_EQ(handler.requests(), 0);
}

TEST(EventDoor, WhoIsStoppedLeavesItsHandlersAtOnceAndFreesTheEvents) {
  Gate gate;
  Upstream handler([&](const std::string&, int) {
    gate.wait();
    return http_answer("200 OK", "");
  });
  World world(handler.url());
  std::future<api::Response> answer = world.send(event_text("1"));
  handler.await_requests(1);
  const auto start = std::chrono::steady_clock::now();
  world.events().stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_EQ(answer.get().status, 502);
  EXPECT_TRUE(has(world.claim("1"), R"("state":"free")"));
  EXPECT_EQ(world.send(event_text("2")).get().status, 503);
  gate.open();
}

}  // namespace
}  // namespace once::events
