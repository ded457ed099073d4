#include <stdexcept>

#include "once/redis_store.h"
#include "testing/conformance/store_conformance.h"
#include "testing/manual_clock.h"
#include "testing/servers/redis_cluster.h"
#include "testing/servers/redis_environment.h"

namespace once::testing {
namespace {

// Started when they are first asked for, and emptied for each case.
std::uint16_t emptied_server() {
  // Files are for the tests of crashes; here they would only take time.
  static const RedisServer server({"--appendonly", "no"});
  server.cli("flushall");
  return server.port();
}

std::uint16_t emptied_cluster() {
  static const RedisCluster cluster;
  for (const auto& server : cluster.servers()) server->cli("flushall");
  return cluster.port();
}

class RedisSubject : public Subject {
 public:
  explicit RedisSubject(std::uint16_t port) : options_{.port = port, .timeout = kTimeout} {}

  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    auto opened = open();
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

 protected:
  virtual Result<std::unique_ptr<RedisStore>> open() = 0;
  const RedisOptions& options() const { return options_; }

 private:
  static constexpr Duration kTimeout = std::chrono::seconds(30);

  const RedisOptions options_;
  std::unique_ptr<Store> store_;
};

// Time is the suite's: items expire before Redis removes them, as they do where clocks differ.
class MovedClock final : public RedisSubject {
 public:
  explicit MovedClock(std::uint16_t port) : RedisSubject(port) { reopen(); }

  // The server's time goes on as well, and now() is the later.
  void wait_until(Time time) override {
    while (store().now() < time) clock_.advance(time - store().now());
  }

 private:
  Result<std::unique_ptr<RedisStore>> open() override { return open_redis(options(), clock_); }

  ManualClock clock_;
};

// Time is the server's: what expires is removed by Redis.
class OwnClock final : public RedisSubject {
 public:
  explicit OwnClock(std::uint16_t port) : RedisSubject(port) { reopen(); }

  void wait_until(Time time) override { await_time(store(), time); }

 private:
  Result<std::unique_ptr<RedisStore>> open() override { return open_redis(options()); }
};

Harness moved_clock() {
  return {.name = "moved_clock",
          .open = [] { return std::make_unique<MovedClock>(emptied_server()); },
          .sweeps = false};
}

Harness own_clock() {
  return {.name = "own_clock",
          .open = [] { return std::make_unique<OwnClock>(emptied_server()); },
          .short_life = std::chrono::milliseconds(50),
          .sweeps = false};
}

Harness of_cluster() {
  return {.name = "cluster",
          .open = [] { return std::make_unique<MovedClock>(emptied_cluster()); },
          .sweeps = false};
}

INSTANTIATE_TEST_SUITE_P(redis, StoreConformance,
                         ::testing::Values(moved_clock(), own_clock(), of_cluster()));
// Once it is opened again, time is the server's.
INSTANTIATE_TEST_SUITE_P(redis, DurableStoreConformance, ::testing::Values(own_clock()));

}  // namespace
}  // namespace once::testing
