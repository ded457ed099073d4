#include <stdexcept>

#include "once/redis_store.h"
#include "testing/conformance/store_conformance.h"
#include "testing/manual_clock.h"
#include "testing/servers/redis_server.h"

namespace once::testing {
namespace {

// Started when it is first asked for, and emptied for each case.
const RedisServer& emptied_server() {
  // Syncing is for the tests of crashes; here it would only take time.
  static const RedisServer server({"--appendfsync", "no"});
  server.cli("flushall");
  return server;
}

// Time is the suite's: items expire before Redis removes them, as they do where clocks differ.
class RedisSubject final : public Subject {
 public:
  RedisSubject() : server_(emptied_server()) { reopen(); }

  Store& store() override { return *store_; }
  // The server's time goes on as well, and now() is the later.
  void wait_until(Time time) override {
    while (store().now() < time) clock_.advance(time - store().now());
  }
  void reopen() override {
    store_.reset();
    auto opened = open_redis({.port = server_.port(), .timeout = std::chrono::seconds(30)}, clock_);
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

 private:
  ManualClock clock_;
  const RedisServer& server_;
  std::unique_ptr<Store> store_;
};

// Time is the server's: what expires is removed by Redis.
class LiveRedisSubject final : public Subject {
 public:
  LiveRedisSubject() : server_(emptied_server()) { reopen(); }

  Store& store() override { return *store_; }
  void wait_until(Time time) override { await_time(store(), time); }
  void reopen() override {
    store_.reset();
    auto opened = open_redis({.port = server_.port(), .timeout = std::chrono::seconds(30)});
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

 private:
  const RedisServer& server_;
  std::unique_ptr<Store> store_;
};

Harness moved_clock() {
  return {.name = "moved_clock",
          .open = [] { return std::make_unique<RedisSubject>(); },
          .sweeps = false};
}

Harness own_clock() {
  return {.name = "own_clock",
          .open = [] { return std::make_unique<LiveRedisSubject>(); },
          .short_life = std::chrono::milliseconds(50),
          .sweeps = false};
}

INSTANTIATE_TEST_SUITE_P(redis, StoreConformance, ::testing::Values(moved_clock(), own_clock()));
// Once it is opened again, time is the server's.
INSTANTIATE_TEST_SUITE_P(redis, DurableStoreConformance, ::testing::Values(own_clock()));

}  // namespace
}  // namespace once::testing
