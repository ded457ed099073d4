#include "testing/store_under_test.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "once/memory_store.h"
#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"
#include "testing/servers/needs.h"
#ifdef ONCE_HAS_DYNAMODB
#include "stores/dynamodb/store.h"
#include "testing/servers/dynamodb_tables.h"
#endif
#ifdef ONCE_HAS_REDIS
#include "stores/redis/startup.h"
#include "stores/redis/store.h"
#include "testing/servers/redis_cluster.h"
#endif
#ifdef ONCE_HAS_S3
#include "stores/s3/store.h"
#include "testing/servers/s3_buckets.h"
#endif

namespace once::testing {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

// Retries before a store whose time is the test's: there is one clock, so it has no error.
class InTestsTime final : public Decorator<Store> {
 public:
  static std::unique_ptr<Store> over(std::unique_ptr<Store> attempts) {
    std::unique_ptr<Store> retried = retry(*attempts);
    return std::make_unique<InTestsTime>(std::move(attempts), std::move(retried));
  }

  InTestsTime(std::unique_ptr<Store> attempts, std::unique_ptr<Store> retried)
      : Decorator(*retried), attempts_(std::move(attempts)), retried_(std::move(retried)) {
    limits_.clock_error = {};
  }

  const Limits& limits() const override { return limits_; }

 private:
  const std::unique_ptr<Store> attempts_;
  const std::unique_ptr<Store> retried_;
  Limits limits_ = inner_.limits();
};

#ifdef ONCE_HAS_DYNAMODB
// The test's clock is the server's, too.
class NoOffset final : public dynamodb::Transport {
 public:
  explicit NoOffset(std::unique_ptr<dynamodb::Transport> wire) : wire_(std::move(wire)) {}

  dynamodb::Responses send(std::span<const aws::Request> requests,
                           aws::Deadline deadline) override {
    return wire_->send(requests, deadline);
  }
  Duration clock_offset() const override { return {}; }
  std::optional<Duration> clock_error() const override { return Duration{}; }
  DynamoDbCounts counts() const override { return wire_->counts(); }

 private:
  const std::unique_ptr<dynamodb::Transport> wire_;
};

std::unique_ptr<Store> on_dynamodb(Clock& clock) {
  const DynamoDbTable table;
  auto wire = std::make_unique<NoOffset>(dynamodb::connect(table.options()).value());
  return InTestsTime::over(std::make_unique<dynamodb::TableStore>(
      table.options().table, std::move(wire), kPatience, clock, system_entropy()));
}
#endif

#ifdef ONCE_HAS_REDIS
class OwnTime final : public redis::ServerTime {
 public:
  using ServerTime::ServerTime;

  void learn(Time, Time, Time) override {}
  bool is_old() override { return false; }
};

// One server for the program, and a database of it for each store. Files are for the tests of
// crashes; here they would only take time.
RedisOptions empty_database() {
  static const RedisServer server({"--appendonly", "no", "--databases", "10000"});
  static int count = 0;
  return {.port = server.port(), .database = count++};
}

// A cluster has one database.
RedisOptions emptied_cluster() {
  static const RedisCluster cluster;
  for (const auto& server : cluster.servers()) server->cli("flushall");
  return {.port = cluster.port()};
}

std::unique_ptr<Store> on_redis(const RedisOptions& options, Clock& clock) {
  const redis::Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  auto time = std::make_unique<OwnTime>(clock);
  auto router =
      std::make_unique<redis::Router>(options, redis::make_dialler(options).value(), *time);
  router->open(deadline).value();
  std::string description = redis::check_servers(*router, options, deadline).value();
  return InTestsTime::over(std::make_unique<redis::ServerStore>(std::move(time), std::move(router),
                                                                std::move(description), kPatience));
}
#endif

#ifdef ONCE_HAS_S3
class OwnTimeBucket final : public s3::BucketStore {
 public:
  OwnTimeBucket(std::unique_ptr<s3::Bucket> bucket, Clock& clock)
      // Pauses are not to move the test's time.
      : BucketStore(std::move(bucket), kPatience, system_clock(), system_entropy()),
        clock_(clock) {}

  Time now() override { return clock_.now(); }

 private:
  Clock& clock_;
};

std::unique_ptr<Store> on_s3(Clock& clock) {
  return InTestsTime::over(
      std::make_unique<OwnTimeBucket>(s3::Bucket::connect(S3Place().options()).value(), clock));
}
#endif

std::string named_store() {
  const char* const named = std::getenv("ONCE_TEST_STORE");
  return named == nullptr ? "memory" : named;
}

// Skips all where the server is not installed.
class NeedsTheServer final : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string name = named_store();
#ifdef ONCE_HAS_DYNAMODB
    if (name == "dynamodb") {
      ONCE_NEEDS_SERVER(DynamoDbLocal);
    }
#endif
#ifdef ONCE_HAS_REDIS
    if (name.starts_with("redis")) {
      ONCE_NEEDS_SERVER(RedisServer);
    }
#endif
#ifdef ONCE_HAS_S3
    if (name == "s3") {
      ONCE_NEEDS_SERVER(CephS3);
    }
#endif
  }
};

const ::testing::Environment* const kNeedsTheServer =
    ::testing::AddGlobalTestEnvironment(new NeedsTheServer);

}  // namespace

std::unique_ptr<Store> store_under_test(Clock& clock) {
  const std::string name = named_store();
  if (name == "memory") return open_memory({}, clock);
#ifdef ONCE_HAS_DYNAMODB
  if (name == "dynamodb") return on_dynamodb(clock);
#endif
#ifdef ONCE_HAS_REDIS
  if (name == "redis") return on_redis(empty_database(), clock);
  if (name == "redis_cluster") return on_redis(emptied_cluster(), clock);
#endif
#ifdef ONCE_HAS_S3
  if (name == "s3") return on_s3(clock);
#endif
  throw std::runtime_error("no store to test: " + name);
}

std::size_t as_many_as(std::size_t in_memory, std::size_t on_a_server) {
  return std::getenv("ONCE_TEST_STORE") == nullptr ? in_memory : on_a_server;
}

std::size_t items_in(Store& store) {
  std::size_t count = 0;
  ListRequest request{.limit = 1'000};
  do {
    const ListPage page = store.list(request).value();
    count += page.items.size();
    request.cursor = page.cursor;
  } while (!request.cursor.empty());
  return count;
}

}  // namespace once::testing
