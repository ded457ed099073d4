// Followers and waiters of one server learn from PostgreSQL what another has written.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "once/claims.h"
#include "once/log.h"
#include "once/open.h"
#include "server/follow_hub.h"
#include "testing/child_process.h"
#include "testing/raw_http.h"
#include "testing/servers/needs.h"
#include "testing/servers/postgres.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

// The part of `once serve` that followers and waiters are fed by. It never looks by itself.
class QuietServer {
 public:
  explicit QuietServer(const std::string& address)
      : store_(open_store(address).value()), watch_(watch_homes(address)) {
    watch_->start({.written =
                       [this](const std::string& home) {
                         driver_->hint(home);
                         hub_->hint_home(home);
                       },
                   .anything =
                       [this] {
                         driver_->hint_all();
                         hub_->hint_all();
                         ++looks;
                         looks.notify_all();
                       },
                   .changed = [](const Result<void>&) {}});
    await_looks(1);
  }
  ~QuietServer() {
    watch_->stop();
    hub_->stop();
    driver_.reset();
  }

  BatchingDriver& driver() { return *driver_; }
  server::FollowHub& hub() { return *hub_; }
  void await_looks(int count) {
    for (int now = looks; now < count; now = looks) looks.wait(now);
  }

  std::atomic<int> looks = 0;  // When it began to listen, each time.

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<HomeWatch> watch_;
  std::unique_ptr<BatchingDriver> driver_ =
      std::make_unique<BatchingDriver>(*store_, BatchingOptions{.watch = watch_.get()});
  std::unique_ptr<server::FollowHub> hub_ =
      std::make_unique<server::FollowHub>(*driver_, system_clock(), 24h, watch_.get());
};

// As a claim with a wait does, but without a look now and then.
Plan<ClaimOutcome> take_when_free(Key key) {
  const ClaimRequest request{.lease = 10min};
  for (;;) {
    ClaimOutcome outcome = co_await claims::take(key, request);
    if (!std::holds_alternative<Busy>(outcome)) co_return std::move(outcome);
    co_await wait_for(key, Duration(24h), Duration(24h));
  }
}

class PostgresServers : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(PostgresServer);
    static int count = 0;
    static PostgresServer shared;
    server_ = &shared;
    schema_ = "w" + std::to_string(count++);
    ASSERT_TRUE(create_table(address()).has_value());
  }

  std::string address() const { return server_->address(schema_); }

  static void append(BatchingDriver& driver) {
    const auto appended = driver.run(
        logs::append(logs::stream("default", "s"), {LogEvent{"1", std::nullopt}}, AppendRequest{}));
    ASSERT_TRUE(appended.has_value()) << appended.error().message;
  }
  void await_watched(int homes) const {
    const std::string wanted = std::to_string(homes);
    while (server_->psql("select count(*) from " + schema_ + ".watches") != wanted) {
      std::this_thread::sleep_for(5ms);
    }
  }
  void end_listening_backends() const {
    EXPECT_NE(server_->psql("select count(pg_terminate_backend(pid)) from pg_stat_activity where "
                            "application_name = 'once listens: " +
                            schema_ + "'"),
              "0");
  }

  PostgresServer* server_ = nullptr;
  std::string schema_;
};

TEST_F(PostgresServers, AFollowerSeesWhatAnotherServerAppendedWithoutALookOfItsOwn) {
  QuietServer here(address());
  QuietServer there(address());
  std::atomic<int> fed = 0;
  server::FollowHub::FollowerId follower = 0;
  follower = here.hub().follow("default", "s", {1}, [&](const server::Chunk& chunk) {
    fed += static_cast<int>(std::ranges::count(*chunk, '\n')) / 3;
    fed.notify_all();
  });
  const auto await_fed = [&](int count) {
    for (int now = fed; now < count; now = fed) fed.wait(now);
    here.hub().ready(follower);
  };
  await_watched(1);
  for (int i = 1; i <= 10; ++i) {
    append(there.driver());
    await_fed(i);
  }
  end_listening_backends();
  append(there.driver());  // Perhaps while nobody listens.
  await_fed(11);
  here.await_looks(2);
  append(there.driver());
  await_fed(12);
  here.hub().unfollow(follower);
}

TEST_F(PostgresServers, AWaiterTakesWhatAnotherServerReleasedWithoutALookOfItsOwn) {
  QuietServer here(address());
  QuietServer there(address());
  const Key key = claims::claim_key("default", "k");
  for (int i = 0; i < 5; ++i) {
    const auto taken = there.driver().run(claims::take(key, {.lease = 10min}));
    ASSERT_TRUE(taken && std::holds_alternative<Claimed>(*taken));
    std::promise<Result<ClaimOutcome>> told;
    std::future<Result<ClaimOutcome>> answer = told.get_future();
    ASSERT_TRUE(here.driver().start<ClaimOutcome>(
        take_when_free(key),
        [&](Result<ClaimOutcome> outcome) { told.set_value(std::move(outcome)); },
        {.patience = Duration(24h)}));
    await_watched(1);
    const Ticket first = std::get<Claimed>(*taken).ticket;
    ASSERT_TRUE(there.driver().run(claims::release(key, first, "", Release::retryable)));
    const Result<ClaimOutcome> second = answer.get();
    ASSERT_TRUE(second && std::holds_alternative<Claimed>(*second));
    const Ticket ticket = std::get<Claimed>(*second).ticket;
    ASSERT_TRUE(here.driver().run(claims::release(key, ticket, "", Release::retryable)));
    server_->psql("delete from " + schema_ + ".watches");
  }
}

// The real binary, with what it says.
class LoggedServer {
 public:
  explicit LoggedServer(const std::string& store)
      : log_(::open((directory_.path() / "log").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)),
        child_(ONCE_BINARY, {"serve", "--store", store, "--listen", "127.0.0.1:0", "--log", "text"},
               log_) {
    const std::string line = child_.read_line().value_or("");
    const std::size_t at = line.find("127.0.0.1:");
    if (at != std::string::npos)
      port_ = static_cast<std::uint16_t>(std::stoi(line.substr(at + 10)));
  }
  ~LoggedServer() { ::close(log_); }

  std::uint16_t port() const { return port_; }
  void await_said(const std::string& text) const {
    while (said().find(text) == std::string::npos) std::this_thread::sleep_for(5ms);
  }
  std::string said() const {
    std::ifstream file(directory_.path() / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  const TempDir directory_;
  const int log_;
  ChildProcess child_;
  std::uint16_t port_ = 0;
};

void expect_followed(std::uint16_t here, std::uint16_t there) {
  RawHttp follower(here);
  follower.send("GET", "/v1/logs/s?follow=true", "");
  ASSERT_EQ(follower.receive(true)->status, 200);
  for (int i = 1; i <= 3; ++i) {
    RawHttp peer(there);
    ASSERT_EQ(peer.call("POST", "/v1/logs/s", R"({"events":[{"data":1}]})")->status, 201);
    std::optional<std::string> line;
    do line = follower.receive_line();
    while (line && !line->starts_with("id: "));
    EXPECT_EQ(line, "id: " + std::to_string(i));
  }
}

TEST_F(PostgresServers, AServerSaysThatItListens) {
  const LoggedServer here(address());
  const LoggedServer there(address());
  here.await_said(" watching");
  expect_followed(here.port(), there.port());
}

TEST_F(PostgresServers, BehindAPoolerFollowersAreFedByLookingAndThatIsSaidOnce) {
  ONCE_NEEDS_SERVER(Pgbouncer);
  const Pgbouncer bouncer(*server_);
  const LoggedServer here(bouncer.connection() + "?schema=" + schema_);
  const LoggedServer there(bouncer.connection() + "?schema=" + schema_);
  here.await_said(" not_watching");
  expect_followed(here.port(), there.port());
  const std::string said = here.said();
  EXPECT_EQ(said.find(" not_watching"), said.rfind(" not_watching")) << said;
}

}  // namespace
}  // namespace once::testing
