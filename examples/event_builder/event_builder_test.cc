// event_builder from outside: over HTTP behind the real server, on a real RabbitMQ, and alone.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "examples/run_program.h"
#include "queues/rabbitmq/publisher.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/rabbitmq.h"
#include "testing/temp_dir.h"
#include "testing/work/worker_process.h"

namespace examples {
namespace {

using namespace std::chrono_literals;

using Json = nlohmann::json;
using once::testing::ChildProcess;
using once::testing::eventually;
using once::testing::RabbitMq;
using once::testing::RawAnswer;
using once::testing::RawHttp;
using once::testing::ServerProcess;
using once::testing::shared_rabbitmq;
using once::testing::tally;
using once::testing::TempDir;
namespace rabbitmq = once::rabbitmq;

Words make_events(int count, int seed) {
  const Finished ended =
      run_to_end({"events", "--count", std::to_string(count), "--seed", std::to_string(seed)});
  EXPECT_EQ(ended.status, 0);
  Words lines = ended.lines();
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(count));
  return lines;
}

// By source and id.
std::string name_of(const Json& event) {
  return std::string(event["source"]) + "#" + std::string(event["id"]);
}
bool is_preview(const std::string& event) {
  return Json::parse(event)["type"] == "example.preview.start";
}

std::map<std::string, int> recorded(once::Once& once) {
  std::map<std::string, int> builds;
  const auto page = once.log().read("builds", {.limit = 1'000});
  if (!page) return builds;
  for (const once::LogEntry& entry : page->events) ++builds[name_of(Json::parse(entry.data))];
  return builds;
}

std::map<std::string, int> each_once(const Words& events) {
  std::map<std::string, int> builds;
  for (const std::string& event : events) builds[name_of(Json::parse(event))] = 1;
  return builds;
}

TEST(EventBuilder, OneCommandRecordsEachBuildOnceAndPreviewsAgainAfterTheirTtl) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const Finished ended = run_to_end({"--count", "40", "--seed", "5", "--store", store});
  ASSERT_EQ(ended.status, 0) << ended.output;
  std::map<std::string, int> expected;
  for (const std::string& event : make_events(40, 5)) {
    expected[name_of(Json::parse(event))] = is_preview(event) ? 2 : 1;
  }
  once::Once once = once::open(store, "event_builder").value();
  EXPECT_EQ(recorded(once), expected);
  EXPECT_EQ(tally(once, "example.build.start"), 30);
  EXPECT_EQ(tally(once, "example.preview.start"), 20);
}

TEST(EventBuilder, OneCommandNeedsNoArguments) {
  const Finished ended = run_to_end({});
  EXPECT_EQ(ended.status, 0) << ended.output;
}

// The builder behind `once serve` with the routes that the example has.
class EventBuilderOverHttp : public ::testing::Test {
 protected:
  EventBuilderOverHttp() {
    start_builder();
    std::stringstream routes;
    routes << std::ifstream(EVENT_BUILDER_ROUTES).rdbuf();
    std::string text = routes.str();
    replace(text, "127.0.0.1:8080", "127.0.0.1:" + port_);
    replace(text, R"(lease   = "30s")",
            R"(lease   = "1s")");  // A server that dies is missed so long.
    const std::string config = (dir_.path() / "once.toml").string();
    std::ofstream(config) << text;
    server_ = std::make_unique<ServerProcess>((dir_.path() / "store").string(),
                                              Words{"--config", config});
  }

  static void replace(std::string& text, const std::string& what, const std::string& by) {
    ASSERT_NE(text.find(what), std::string::npos) << what;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
      text.replace(at, what.size(), by);
    }
  }

  void start_builder() {
    builder_ = std::make_unique<ChildProcess>(ONCE_EXAMPLE, Words{"serve", "--listen", port_});
    const std::string ready = builder_->read_line().value_or("");
    const std::size_t colon = ready.rfind(':');
    ASSERT_NE(colon, std::string::npos) << ready;
    port_ = ready.substr(colon + 1, ready.rfind('/') - colon - 1);
  }
  void kill_builder() {
    builder_->kill();
    while (auto line = builder_->read_line()) built_.push_back(*line);
  }

  RawAnswer send(const std::string& event) const {
    RawHttp client(server_->port());
    if (!client.connected()) return {};
    return client
        .call("POST", "/v1/events", event, "Content-Type: application/cloudevents+json\r\n")
        .value_or(RawAnswer{});
  }

  // As senders do: again, until it is taken. Its status, and how many answers were others.
  std::pair<RawAnswer, int> deliver(const std::string& event) const {
    RawAnswer answer;
    int refused = -1;
    eventually([&] {
      answer = send(event);
      ++refused;
      return answer.status == 200;
    });
    return {answer, refused};
  }

  TempDir dir_;
  std::string port_ = "0";
  std::unique_ptr<ChildProcess> builder_;
  std::unique_ptr<ServerProcess> server_;
  Words built_;  // What builders said that are gone.
};

TEST_F(EventBuilderOverHttp, WhoeverIsKilledEachEventIsRecordedOnceAndDuplicatesAreAnswered200) {
  const Words events = make_events(40, 4);
  std::mutex mutex;
  std::map<std::string, int> processed;  // By the servers' own words.
  std::atomic<int> refused = 0;
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> senders;
    for (unsigned sender = 0; sender < 3; ++sender) {
      senders.emplace_back([&, sender] {
        Words mine = events;
        std::ranges::shuffle(mine, std::mt19937(sender));
        for (const std::string& event : mine) {
          const auto [answer, tries] = deliver(event);
          EXPECT_EQ(answer.status, 200) << answer.body;
          refused += tries;
          ++taken;
          const std::lock_guard lock(mutex);
          if (answer.body.find("processed\"") != std::string::npos) ++processed[event];
        }
      });
    }
    for (int kill = 1; kill <= 3; ++kill) {
      ASSERT_TRUE(eventually([&] { return taken >= 25 * kill; }));
      if (kill == 2) {
        server_->kill();
        server_->start(server_->port());
      }
      kill_builder();
      start_builder();
    }
  }
  once::Once once = once::open(server_->url()).value();
  EXPECT_EQ(recorded(once), each_once(events));
  EXPECT_EQ(tally(once, "builds"), 30);
  EXPECT_EQ(tally(once, "previews"), 10);
  for (const auto& [event, times] : processed) EXPECT_EQ(times, 1) << event;
  EXPECT_GT(refused, 0);

  kill_builder();
  int failed = 0;
  for (const std::string& line : built_) failed += line.ends_with(" fail") ? 1 : 0;
  EXPECT_GT(failed, 0) << "no build failed";
  // Nobody builds any more: what is answered is known.
  for (const std::string& event : events) {
    const RawAnswer again = send(event);
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  }
  for (const std::string& event : {events[0], events[3]}) {
    const Json json = Json::parse(event);
    const std::string source = json["source"];
    const auto claim = once.claims().show("event/" + std::to_string(source.size()) + ":" + source +
                                          std::string(json["id"]));
    ASSERT_TRUE(claim && *claim) << event;
    const once::Duration known = (*claim)->kept_until - (*claim)->completed;
    EXPECT_EQ(known, is_preview(event) ? once::Duration(1h) : once::Duration(24h)) << event;
  }
}

TEST_F(EventBuilderOverHttp, WhatNamesNothingToBuildIsRefusedAndNotRecorded) {
  const RawAnswer answer = send(
      R"({"specversion":"1.0","type":"example.build.start","source":"/s","id":"1","data":{}})");
  EXPECT_EQ(answer.status, 502);
  const RawAnswer binary =
      RawHttp(server_->port())
          .call("POST", "/v1/events", R"({"function":"resize","commit":"4f2a17"})",
                "ce-specversion: 1.0\r\nce-type: example.build.start\r\nce-source: /s\r\nce-id: "
                "1\r\n")
          .value_or(RawAnswer{});
  EXPECT_EQ(binary.status, 200) << "the key was not freed: " << binary.body;
}

class EventBuilderOnRabbitMq : public ::testing::Test {
 protected:
  static rabbitmq::Options broker(const std::string& queue) {
    return {.host = "127.0.0.1", .port = shared_rabbitmq().port(), .queue = queue};
  }

  static void send(rabbitmq::Publisher& publisher, const std::string& queue,
                   const std::string& body) {
    once::Message message;
    message.body = body;
    message.content_type = "application/cloudevents+json";
    const once::Result<void> sent = publisher.publish(queue, message);
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
  }

  static std::optional<std::size_t> waiting(const std::string& queue) {
    const auto connection = rabbitmq::Connection::open(broker(queue));
    if (!connection) return std::nullopt;
    const auto* const found =
        amqp_queue_declare((*connection)->state(), rabbitmq::kChannel, rabbitmq::bytes_of(queue), 1,
                           1, 0, 0, amqp_empty_table);
    return found != nullptr ? std::optional<std::size_t>(found->message_count) : std::nullopt;
  }
};

// Two builders of builds and one of previews, on a store behind a server.
TEST_F(EventBuilderOnRabbitMq, WhoeverIsKilledEachBuildIsRecordedOnce) {
  ONCE_NEEDS_SERVER(RabbitMq);
  const TempDir dir;
  const ServerProcess store("rocksdb:" + (dir.path() / "store").string() + "?durability=relaxed");
  const Words events = make_events(60, 6);
  const Words queues = {"builds", "builds", "previews"};
  std::vector<std::unique_ptr<ChildProcess>> builders(queues.size());
  const auto start = [&](std::size_t i) {
    builders[i] = std::make_unique<ChildProcess>(
        ONCE_EXAMPLE, Words{"work", shared_rabbitmq().address(queues[i]), "--store", store.url(),
                            "--ttl", queues[i] == "builds" ? "24h" : "1h", "--lease", "500ms"});
    ASSERT_NE(builders[i]->read_line().value_or(""), "");
  };
  for (std::size_t i = 0; i < builders.size(); ++i) start(i);
  std::mt19937 random(9);
  rabbitmq::Publisher publisher(broker("builds"));
  for (const std::string& event : events) {
    const std::string queue = is_preview(event) ? "previews" : "builds";
    for (unsigned times = random() % 2; times < 2; ++times) send(publisher, queue, event);
  }
  send(publisher, "builds", R"({"specversion":"1.0","type":"t","source":"/s","id":"nonsense"})");

  once::Once once = once::open(store.url(), "event_builder").value();
  for (const std::size_t when : {10U, 30U}) {
    ASSERT_TRUE(eventually([&] { return recorded(once).size() >= when; }));
    const std::size_t victim = random() % builders.size();
    builders[victim]->kill();
    start(victim);
  }
  EXPECT_TRUE(eventually([&] { return recorded(once).size() == events.size(); }));
  EXPECT_TRUE(eventually([&] { return waiting("builds-dead").value_or(0) > 0; }));
  EXPECT_TRUE(eventually([&] { return waiting("builds") == 0U && waiting("previews") == 0U; }));
  for (auto& builder : builders) ::kill(builder->pid(), SIGTERM);
  for (auto& builder : builders) EXPECT_EQ(builder->wait(), 0);
  EXPECT_EQ(recorded(once), each_once(events));
  std::map<once::Duration, int> known;
  const auto done = once.claims().list({.kind = once::ClaimState::Kind::done});
  ASSERT_TRUE(done.has_value());
  for (const auto& claim : done->claims) {
    ++known[claim.state.kept_until - claim.state.completed];
  }
  EXPECT_EQ(known, (std::map<once::Duration, int>{{1h, 15}, {24h, 45}}));
}

TEST(EventBuilder, BadOptionsAreRefused) {
  for (const Words& wrong : {Words{"bulid"}, Words{"--sede", "3"}, Words{"--seed"},
                             Words{"--count", "0"}, Words{"--count", "3x"},
                             Words{"--listen", "65536"}, Words{"work"}, Words{"work", "amqp://h/q"},
                             Words{"work", "amqp://h/q", "--store", "memory:", "--ttl", "soon"},
                             Words{"work", "amqp://h/q", "more", "--store", "memory:"}}) {
    EXPECT_EQ(run_to_end(wrong).status, 2) << wrong[0];
  }
  EXPECT_EQ(run_to_end({"work", "ftp://h/q", "--store", "memory:"}).status, 1);
  EXPECT_EQ(run_to_end({"--store", "http://127.0.0.1:1"}).status, 2);
}

}  // namespace
}  // namespace examples
