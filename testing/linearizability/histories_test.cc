// Sixteen clients of the real binary, which is killed again and again: what they were answered is
// linearizable, and the logs have no gap.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "once/open.h"
#include "testing/blackbox/served_store.h"
#include "testing/linearizability/workload.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

// What is only in the memory of the server ends with it.
std::size_t kills() {
  if (ServedStore::harness().name == "memory") return 0;
  if (!is_long_run()) return 4;
  return ServedStore::harness().has_server() ? 100 : 1'000;
}

// Two kills a history: the time to check one grows with its length.
TEST(Histories, OfSixteenClientsOfAServerThatIsKilledAreLinearizable) {
  const ServedStore store;
  ServerProcess server(store.address());
  ASSERT_TRUE(server.running()) << server.ready_line();
  const std::size_t histories = std::max<std::size_t>(1, kills() / 2);
  for (std::size_t number = 0; number < histories; ++number) {
    Workload workload{.seed = number + 1, .answers_get_lost = kills() > 0};
    if (ServedStore::harness().is_slow) workload.rounds = 4;
    const std::string name_space = "history-" + std::to_string(number);
    const auto connect = [&] { return open(server.url(), name_space).value(); };
    std::atomic<std::size_t> rounds = 0;
    std::thread killer([&] {
      const std::size_t all = workload.clients * workload.rounds;
      for (std::size_t kill = 1; kill <= kills() / histories; ++kill) {
        const std::size_t at = kill * all / (kills() / histories + 1);
        for (std::size_t now = rounds; now < at; now = rounds) rounds.wait(now);
        server.kill();
        server.start(server.port());
      }
    });
    const Histories recorded = run_workload(workload, connect, [&] {
      ++rounds;
      rounds.notify_all();
    });
    killer.join();
    Once judge = connect();
    const std::vector<std::string> faults = faults_of(workload, recorded, judge);
    ASSERT_TRUE(faults.empty()) << "history " << number << ":\n" << lines_of(faults);
  }
}

}  // namespace
}  // namespace once::testing
