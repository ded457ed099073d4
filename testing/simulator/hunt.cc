#include "testing/simulator/hunt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace once::testing {
namespace {

constexpr std::size_t kTraceTail = 4'000;

// Sanitizers make every step up to fifty times slower and need only a few seeds; all seeds run
// without them.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kSeedDivisor = 20;
#else
constexpr std::size_t kSeedDivisor = 1;
#endif

// All that this process simulated, said at its end.
class Count : public ::testing::Environment {
 public:
  void add() { ++schedules_; }
  void TearDown() override {
    if (schedules_ > 0) std::cout << schedules_ << " schedules were simulated\n";
  }

 private:
  std::uint64_t schedules_ = 0;
};

Count* const simulated = new Count;  // gtest's, which deletes it.
const auto* const registered = ::testing::AddGlobalTestEnvironment(simulated);

std::size_t times_as_many() {
  if (const char* times = std::getenv("ONCE_SEEDS_TIMES")) return std::strtoull(times, nullptr, 10);
  return std::getenv("ONCE_LONG") != nullptr ? 50 : 1;
}

std::optional<Finding> try_seed(std::uint64_t seed, const Scenario& scenario,
                                SimulationOptions options) {
  options.seed = seed;
  Simulation simulation(options);
  simulated->add();
  std::string complaint = scenario(simulation);
  if (complaint.empty()) return std::nullopt;
  return Finding{seed, std::move(complaint), simulation.trace()};
}

std::string replay_command(std::uint64_t seed) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return "ONCE_SEED=" + std::to_string(seed) + ' ' + std::filesystem::relative(program).string() +
         " --gtest_filter=" + test->test_suite_name() + '.' + test->name();
}

void report(const Finding& found) {
  const std::size_t cut = found.trace.size() > kTraceTail ? found.trace.size() - kTraceTail : 0;
  ADD_FAILURE() << "seed " << found.seed << ": " << found.complaint
                << "\nreplay with: " << replay_command(found.seed) << "\nthe end of its trace:\n"
                << found.trace.substr(cut);
}

void replay(std::uint64_t seed, const Scenario& scenario, SimulationOptions options) {
  options.seed = seed;
  Simulation simulation(options);
  const std::string complaint = scenario(simulation);
  std::cout << simulation.trace();
  EXPECT_EQ(complaint, "") << "seed " << seed;
}

}  // namespace

std::optional<Finding> find_bug(std::size_t seeds, const Scenario& scenario,
                                SimulationOptions options) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (auto found = try_seed(seed, scenario, options)) return found;
  }
  return std::nullopt;
}

void expect_holds(std::size_t seeds, const Scenario& scenario, SimulationOptions options) {
  if (const char* seed = std::getenv("ONCE_SEED")) {
    return replay(std::strtoull(seed, nullptr, 10), scenario, options);
  }
  seeds = seeds / kSeedDivisor * times_as_many();
  if (const auto found = find_bug(seeds, scenario, options)) report(*found);
}

}  // namespace once::testing
