// Runs clients as plans on one seeded scheduler. It decides at every step which client goes next,
// whether the step fails, whether its reply is lost, whether it is performed late, and whether the
// client crashes. The same seed gives the same trace, byte for byte.
//
//   Simulation simulation({.seed = 7});
//   simulation.add_client("appender", [&] { return append_ten(world); });
//   simulation.run();
//   EXPECT_EQ(...)   // the items in simulation.store(), and what the clients did to `world`
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "once/memory_store.h"
#include "once/plan.h"
#include "testing/manual_clock.h"

namespace once::testing {

// How many of a thousand steps meet each fate. The others succeed.
struct Fates {
  unsigned fails_before = 30;  // unavailable: nothing was read or written.
  unsigned fails_after = 30;   // unknown: a commit that was performed, but its reply is lost.
  unsigned lands_late = 30;    // unknown: a commit that is performed some steps later.
  unsigned crashes_before = 15;
  unsigned crashes_after = 15;
};

struct SimulationOptions {
  std::uint64_t seed = 1;
  Fates fates;
  Duration max_skew = std::chrono::seconds(5);       // Of each client's clock, either way.
  bool admit_skew = true;                            // The store declares it as its clock error.
  Duration max_step = std::chrono::milliseconds(5);  // Time that passes in a step.
  Duration restart_after = std::chrono::seconds(1);  // At most, from a crash to the restart.
  std::size_t max_steps = 100'000;
  std::size_t writes_per_commit = 0;          // What the store allows; 0 leaves its own limit.
                                              // With 1 it only scans downwards, as such stores do.
  Duration latest_landing = Duration::max();  // From the sending of a late write.
};

class Simulation {
 public:
  using Script = std::function<Plan<std::monostate>()>;

  explicit Simulation(SimulationOptions options);
  ~Simulation();

  // A client runs its script to the end. After a crash it starts again from the beginning, and has
  // only what it stored and what the script captured.
  void add_client(std::string name, Script script);

  // True if every client reached its end and every late write was performed.
  bool run();

  // The store that the clients share, without faults: to prepare and to check a run.
  Store& store() { return *store_; }
  ManualClock& clock() { return clock_; }

  // One line per event. Scripts may add their own.
  const std::string& trace() const { return trace_; }
  void note(const std::string& line);

 private:
  class Client;
  struct Late;

  bool step();
  Time next_action();
  Client* pick();
  void act(Client& client);
  void perform(Client& client);
  Result<CommitOutcome> commit(Client& client, std::span<Write> writes);
  void crash(Client& client);
  void settle(Client& client);
  void perform_late(std::size_t which);
  bool chance(unsigned of_a_thousand);
  std::uint64_t below(std::uint64_t bound);
  void record(const Client& client, const std::string& what);

  const SimulationOptions options_;
  Entropy entropy_;         // The scheduler's own.
  Entropy client_entropy_;  // For versions and jitter, apart so that faults do not change versions.
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  Limits limits_;  // The store's, with the clock error that the clients' skew causes.
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Late> late_;
  std::string trace_;
  std::size_t steps_ = 0;
};

}  // namespace once::testing
