#include <utility>

#include "once/redis_store.h"
#include "stores/redis/startup.h"
#include "stores/redis/store.h"
#include "testing/servers/redis_cluster.h"
#include "testing/stores/server_subject.h"

namespace once::testing {
namespace {

// One server for the program, started when it is first asked for, and a database of it for each
// store. Files are for the tests of crashes; here they would only take time.
RedisOptions empty_database() {
  static const RedisServer server({"--appendonly", "no", "--databases", "10000"});
  static int count = 0;
  return {.port = server.port(), .database = count++};
}

// A cluster has one database.
const RedisCluster& emptied_cluster() {
  const RedisCluster& cluster = RedisCluster::shared();
  for (const auto& server : cluster.servers()) server->cli("flushall");
  return cluster;
}

RedisOptions cluster_options() { return {.port = emptied_cluster().port()}; }

RedisOptions patient(RedisOptions options) {
  options.timeout = std::chrono::seconds(30);  // The machine may be busy.
  return options;
}

// Time is the suite's: items expire before Redis removes them, as they do where clocks differ.
std::unique_ptr<Subject> moved_clock(RedisOptions options) {
  return std::make_unique<MovedClockSubject>(
      [options = patient(std::move(options))](Clock& clock) { return open_redis(options, clock); },
      Time(std::chrono::days(20'000)));
}

// Time is the server's: what expires is removed by Redis.
std::unique_ptr<Subject> own_clock(RedisOptions options) {
  return std::make_unique<OwnClockSubject>(
      [options = patient(std::move(options))](Clock& clock) { return open_redis(options, clock); });
}

// The test's clock is the server's, too.
class TestsTime final : public redis::ServerTime {
 public:
  using ServerTime::ServerTime;

  void learn(Time, Time, Time) override {}
  bool is_old() override { return false; }
};

std::unique_ptr<Store> open_in_tests_time(const RedisOptions& options, Clock& clock) {
  constexpr auto kPatience = std::chrono::seconds(10);
  const redis::Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  auto time = std::make_unique<TestsTime>(clock);
  auto router =
      std::make_unique<redis::Router>(options, redis::make_dialler(options).value(), *time);
  router->open(deadline).value();
  std::string description = redis::check_servers(*router, options, deadline).value();
  return retried_in_tests_time(std::make_unique<redis::ServerStore>(
      std::move(time), std::move(router), std::move(description), kPatience));
}

class MeasuredServer final : public MeasuredStore {
 public:
  Store& store() override { return *store_; }
  double requests() override { return static_cast<double>(store_->counts().requests); }
  std::optional<double> seconds_of_its_own(std::size_t clients, std::size_t count) override {
    return server_.seconds_of_set_nx(clients, count);
  }

 private:
  const RedisServer server_;
  const std::unique_ptr<RedisStore> store_ = open_redis({.port = server_.port()}).value();
};

StoreHarness single_server() {
  return {.name = "redis",
          // Once it is opened again, time is the server's.
          .variants = {{.name = "redis_moved_clock",
                        .open = [] { return moved_clock(empty_database()); },
                        .sweeps = false},
                       {.name = "redis_own_clock",
                        .open = [] { return own_clock(empty_database()); },
                        .short_life = std::chrono::milliseconds(50),
                        .durable = true,
                        .sweeps = false}},
          .missing = RedisServer::missing,
          .open = [](Clock& clock) { return open_in_tests_time(empty_database(), clock); },
          .serve =
              [] {
                auto server = std::make_shared<RedisServer>();
                return StoreAtAddress{server->address(), server};
              },
          .measure = []() -> std::unique_ptr<MeasuredStore> {
            return std::make_unique<MeasuredServer>();
          }};
}

StoreHarness cluster() {
  return {.name = "redis_cluster",
          .variants = {{.name = "redis_cluster",
                        .open = [] { return moved_clock(cluster_options()); },
                        .sweeps = false}},
          .commits = StoreHarness::Commits::of_one_home,
          .missing = RedisCluster::missing,
          .open = [](Clock& clock) { return open_in_tests_time(cluster_options(), clock); },
          .serve = [] { return StoreAtAddress{emptied_cluster().server(0).address(), nullptr}; }};
}

}  // namespace

std::vector<StoreHarness> redis_harnesses() { return {single_server(), cluster()}; }

}  // namespace once::testing
