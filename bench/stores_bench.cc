// The stores that are servers, beside each other: operations a second with 1, 8 and 64 in flight
// and what each costs in requests. DynamoDB is DynamoDB Local, which does about 1,500 requests a
// second on two cores and is the bound of its figures but the requests; then sixteen writers on one
// hot tally of it. Redis syncs its file before every answer; "its own" is SET NX by redis-benchmark
// with as many clients, the yardstick of a claim. S3 is Ceph with its objects in memory, which
// is the bound of its figures but the requests.
#include <atomic>
#include <cstdio>
#include <numeric>
#include <thread>

#include "bench/harness.h"
#include "once/batching_driver.h"
#include "once/claims.h"
#include "once/local.h"
#include "once/log.h"
#include "once/tallies.h"
#include "testing/stores/stores.h"

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

// Operations of each thread.
using Counts = std::vector<std::size_t>;

// One line: `operation(thread, n)` by as many threads at once, for ten seconds at most. What each
// did.
Counts measure(testing::MeasuredStore& measured, const char* name, Counts each,
               const std::function<bool(std::size_t thread, std::size_t n)>& operation) {
  constexpr auto kLongest = std::chrono::seconds(10);
  const double requests_before = measured.requests();
  const double units_before = measured.units();
  const auto begun = Clock::now();
  on_threads(each.size(), [&](std::size_t thread) {
    std::size_t n = 0;
    for (; n < each[thread] && Clock::now() - begun < kLongest; ++n) {
      insist(operation(thread, n), name);
    }
    each[thread] = n;
  });
  const double seconds = seconds_since(begun);
  const double requests = measured.requests() - requests_before;
  const double units = measured.units() - units_before;
  const auto done = static_cast<double>(std::accumulate(each.begin(), each.end(), std::size_t{0}));
  std::printf("%-12s %9zu %10.0f %13.2f %11.2f\n", name, each.size(), done / seconds,
              requests / done, units / done);
  std::fflush(stdout);
  return each;
}

void heading(const std::string& store) {
  std::printf("\n%s\n%-12s %9s %10s %13s %11s\n", store.c_str(), "operation", "in flight",
              "a second", "requests each", "units each");
}

void operations(testing::MeasuredStore& measured, std::size_t in_flight, std::size_t total) {
  Store& store = measured.store();
  LocalClaims claims(store);
  LocalLog log(store);
  LocalTallies tallies(store);
  const auto key = [&](std::size_t thread, std::size_t n) {
    return std::to_string(in_flight) + "/" + std::to_string(thread) + "/" + std::to_string(n);
  };
  const auto take = [&](std::size_t thread, std::size_t n) {
    return well(claims.take(key(thread, n), {}));
  };
  const Counts each(in_flight, std::max<std::size_t>(1, total / in_flight));
  const Counts taken = measure(measured, "claim", each, take);
  measure(measured, "duplicate", taken, take);
  measure(measured, "append", each, [&](std::size_t thread, std::size_t) {
    return well(log.append(key(thread, 0), {{"event", std::nullopt}}));
  });
  measure(measured, "add", each, [&](std::size_t thread, std::size_t) {
    return well(tallies.merge(key(thread, 0), {.input = std::int64_t{1}}));
  });
}

void all_operations(const testing::StoreHarness& harness, bool quick) {
  const auto measured = harness.measure();
  const std::size_t in_full = harness.is_slow ? 3'000 : 20'000;
  const std::size_t in_quick = harness.is_slow ? 64 : 256;
  const std::size_t total = quick ? in_quick : in_full;
  heading(harness.name);
  for (const std::size_t in_flight : {1U, 8U, 64U}) {
    const std::size_t some = std::min(total, 2'000 * in_flight);  // A sync each, if there is one.
    if (const auto seconds = measured->seconds_of_its_own(in_flight, some)) {
      std::printf("%-12s %9zu %10.0f %13.2f\n", "its own", in_flight,
                  static_cast<double>(some) / *seconds, 1.0);
    }
    operations(*measured, in_flight, total);
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

// As docs/recipes.md#5-mergeable-state does it: read, combine, write if unchanged; after a conflict
// full jitter, from 10 ms. Its stored state is smaller than ours, in its favour.
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

// On the one whose requests cost most.
void hot_tally(const testing::StoreHarness& harness, bool quick) {
  const auto measured = harness.measure();
  const double fast = ours(measured->store(), quick ? 20 : 400);
  const double slow = plain_loop(measured->store(), quick ? 2 : 20);
  std::printf("\n%zu writers on one tally: %.0f a second; plain loop %.0f; ratio %.1f (target 8)\n",
              kWriters, fast, slow, fast / slow);
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  const once::bench::Options options = once::bench::options_from(count, words);
  for (const once::testing::StoreHarness& harness : once::testing::store_harnesses()) {
    if (harness.measure == nullptr) continue;
    if (const auto missing = harness.missing()) {
      std::printf("%s\n", missing->c_str());
      continue;
    }
    once::bench::all_operations(harness, options.quick);
    if (harness.name == "dynamodb") once::bench::hot_tally(harness, options.quick);
  }
}
