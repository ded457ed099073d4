// Shows that the simulator can find bugs: it catches two common patterns, and passes the same jobs
// done by one guarded commit. Known designs with such flaws are in testing/seed_flaws.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

constexpr int kClients = 3;
constexpr int kEach = 5;
constexpr Duration kBackoff{10};

using Script = std::function<Plan<std::monostate>(int client)>;

Key key_of(const std::string& home) { return {{home, ""}, 0}; }

std::string name_of_event(int client, int i) {
  return "event-" + std::to_string(client) + '-' + std::to_string(i);
}

std::int64_t number_at(Store& store, const Key& key) {
  const auto item = store.get(key);
  return item->has_value() ? std::get<std::int64_t>((*item)->value) : 0;
}

bool run_clients(Simulation& simulation, const Script& script) {
  for (int client = 0; client < kClients; ++client) {
    simulation.add_client("c" + std::to_string(client), [=] { return script(client); });
  }
  return simulation.run();
}

// A naive program: tries again until it is told that the commit happened.
Plan<bool> insist(Write write) {
  for (;;) {
    const Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (outcome) co_return committed(*outcome);
    co_await pause(kBackoff);
  }
}

Plan<std::optional<Item>> read(Key key) {
  for (;;) {
    Result<std::optional<Item>> item = co_await attempt(get(key));
    if (item) co_return std::move(*item);
    co_await pause(kBackoff);
  }
}

// --- A counter: no acknowledged increment may be missing. ---

Plan<std::monostate> count_by_read_then_write(int& acknowledged) {
  for (int i = 0; i < kEach; ++i) {
    const Key key = key_of("counter");
    const std::optional<Item> item = co_await read(key);
    const std::int64_t before = item ? std::get<std::int64_t>(item->value) : 0;
    Write next = put(key, before + 1, anything());
    const Result<CommitOutcome> outcome = co_await attempt(commit(next));
    if (outcome) ++acknowledged;
  }
  co_return std::monostate{};
}

std::string judge_read_then_write(Simulation& simulation) {
  int acknowledged = 0;
  const bool ended =
      run_clients(simulation, [&](int) { return count_by_read_then_write(acknowledged); });
  if (!ended) return "never ends";
  return number_at(simulation.store(), key_of("counter")) < acknowledged ? "lost an increment" : "";
}

// Every increment has a name, stored by the commit that adds it.
Plan<std::monostate> count_by_commit(int client) {
  for (int i = 0; i < kEach; ++i) {
    const Key marker{{"counter", name_of_event(client, i)}, 0};
    for (;;) {
      std::vector<Write> writes = {put(marker, std::int64_t{1}, absent()),
                                   add(key_of("counter"), 1)};
      const Result<CommitOutcome> outcome = co_await attempt(commit(writes));
      if (outcome) break;  // Lost means that an earlier try succeeded.
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

std::string judge_commit(Simulation& simulation) {
  if (!run_clients(simulation, count_by_commit)) return "never ends";
  const auto total = number_at(simulation.store(), key_of("counter"));
  return total == kClients * kEach ? "" : "counted " + std::to_string(total);
}

// --- A consumer: every event is delivered to every client and must have its effect once. ---

Plan<std::monostate> consume_by_mark_then_act() {
  for (int i = 0; i < kEach; ++i) {
    const std::string id = name_of_event(0, i);
    const bool first = co_await insist(put(key_of("seen-" + id), std::int64_t{1}, absent()));
    if (first) co_await insist(add(key_of("effect-" + id), 1));
  }
  co_return std::monostate{};
}

Plan<std::monostate> consume_by_commit() {
  for (int i = 0; i < kEach; ++i) {
    const std::string id = name_of_event(0, i);
    for (;;) {
      std::vector<Write> writes = {put(key_of("seen-" + id), std::int64_t{1}, absent()),
                                   add(key_of("effect-" + id), 1)};
      const Result<CommitOutcome> outcome = co_await attempt(commit(writes));
      if (outcome) break;
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

std::string judge_consumer(Simulation& simulation, const Script& script) {
  if (!run_clients(simulation, script)) return "never ends";
  for (int i = 0; i < kEach; ++i) {
    const std::string id = name_of_event(0, i);
    const auto effects = number_at(simulation.store(), key_of("effect-" + id));
    if (effects != 1) return id + " took effect " + std::to_string(effects) + " times";
  }
  return "";
}

TEST(SimulatorFindsBugs, InAReadThenWriteCounter) {
  const auto found = find_bug(200, judge_read_then_write);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->complaint, "lost an increment");
}

TEST(SimulatorFindsBugs, InAMarkThenActConsumer) {
  const Scenario scenario = [](Simulation& simulation) {
    return judge_consumer(simulation, [](int) { return consume_by_mark_then_act(); });
  };
  EXPECT_TRUE(find_bug(200, scenario).has_value());
}

TEST(SimulatorFindsBugs, OfEachKindByCrashesAlone) {
  const SimulationOptions crashes{.fates = {0, 0, 0, 30, 30}};
  const Scenario consumer = [](Simulation& simulation) {
    return judge_consumer(simulation, [](int) { return consume_by_mark_then_act(); });
  };
  EXPECT_EQ(find_bug(500, consumer, crashes)->complaint.substr(0, 6), "event-");
}

TEST(SimulatorFindsBugs, AndAFindingReplaysFromItsSeed) {
  const auto found = find_bug(200, judge_read_then_write);
  ASSERT_TRUE(found.has_value());
  Simulation again({.seed = found->seed});
  EXPECT_EQ(judge_read_then_write(again), found->complaint);
  EXPECT_EQ(again.trace(), found->trace);
}

TEST(SimulatorFindsBugs, AndPrintsTheCommandThatReplaysThem) {
  EXPECT_NONFATAL_FAILURE(expect_holds(2'000, judge_read_then_write), "replay with: ONCE_SEED=");
}

TEST(SimulatorClears, ACounterWhoseIncrementsAreNamed) { expect_holds(2'000, judge_commit); }

TEST(SimulatorClears, AConsumerThatMarksAndActsInOneCommit) {
  expect_holds(2'000, [](Simulation& simulation) {
    return judge_consumer(simulation, [](int) { return consume_by_commit(); });
  });
}

}  // namespace
}  // namespace once::testing
