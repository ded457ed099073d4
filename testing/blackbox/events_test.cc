// CloudEvents at the real binary, with real handlers.
#include <gtest/gtest.h>

#include <fstream>

#include "testing/needs_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"
#include "testing/upstream.h"

namespace once::testing {
namespace {

constexpr std::string_view kStructured = "Content-Type: application/cloudevents+json\r\n";
constexpr std::string_view kBatch = "Content-Type: application/cloudevents-batch+json\r\n";

std::string event_text(const std::string& id) {
  return R"({"specversion":"1.0","source":"/s","id":")" + id +
         R"(","type":"build.start","data":{"n":1}})";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A server whose route for build.* forwards, logs and counts.
class Events : public ::testing::Test {
 protected:
  void serve(const std::string& handler, const std::string& store = "memory:") {
    const std::string config = (dir_.path() / "once.toml").string();
    std::ofstream(config) << "[[route]]\ntype = 'build.*'\nforward = '" << handler
                          << "/handle'\nlog = 'builds'\ntally = 'build-count'\nttl = '1h'\n"
                          << "timeout = '30s'\nlease = '1s'\n";
    const std::vector<std::string> more = {"--config", config, "--log", "text"};
    server_ = std::make_unique<ServerProcess>(store, more);
    ASSERT_TRUE(server_->running());
  }

  RawAnswer send(const std::string& body, std::string_view headers = kStructured) const {
    RawHttp client(server_->port());
    return client.call("POST", "/v1/events", body, headers).value_or(RawAnswer{});
  }
  std::string get(const std::string& target) const {
    return RawHttp(server_->port()).call("GET", target).value_or(RawAnswer{}).body;
  }
  // Indexes in the log, and the count.
  std::string recorded() const {
    const std::string log = get("/v1/logs/builds");
    const std::string next = log.substr(log.rfind("\"next\""));
    return next + get("/v1/tallies/build-count");
  }

  TempDir dir_;
  std::unique_ptr<ServerProcess> server_;
};

const std::string kRecordedOnce = R"("next":2}{"kind":"count","value":1})";

TEST_F(Events, ComeInEveryModeAndGoToTheHandlerAsTheyCame) {
  Upstream handler([](const std::string&, int) { return http_answer("202 Accepted", ""); });
  serve(handler.url());
  const std::string binary =
      "ce-specversion: 1.0\r\nce-id: b%20c\r\nce-source: /s\r\nce-type: build.start\r\n"
      "ce-tenant: t\r\nContent-Type: text/plain\r\nAuthorization: Bearer secret\r\n"
      "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
      "tracestate: a=b\r\n";
  EXPECT_EQ(send("hello", binary).body, R"({"status":"processed","event_id":"b c"})");
  const std::string first = handler.last();
  EXPECT_TRUE(first.starts_with("POST /handle HTTP/1.1\r\n"));
  EXPECT_TRUE(first.ends_with("\r\n\r\nhello"));
  EXPECT_TRUE(has(first, "ce-id: b%20c\r\n") && has(first, "ce-tenant: t\r\n")) << first;
  EXPECT_TRUE(has(first, "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-")) << first;
  EXPECT_FALSE(has(first, "00f067aa0ba902b7")) << "the parent is this server's span";
  EXPECT_TRUE(has(first, "tracestate: a=b\r\n"));
  EXPECT_FALSE(has(first, "secret")) << "what opens Once is not the handler's to know";

  EXPECT_EQ(send(event_text("1")).body, R"({"status":"processed","event_id":"1"})");
  EXPECT_TRUE(handler.last().ends_with(event_text("1")));
  const RawAnswer again = send(event_text("1"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  EXPECT_TRUE(has(again.body, R"("status":"skipped","message":"Duplicate event","event_id":"1",)"
                              R"("processed_at":"20)"))
      << again.body;

  const RawAnswer batch = send("[" + event_text("1") + "," + event_text("2") + ",5]", kBatch);
  EXPECT_EQ(batch.status, 200);
  EXPECT_TRUE(has(batch.body, R"({"status":"processed","event_id":"2"},{"status":"invalid")"));
  EXPECT_EQ(handler.requests(), 3);
  EXPECT_EQ(recorded(), R"("next":4}{"kind":"count","value":3})");
  EXPECT_TRUE(
      has(get("/metrics"), R"(duplicate_events_skipped_total{event_type="build.start"} 2)"));
}

TEST_F(Events, AreRefusedWhileTheyAreBeingProcessed) {
  Gate gate;
  Upstream handler([&](const std::string&, int) {
    gate.wait();
    return http_answer("200 OK", "");
  });
  serve(handler.url());
  RawHttp first(server_->port());
  first.send("POST", "/v1/events", event_text("1"), kStructured);
  handler.await_requests(1);
  const RawAnswer busy = send(event_text("1"));
  EXPECT_EQ(busy.status, 409);
  EXPECT_NE(busy.header("Retry-After"), "");
  EXPECT_EQ(RawHttp(server_->port()).call("GET", "/healthz")->status, 200);
  gate.open();
  EXPECT_EQ(first.receive()->status, 200);
  EXPECT_EQ(send(event_text("1")).status, 200);
  EXPECT_EQ(handler.requests(), 1);
  EXPECT_EQ(recorded(), kRecordedOnce);
}

// As a Knative broker delivers: once more after 10, 20, 40, ... ms, 5 times, while it gets no 2xx.
RawAnswer deliver(const std::function<RawAnswer()>& send, int& deliveries) {
  RawAnswer answer = send();
  deliveries = 1;
  for (auto wait = std::chrono::milliseconds(10); deliveries <= 5 && answer.status / 100 != 2;
       wait *= 2) {
    std::this_thread::sleep_for(wait);
    answer = send();
    ++deliveries;
  }
  return answer;
}

TEST_F(Events, RetriedLikeKnativeDoesAgainstAFailingAndRecoveringHandlerHaveOneRecordedOutcome) {
  std::mutex mutex;
  std::vector<std::string> keys;
  Upstream handler([&](const std::string& request, int number) {
    const std::size_t at = request.find("Idempotency-Key: ");
    {
      const std::lock_guard lock(mutex);
      keys.push_back(request.substr(at, request.find("\r\n", at) - at));
    }
    if (number == 1) return http_answer("500 Internal Server Error", "");
    if (number == 2) return std::string();  // Takes it, and hangs up.
    if (number == 3) return http_answer("503 Service Unavailable", "");
    return http_answer("200 OK", "");
  });
  serve(handler.url());
  int deliveries = 0;
  EXPECT_EQ(deliver([&] { return send(event_text("1")); }, deliveries).status, 200);
  EXPECT_EQ(deliveries, 4);
  EXPECT_EQ(deliver([&] { return send(event_text("1")); }, deliveries).status, 200);
  EXPECT_EQ(deliveries, 1);
  EXPECT_EQ(handler.requests(), 4);
  EXPECT_EQ(recorded(), kRecordedOnce);
  const std::lock_guard lock(mutex);
  for (const std::string& key : keys) EXPECT_EQ(key, keys[0]) << "the handler can tell";
}

TEST_F(Events, WhoseHandlerNeverRecoversAreFreeForWhoeverSendsThemLater) {
  Upstream handler([](const std::string&, int number) {
    return http_answer(number <= 6 ? "500 Internal Server Error" : "200 OK", "");
  });
  serve(handler.url());
  int deliveries = 0;
  EXPECT_EQ(deliver([&] { return send(event_text("1")); }, deliveries).status, 502);
  EXPECT_EQ(deliveries, 6);
  EXPECT_TRUE(has(recorded(), R"("next":1})"));
  EXPECT_EQ(send(event_text("1")).status, 200);
  EXPECT_EQ(recorded(), kRecordedOnce);
}

TEST_F(Events, AStopFinishesWithinFiveSecondsWhateverTheHandlerDoes) {
  Gate gate;
  Upstream handler([&](const std::string&, int) {
    gate.wait();
    return http_answer("200 OK", "");
  });
  serve(handler.url());
  RawHttp first(server_->port());
  first.send("POST", "/v1/events", event_text("1"), kStructured);
  handler.await_requests(1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(server_->terminate(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  gate.open();
}

TEST_F(Events, KilledBetweenForwardAndCompletionAreForwardedAgainAndRecordedOnce) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  Gate gate;
  Upstream handler([&](const std::string&, int number) {
    if (number == 1) gate.wait();
    return http_answer("200 OK", "");
  });
  const std::string store = (dir_.path() / "store").string();
  serve(handler.url(), store);
  RawHttp first(server_->port());
  first.send("POST", "/v1/events", event_text("1"), kStructured);
  handler.await_requests(1);
  server_->kill();
  gate.open();
  serve(handler.url(), store);
  RawAnswer answer = send(event_text("1"));
  while (answer.status == 409) {  // Until the lease of the one that was killed is over.
    std::this_thread::yield();
    answer = send(event_text("1"));
  }
  EXPECT_EQ(answer.body, R"({"status":"processed","event_id":"1"})");
  EXPECT_EQ(handler.requests(), 2) << "a forward is at least once across a crash";
  EXPECT_TRUE(has(handler.last(), "Once-Attempt: 2\r\n"));
  EXPECT_EQ(recorded(), kRecordedOnce);
  EXPECT_TRUE(has(send(event_text("1")).body, R"("status":"skipped")"));
}

}  // namespace
}  // namespace once::testing
