#include <gtest/gtest.h>

#include "testing/primitives/log_world.h"

namespace once::testing {
namespace {

constexpr SimulationOptions kManyWrites{};
constexpr SimulationOptions kOneWrite{.writes_per_commit = 1};

// Three appenders and a repeat of one of them, every batch under an id.
Scenario named_batches(LogStrategy strategy) {
  return [strategy](Simulation& simulation) {
    LogWorld world(simulation, strategy);
    world.add_appender("a", "a", 3);
    world.add_appender("b", "b", 3);
    world.add_appender("c", "c", 2);
    world.add_appender("a again", "a", 3);
    world.add_reader(20);
    if (strategy == LogStrategy::reserve) world.add_healer(10, Duration(50));
    return world.judge();
  };
}

Scenario nameless_batches(LogStrategy strategy) {
  return [strategy](Simulation& simulation) {
    LogWorld world(simulation, strategy);
    for (const char* name : {"a", "b", "c"}) world.add_nameless_appender(name, 4);
    world.add_reader(20);
    if (strategy == LogStrategy::reserve) world.add_healer(10, Duration(50));
    return world.judge();
  };
}

TEST(LogSimulation, ConditionalIsGaplessUniqueAndLosesNothing) {
  expect_holds(2'000, nameless_batches(LogStrategy::conditional));
}

TEST(LogSimulation, ConditionalAppendsNamedBatchesOnce) {
  expect_holds(2'000, named_batches(LogStrategy::conditional), kManyWrites);
}

TEST(LogSimulation, H5_NamedBatchesAreAppendedOnceWhereOneWriteIsAllThereIs) {
  expect_holds(2'000, named_batches(LogStrategy::conditional), kOneWrite);
}

Scenario expecting_appenders(LogStrategy strategy) {
  return [strategy](Simulation& simulation) {
    LogWorld world(simulation, strategy);
    world.add_expecting_appender("a", "a", 3);
    world.add_expecting_appender("a again", "a", 3);
    world.add_expecting_appender("b", "b", 2);
    world.add_appender("c", "c", 2);
    return world.judge();
  };
}

TEST(LogSimulation, H2_WhatIsExpectedNeverMakesAHoleOrAnOverlap) {
  expect_holds(2'000, expecting_appenders(LogStrategy::conditional), kManyWrites);
  expect_holds(2'000, expecting_appenders(LogStrategy::transaction), kManyWrites);
}

TEST(LogSimulation, H2_WhatIsExpectedNeverMakesAHoleOrAnOverlapWhereOneWriteIsAllThereIs) {
  expect_holds(2'000, expecting_appenders(LogStrategy::conditional), kOneWrite);
}

// Two servers, one of which also gets the other's batches, and a client by itself.
Scenario combined_batches(LogStrategy strategy) {
  return [strategy](Simulation& simulation) {
    LogWorld world(simulation, strategy);
    world.add_server("server", {"a", "b", "c"}, 3);
    world.add_server("other server", {"d", "a"}, 3);
    world.add_appender("client", "b", 3);
    world.add_nameless_appender("n", 2);
    world.add_reader(20);
    return world.judge();
  };
}

TEST(LogSimulation, CombinedAppendsAreGaplessUniqueAndLoseNothing) {
  expect_holds(2'000, combined_batches(LogStrategy::conditional), kManyWrites);
}

TEST(LogSimulation, H5_CombinedAppendsLoseNothingWhereOneWriteIsAllThereIs) {
  expect_holds(2'000, combined_batches(LogStrategy::conditional), kOneWrite);
}

TEST(LogSimulation, CombinedAppendsInATransactionLoseNothing) {
  expect_holds(1'000, combined_batches(LogStrategy::transaction), kManyWrites);
}

Scenario combined_expecting() {
  return [](Simulation& simulation) {
    LogWorld world(simulation, LogStrategy::conditional);
    world.add_expecting_server("server", {"a", "b"}, 2);
    world.add_expecting_server("other server", {"c", "a"}, 2);
    world.add_expecting_appender("client", "b", 2);
    return world.judge();
  };
}

TEST(LogSimulation, H2_WhatIsExpectedInAGroupNeverMakesAHoleOrAnOverlap) {
  expect_holds(1'000, combined_expecting(), kManyWrites);
  expect_holds(1'000, combined_expecting(), kOneWrite);
}

TEST(LogSimulation, TransactionIsGaplessUniqueAndLosesNothing) {
  expect_holds(2'000, nameless_batches(LogStrategy::transaction));
}

TEST(LogSimulation, TransactionAppendsNamedBatchesOnce) {
  expect_holds(2'000, named_batches(LogStrategy::transaction));
}

TEST(LogSimulation, H3_AVoiderAndALateWriterNeverBothWin) {
  expect_holds(2'000, nameless_batches(LogStrategy::reserve));
}

TEST(LogSimulation, H3_ReserveAppendsNamedBatchesOnceWhereOneWriteIsAllThereIs) {
  expect_holds(2'000, named_batches(LogStrategy::reserve), kOneWrite);
}

// Time runs so fast that a minute passes before a sent write is performed.
SimulationOptions slow_network(std::size_t writes_per_commit) {
  return {.fates = {.lands_late = 150},
          .max_step = std::chrono::seconds(2),
          .writes_per_commit = writes_per_commit};
}

Scenario trimmed_batches(LogStrategy strategy) {
  return [strategy](Simulation& simulation) {
    LogWorld world(simulation, strategy);
    world.add_appender("a", "a", 3);
    world.add_appender("b", "b", 3);
    world.add_nameless_appender("c", 4);
    world.add_appender("a again", "a", 3);
    world.add_reader(10);
    world.add_trimmer(15);
    if (strategy == LogStrategy::reserve) world.add_healer(10, Duration(50));
    return world.judge();
  };
}

TEST(LogSimulation, H1_TrimRacesAStalledAppender) {
  expect_holds(2'000, trimmed_batches(LogStrategy::conditional), slow_network(0));
}

TEST(LogSimulation, H1_TrimRacesAStalledAppenderWhereOneWriteIsAllThereIs) {
  expect_holds(2'000, trimmed_batches(LogStrategy::conditional), slow_network(1));
}

TEST(LogSimulation, H1_TrimRacesAStalledAppenderInATransaction) {
  expect_holds(2'000, trimmed_batches(LogStrategy::transaction), slow_network(0));
}

TEST(LogSimulation, H1_TrimRacesAStalledAppenderThatReserved) {
  expect_holds(2'000, trimmed_batches(LogStrategy::reserve), slow_network(1));
}

Scenario trimmed_groups() {
  return [](Simulation& simulation) {
    LogWorld world(simulation, LogStrategy::conditional);
    world.add_server("server", {"a", "b"}, 3);
    world.add_server("other server", {"c", "a"}, 3);
    world.add_nameless_appender("n", 2);
    world.add_reader(10);
    world.add_trimmer(15);
    return world.judge();
  };
}

TEST(LogSimulation, H1_TrimRacesAStalledGroup) {
  expect_holds(1'000, trimmed_groups(), slow_network(0));
  expect_holds(1'000, trimmed_groups(), slow_network(1));
}

Scenario removed_logs() {
  return [](Simulation& simulation) {
    LogWorld world(simulation, LogStrategy::conditional);
    for (const char* name : {"a", "b", "c"}) world.add_nameless_appender(name, 5);
    world.add_remover(5);
    return world.judge_lives();
  };
}

TEST(LogSimulation, H1_AnAppendIsInTheLogThatItWasToldOrInNone) {
  expect_holds(2'000, removed_logs(), kManyWrites);
  expect_holds(1'000, removed_logs(), kOneWrite);
}

// Each has a server of its own, so that only losing and spreading out brings them to the end.
TEST(LogSimulation, ThirtyProcessesOnOneStreamAllFinish) {
  const Scenario crowd = [](Simulation& simulation) {
    LogWorld world(simulation, LogStrategy::conditional);
    for (int i = 0; i < 30; ++i) world.add_nameless_appender("p" + std::to_string(i), 2);
    return world.judge_all_appended();
  };
  constexpr Fates kNone{0, 0, 0, 0, 0};
  expect_holds(8, crowd, {.fates = kNone, .max_step = Duration(20)});
  expect_holds(8, crowd, {.fates = kNone, .max_step = Duration(20), .writes_per_commit = 1});
}

TEST(LogSimulation, H1_WouldCatchATrimThatFreesKeys) {
  const Scenario careless = [](Simulation& simulation) {
    LogWorld world(simulation, LogStrategy::conditional);
    for (const char* name : {"a", "b", "c"}) world.add_nameless_appender(name, 6);
    world.add_careless_trimmer(30);
    return world.judge_answers();
  };
  EXPECT_TRUE(find_bug(500, careless).has_value());
}

}  // namespace
}  // namespace once::testing
