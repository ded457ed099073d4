// Runs one scenario under many seeds and reports the first seed that breaks its promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "testing/simulator/simulation.h"

namespace once::testing {

// Prepares and runs the simulation. Returns what went wrong; empty if nothing did.
using Scenario = std::function<std::string(Simulation&)>;

struct Finding {
  std::uint64_t seed = 0;
  std::string complaint;
  std::string trace;
};

// The first seed in [1, seeds] that breaks the scenario.
std::optional<Finding> find_bug(std::size_t seeds, const Scenario& scenario,
                                SimulationOptions options = {});

// Fails the running test if any seed breaks the scenario, and prints the command that replays it.
// ONCE_SEED=N in the environment runs that seed alone and prints its trace; ONCE_LONG=1 runs
// fifty times as many, ONCE_SEEDS_TIMES=N runs N times as many. A program says at its end how many
// it ran.
void expect_holds(std::size_t seeds, const Scenario& scenario, SimulationOptions options = {});

}  // namespace once::testing
