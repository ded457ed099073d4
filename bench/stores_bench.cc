// The stores that are servers, beside each other: operations a second with 1, 8 and 64 in flight
// and what each costs in requests. DynamoDB is DynamoDB Local, which does about 1,500 requests a
// second on two cores and is the bound of its figures but the requests; then sixteen writers on one
// hot tally of it. Redis syncs its file before every answer; its own SET NX, by redis-benchmark
// with as many clients, is the yardstick of a claim. S3 is Ceph with its objects in memory, which
// is the bound of its figures but the requests.
#include <atomic>
#include <cstdio>
#include <numeric>
#include <thread>

#include "bench/harness.h"
#include "bench/redis_yardstick.h"
#include "once/batching_driver.h"
#include "once/claims.h"
#include "once/log.h"
#include "once/redis_store.h"
#include "once/tallies.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/redis_server.h"
#include "testing/servers/s3_buckets.h"

namespace once::bench {
namespace {

using Clock = std::chrono::steady_clock;

void on_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { work(i); });
}

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

template <class T>
bool well(const Result<T>& answer) {
  if (!answer) std::printf("%s\n", answer.error().message.c_str());
  return answer.has_value();
}

struct Spent {
  double requests = 0;
  double units = 0;  // Of DynamoDB.
};
using Spending = std::function<Spent()>;

// How many operations each thread does, or did.
using Counts = std::vector<std::size_t>;

// One line: `operation(thread, n)` by as many threads at once, for ten seconds at most. What each
// did.
Counts measure(const Spending& spent, const char* name, Counts each,
               const std::function<bool(std::size_t thread, std::size_t n)>& operation) {
  constexpr auto kLongest = std::chrono::seconds(10);
  const Spent before = spent();
  const auto begun = Clock::now();
  on_threads(each.size(), [&](std::size_t thread) {
    std::size_t n = 0;
    for (; n < each[thread] && Clock::now() - begun < kLongest; ++n) {
      insist(operation(thread, n), name);
    }
    each[thread] = n;
  });
  const double seconds = seconds_since(begun);
  const Spent after = spent();
  const auto done = static_cast<double>(std::accumulate(each.begin(), each.end(), std::size_t{0}));
  std::printf("%-12s %9zu %10.0f %13.2f %11.2f\n", name, each.size(), done / seconds,
              (after.requests - before.requests) / done, (after.units - before.units) / done);
  std::fflush(stdout);
  return each;
}

void heading(const char* store) {
  std::printf("\n%s\n%-12s %9s %10s %13s %11s\n", store, "operation", "in flight", "a second",
              "requests each", "units each");
}

void operations(Store& store, const Spending& spent, std::size_t in_flight, std::size_t total) {
  Claims claims(store);
  Log log(store);
  Tallies tallies(store);
  const auto key = [&](std::size_t thread, std::size_t n) {
    return std::to_string(in_flight) + "/" + std::to_string(thread) + "/" + std::to_string(n);
  };
  const auto take = [&](std::size_t thread, std::size_t n) {
    return well(claims.take(key(thread, n), {}));
  };
  const Counts each(in_flight, std::max<std::size_t>(1, total / in_flight));
  const Counts taken = measure(spent, "claim", each, take);
  measure(spent, "duplicate", taken, take);
  measure(spent, "append", each, [&](std::size_t thread, std::size_t) {
    return well(log.append(key(thread, 0), {{"event", std::nullopt}}));
  });
  measure(spent, "add", each, [&](std::size_t thread, std::size_t) {
    return well(tallies.merge(key(thread, 0), {.input = std::int64_t{1}}));
  });
}

void dynamodb(bool quick) {
  const testing::DynamoDbTable table;
  DynamoDbOptions options = table.options();
  options.measure_capacity = true;
  const auto store = open_dynamodb(options).value();
  const Spending spent = [&] {
    const DynamoDbCounts counts = store->counts();
    return Spent{static_cast<double>(counts.requests), counts.capacity_units};
  };
  heading("dynamodb");
  for (const std::size_t in_flight : {1U, 8U, 64U}) {
    operations(*store, spent, in_flight, quick ? 64 : 3'000);
  }
}

void redis(bool quick) {
  const testing::RedisServer server;
  const auto store = open_redis({.port = server.port()}).value();
  const Spending spent = [&] { return Spent{static_cast<double>(store->counts().requests), 0}; };
  heading("redis");
  const std::size_t total = quick ? 256 : 20'000;
  for (const std::size_t in_flight : {1U, 8U, 64U}) {
    const std::size_t some = std::min(total, 2'000 * in_flight);  // A sync each, if there is one.
    const double seconds = redis_set_nx(server, in_flight, some);
    std::printf("%-12s %9zu %10.0f %13.2f\n", "SET NX", in_flight,
                static_cast<double>(some) / seconds, 1.0);
    operations(*store, spent, in_flight, total);
  }
}

void s3(bool quick) {
  const testing::S3Place place;
  const auto store = open_s3(place.options()).value();
  const Spending spent = [&] {
    const S3Counts counts = store->counts();
    return Spent{static_cast<double>(counts.gets + counts.puts + counts.lists + counts.deletes), 0};
  };
  heading("s3");
  for (const std::size_t in_flight : {1U, 8U, 64U}) {
    operations(*store, spent, in_flight, quick ? 64 : 3'000);
  }
}

constexpr std::size_t kWriters = 16;

// Merges of sixteen threads of one process, combined.
double ours(Store& store, std::size_t each) {
  BatchingDriver driver(store);
  tallies::KnownTallies known;
  const Key key = tallies::tally_key("default", "hot");
  const auto begun = Clock::now();
  on_threads(kWriters, [&](std::size_t writer) {
    for (std::size_t n = 0; n < each; ++n) {
      const CountedItem item{std::to_string(writer) + "/" + std::to_string(n)};
      TallyRequest request{.shape = {.kind = TallyKind::distinct},
                           .input = std::vector<CountedItem>{item}};
      insist(driver.run(tallies::merge(key, std::move(request), &known)).has_value(), "merge");
    }
  });
  return static_cast<double>(kWriters * each) / seconds_since(begun);
}

// Document 5's: read, combine, write if unchanged; after a conflict full jitter, from 10 ms. What
// is stored is smaller than ours, in its favour.
double plain_loop(Store& store, std::size_t each) {
  const Key key{{"plain", ""}, 0};
  const auto begun = Clock::now();
  on_threads(kWriters, [&](std::size_t) {
    for (std::size_t n = 0; n < each; ++n) {
      for (int tries = 0;; ++tries) {
        const auto read = store.get(key);
        insist(read.has_value(), "read");
        Bytes next = *read ? std::get<Bytes>((*read)->value) : Bytes(8, '\0');
        ++next[0];
        Write write = put(key, next, *read ? unchanged((*read)->version) : absent());
        write.version = system_entropy().version();
        const auto outcome = store.commit({&write, 1});
        insist(outcome.has_value(), "write");
        if (committed(*outcome)) break;
        const Duration ceiling(std::min(1'000, 10 << std::min(tries, 7)));
        system_clock().sleep(system_entropy().random_below(ceiling));
      }
    }
  });
  return static_cast<double>(kWriters * each) / seconds_since(begun);
}

void hot_tally(bool quick) {
  const testing::DynamoDbTable table;
  const auto store = open_dynamodb(table.options()).value();
  const double fast = ours(*store, quick ? 20 : 400);
  const double slow = plain_loop(*store, quick ? 2 : 20);
  std::printf("\n%zu writers on one tally: %.0f a second; plain loop %.0f; ratio %.1f (target 8)\n",
              kWriters, fast, slow, fast / slow);
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  const once::bench::Options options = once::bench::options_from(count, words);
  if (const auto missing = once::testing::RedisServer::missing()) {
    std::printf("%s\n", missing->c_str());
  } else {
    once::bench::redis(options.quick);
  }
  if (const auto missing = once::testing::DynamoDbLocal::missing()) {
    std::printf("%s\n", missing->c_str());
  } else {
    once::bench::dynamodb(options.quick);
    once::bench::hot_tally(options.quick);
  }
  if (const auto missing = once::testing::CephS3::missing()) {
    std::printf("%s\n", missing->c_str());
  } else {
    once::bench::s3(options.quick);
  }
}
