// What connections and tenants may hold of the server, shown with real connections.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "server/server.h"
#include "testing/raw_http.h"

namespace once::server {
namespace {

using testing::RawHttp;

// Answers /now at once, and others when the test says so. The tenant is named in a header.
class Counter final : public Handler {
 public:
  Reply respond(api::Request request, Executor&, ReplyCallback later) override {
    Reply reply;
    reply.tenant = tenant_of(request);
    if (request.target == "/hold") {
      is_holding_ = true;
      held_.wait(true);
    }
    if (request.target == "/now" || request.target == "/hold") {
      static_cast<Reply::variant&>(reply) = api::Response{200, {}, "now"};
    } else {
      later.belongs_to(reply.tenant);
      const Lock lock(mutex_);
      waiting_.push_back(std::move(later));
    }
    return reply;
  }

  // Between the two, a request for /hold keeps the thread of its connection.
  void hold() { held_ = true; }
  void await_hold() const {
    while (!is_holding_) std::this_thread::yield();
  }
  void let_go() {
    held_ = false;
    held_.notify_all();
  }
  Admission admit(const api::Request& request) override {
    return {std::nullopt, tenant_of(request)};
  }

  std::size_t waiting() {
    const Lock lock(mutex_);
    return waiting_.size();
  }
  void await(std::size_t count) {
    while (waiting() < count) std::this_thread::yield();
  }

  // The one that has waited longest.
  void answer(std::string body) {
    std::optional<ReplyCallback> first;
    {
      const Lock lock(mutex_);
      first.emplace(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    (*first)(api::Response{200, {}, std::move(body)});
  }

  const api::Tenant& tenant(std::string_view name) { return *tenants_.find(name); }

 private:
  std::shared_ptr<api::Tenant> tenant_of(const api::Request& request) {
    const auto name = request.headers.find("Tenant");
    return name ? tenants_.find(*name) : nullptr;
  }

  metrics::Registry registry_;
  api::Tenants tenants_{{}, registry_};
  std::atomic<bool> held_ = false;
  std::atomic<bool> is_holding_ = false;
  Mutex mutex_;
  std::deque<ReplyCallback> waiting_ ONCE_GUARDED_BY(mutex_);
};

constexpr std::size_t kMiB = 1U << 20;

class Fairness : public ::testing::Test {
 protected:
  ~Fairness() override { server_->stop(); }

  void serve(Settings settings) {
    settings.threads = 1;
    server_ = std::make_unique<Server>(settings, handler_);
    const std::string url = server_->listen("127.0.0.1:0").value();
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  RawHttp connect() const { return RawHttp(port_); }

  // Everything that has arrived by now was taken: there is one thread, which answered later.
  void let_it_read() { ASSERT_EQ(connect().call("GET", "/now")->status, 200); }

  RawHttp asking(const std::string& tenant) {
    RawHttp peer = connect();
    peer.send("GET", "/later", "", "Tenant: " + tenant + "\r\n");
    handler_.await(1);
    return peer;
  }

  // An answer that is too long for the buffers in between, and that the peer does not read.
  RawHttp not_reading(const std::string& tenant, std::size_t bytes) {
    const std::size_t before = server_->budgets().answers.taken();
    RawHttp peer = asking(tenant);
    handler_.answer(std::string(bytes, 'x'));
    // The little that is not charged, and the head, do not count.
    while (server_->budgets().answers.taken() + (64U << 10) < before + bytes) {
      std::this_thread::yield();
    }
    return peer;
  }

  Counter handler_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

std::string pipelined(int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n";
  return all;
}

// A hundred connections with sixteen requests each took 1.6 GB.
TEST_F(Fairness, APipelinedReadStartsOnlyWhenTheAnswersBeforeItLeaveRoom) {
  serve({});
  RawHttp peer = connect();
  ASSERT_TRUE(peer.send(pipelined(16)));
  handler_.await(1);
  let_it_read();
  EXPECT_EQ(handler_.waiting(), 1U) << "nobody knows yet how long the answers are";
  for (int i = 0; i < 16; ++i) {
    handler_.await(1);
    EXPECT_EQ(handler_.waiting(), 1U) << i;
    handler_.answer(std::string(kMiB, 'x'));
    ASSERT_EQ(peer.receive()->body.size(), kMiB);
  }
}

TEST_F(Fairness, ShortAnswersAreAskedForManyAtOnce) {
  serve({});
  RawHttp peer = connect();
  for (int i = 0; i < 64; ++i) {
    peer.send("GET", "/later", "");
    handler_.await(1);
    handler_.answer("short");
    ASSERT_EQ(peer.receive()->status, 200);
  }
  ASSERT_TRUE(peer.send(pipelined(16)));
  handler_.await(16);
  for (int i = 0; i < 16; ++i) handler_.answer("short");
  for (int i = 0; i < 16; ++i) ASSERT_EQ(peer.receive()->status, 200);
}

TEST_F(Fairness, WhileMuchIsUnsentAConnectionHasOneRequestAtATime) {
  serve({.max_unsent_bytes = 64 * kMiB});
  RawHttp peer = connect();
  for (int i = 0; i < 64; ++i) {
    peer.send("GET", "/later", "");
    handler_.await(1);
    handler_.answer("short");
    ASSERT_EQ(peer.receive()->status, 200);
  }
  const RawHttp slow = not_reading("a", 40 * kMiB);
  ASSERT_TRUE(peer.send(pipelined(16)));
  for (int i = 0; i < 16; ++i) {
    handler_.await(1);
    let_it_read();
    EXPECT_EQ(handler_.waiting(), 1U) << i;
    handler_.answer("short");
    ASSERT_EQ(peer.receive()->status, 200);
  }
}

TEST_F(Fairness, UnreadAnswersOfOneTenantLeaveRoomForAnothers) {
  serve({.max_unsent_bytes = 64 * kMiB});
  std::vector<RawHttp> slow;
  for (int i = 0; i < 3; ++i) slow.push_back(not_reading("greedy", 15 * kMiB));
  RawHttp fourth = asking("greedy");
  handler_.answer(std::string(15 * kMiB, 'x'));
  const auto refused = fourth.receive();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 503);
  EXPECT_NE(refused->header("Retry-After"), "");
  EXPECT_EQ(handler_.tenant("greedy").refusals(api::QuotaRefusal::memory), 1U);
  RawHttp other = asking("modest");
  handler_.answer(std::string(15 * kMiB, 'x'));
  EXPECT_EQ(other.receive()->body.size(), 15 * kMiB);
  for (RawHttp& peer : slow) EXPECT_EQ(peer.receive()->body.size(), 15 * kMiB);
  RawHttp again = asking("greedy");
  handler_.answer(std::string(15 * kMiB, 'x'));
  EXPECT_EQ(again.receive()->status, 200);
  while (server_->budgets().answers.taken() > 0) std::this_thread::yield();
}

// A thousand connections that each asked for one document took 1.4 GB.
TEST_F(Fairness, AnswersOnTheirWayToTheirConnectionsAreCharged) {
  serve({.max_unsent_bytes = 64 * kMiB});
  std::vector<RawHttp> peers;
  for (std::size_t i = 1; i <= 10; ++i) {
    peers.push_back(connect());
    peers.back().send("GET", "/later", "", "Tenant: greedy\r\n");
    handler_.await(i);
  }
  handler_.hold();
  RawHttp holding = connect();
  holding.send("GET", "/hold", "");
  handler_.await_hold();
  for (int i = 0; i < 10; ++i) handler_.answer(std::string(15 * kMiB, 'x'));
  EXPECT_EQ(server_->budgets().answers.taken(), 45 * kMiB);
  EXPECT_EQ(handler_.tenant("greedy").refusals(api::QuotaRefusal::memory), 7U);
  handler_.let_go();
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(peers[i].receive()->status, i < 3 ? 200 : 503) << i;
  }
  while (server_->budgets().answers.taken() > 0) std::this_thread::yield();
}

// It cannot be said that nothing was done.
TEST_F(Fairness, AnAnswerToAWriteThatFindsNoRoomIsUnknown) {
  serve({.max_unsent_bytes = 16 * kMiB});
  const RawHttp slow = not_reading("greedy", 11 * kMiB);
  RawHttp writes = connect();
  writes.send("PATCH", "/later", "", "Tenant: greedy\r\n");
  handler_.await(1);
  handler_.answer(std::string(11 * kMiB, 'x'));
  const auto answer = writes.receive();
  EXPECT_EQ(answer->status, 500);
  EXPECT_NE(answer->body.find("\"unknown\""), std::string::npos) << answer->body;
}

TEST_F(Fairness, ShortAnswersAreSentWhateverIsUnsent) {
  serve({.max_unsent_bytes = 16 * kMiB});
  const RawHttp slow = not_reading("greedy", 11 * kMiB);
  RawHttp peer = asking("greedy");
  handler_.answer("short");
  EXPECT_EQ(peer.receive()->status, 200);
}

TEST_F(Fairness, BodiesOfOneTenantLeaveRoomForAnothers) {
  serve({.max_body_bytes = kMiB, .max_bodies_bytes = 3 * kMiB});
  const std::string body(700'000, 'x');
  const auto begin = [&](const std::string& tenant) {
    return "PUT /later HTTP/1.1\r\nHost: localhost\r\nTenant: " + tenant +
           "\r\nContent-Length: 700000\r\n\r\n" + body.substr(1);
  };
  std::vector<RawHttp> held;
  for (std::size_t i = 1; i <= 3; ++i) {
    held.push_back(connect());
    ASSERT_TRUE(held.back().send(begin("greedy")));
    while (handler_.tenant("greedy").bodies < i * body.size()) std::this_thread::yield();
  }
  RawHttp fourth = connect();
  ASSERT_TRUE(fourth.send(begin("greedy")));
  EXPECT_EQ(fourth.receive()->status, 503);
  RawHttp other = connect();
  ASSERT_TRUE(other.send(begin("modest") + "x"));
  handler_.await(1);
  handler_.answer("taken");
  EXPECT_EQ(other.receive()->status, 200);
}

}  // namespace
}  // namespace once::server
