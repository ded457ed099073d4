#include <gtest/gtest.h>

#include <set>

#include "testing/simulator/hunt.h"
#include "testing/simulator/simulation.h"

namespace once::testing {
namespace {

const Key kCounter{{"counter", ""}, 0};

Plan<std::monostate> add_some(int times) {
  for (int i = 0; i < times; ++i) {
    Write one = add(kCounter, 1);
    (void)co_await attempt(commit(one));
    const std::uint64_t jitter = co_await random_number();
    co_await pause(Duration(jitter % 20));
  }
  co_return std::monostate{};
}

std::string trace_of(std::uint64_t seed) {
  Simulation simulation({.seed = seed});
  for (const char* name : {"a", "b", "c"}) simulation.add_client(name, [] { return add_some(20); });
  EXPECT_TRUE(simulation.run());
  return simulation.trace();
}

TEST(Simulator, SameSeedGivesTheSameTraceByteForByte) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(trace_of(seed), trace_of(seed));
}

TEST(Simulator, EachSeedGivesAnotherTrace) {
  std::set<std::string> traces;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) traces.insert(trace_of(seed));
  EXPECT_EQ(traces.size(), 50U);
}

TEST(Simulator, EveryFateIsMet) {
  std::string all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) all += trace_of(seed);
  for (const char* fate : {"unavailable", "unknown", "loses the reply", "landed late", "crashes",
                           "starts", "ends", "committed"}) {
    EXPECT_NE(all.find(fate), std::string::npos) << fate;
  }
}

TEST(Simulator, WithoutFaultsEveryClientEndsAndNothingIsLost) {
  Simulation simulation({.seed = 3, .fates = {0, 0, 0, 0, 0}});
  for (const char* name : {"a", "b", "c"}) simulation.add_client(name, [] { return add_some(20); });
  ASSERT_TRUE(simulation.run());
  const auto counter = simulation.store().get(kCounter);
  EXPECT_EQ(counter->value().value, Value(std::int64_t{60}));
}

TEST(Simulator, ClientsSeeClocksThatDisagree) {
  std::set<std::int64_t> seen;
  Simulation simulation({.seed = 5, .fates = {0, 0, 0, 0, 0}, .max_step = Duration::zero()});
  const auto look = [&seen]() -> Plan<std::monostate> {
    const Time now = co_await store_now();
    seen.insert(now.time_since_epoch().count());
    co_return std::monostate{};
  };
  for (const char* name : {"a", "b", "c", "d"}) simulation.add_client(name, look);
  ASSERT_TRUE(simulation.run());
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_LE(*seen.rbegin() - *seen.begin(), 10'000);
}

TEST(Simulator, ARunThatNeverEndsIsReported) {
  Simulation simulation({.seed = 1, .max_steps = 500});
  const auto forever = []() -> Plan<std::monostate> {
    for (;;) co_await pause(Duration(1));
  };
  simulation.add_client("restless", forever);
  EXPECT_FALSE(simulation.run());
}

}  // namespace
}  // namespace once::testing
