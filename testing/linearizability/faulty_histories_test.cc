// Sixteen clients of the real binary, with faults on the wire: between two servers and the store
// that they share, if that is a server of its own, and otherwise between the clients and one
// server. One server is killed and started again meanwhile.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "once/open.h"
#include "testing/blackbox/served_store.h"
#include "testing/faults/faulty_way.h"
#include "testing/linearizability/workload.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

struct WireTrouble {
  const char* name;
  std::function<void(FaultyWay&)> begin;
  std::function<void(FaultyWay&)> after_each_round = nullptr;
};

const std::array kTroubles = {
    WireTrouble{"Repeat", [](FaultyWay& way) { way.set(WriteFault::repeat, 3); }},
    WireTrouble{"LostReply", [](FaultyWay& way) { way.set(WriteFault::lost_reply, 3); }},
    WireTrouble{"Lost", [](FaultyWay& way) { way.set(WriteFault::lost, 3); }},
    WireTrouble{"ForeignPage", [](FaultyWay& way) { way.set(WriteFault::foreign_page, 3); }},
    WireTrouble{"Hang", [](FaultyWay& way) { way.set(WriteFault::hang, 10, 3); }},
    WireTrouble{"SlowKey", [](FaultyWay& way) { way.hold_up("key0", 20ms); }},
    // By more than a lease, in one answer after each round.
    WireTrouble{"WrongTime", [](FaultyWay& way) { way.skew(2h, 1); },
                [](FaultyWay& way) { way.skew(2h, 1); }},
};

void PrintTo(const WireTrouble& trouble, std::ostream* out) { *out << trouble.name; }

// Requests that hang are given up after this, and each try of one after a fifth. A slow store on a
// busy machine needs longer: it goes on with what was given up, and gets behind.
std::chrono::seconds timeout() { return ServedStore::harness().is_slow ? 20s : 4s; }

// The servers and the relay, for all histories of a program.
class FaultyPlace {
 public:
  FaultyPlace() {
    if (has_store_server()) {
      way_ = std::make_unique<FaultyWay>(ServedStore::harness().serve());
      for (auto& server : servers_) {
        server = std::make_unique<ServerProcess>(way_->address(timeout()));
        await_start(*server);
      }
    } else {
      store_ = std::make_unique<ServedStore>();
      servers_[0] = std::make_unique<ServerProcess>(store_->address());
      way_ = std::make_unique<FaultyWay>(StoreAtAddress{servers_[0]->url(), nullptr});
    }
  }

  static bool has_store_server() { return ServedStore::harness().has_server(); }

  FaultyWay& way() { return *way_; }

  // Of the next client. All of them are told the same in the end.
  std::string address() {
    if (!has_store_server()) return way_->address();
    return servers_.at(clients_++ % servers_.size())->url();
  }

  // A server that starts while its store's clock is wrong believes it: it starts in a calm.
  void kill_one() {
    way_->be_calm(true);
    servers_[0]->kill();
    servers_[0]->start(servers_[0]->port());
    await_start(*servers_[0]);
    way_->be_calm(false);
  }

 private:
  // A store that does not answer in time keeps a server from starting.
  static void await_start(ServerProcess& server) {
    for (int tries = 0; server.ready_line().empty(); ++tries) {
      if (tries == 5) throw std::runtime_error("no server");
      server.start(server.port());
    }
  }

  std::unique_ptr<ServedStore> store_;
  std::unique_ptr<FaultyWay> way_;
  std::array<std::unique_ptr<ServerProcess>, 2> servers_;
  std::atomic<std::size_t> clients_ = 0;
};

class FaultyHistories : public ::testing::TestWithParam<WireTrouble> {
 protected:
  static void SetUpTestSuite() { place_ = std::make_unique<FaultyPlace>(); }
  static void TearDownTestSuite() { place_.reset(); }

  static Workload workload(std::size_t number) {
    Workload workload{.rounds = is_long_run() ? 10U : 4U, .seed = number, .answers_get_lost = true};
    if (ServedStore::harness().is_slow) workload.rounds /= 2;
    // A hung request of a client takes all of it. A server may have to wait for its store.
    workload.within = FaultyPlace::has_store_server() ? 60s : 2s;
    return workload;
  }

  // One kill a history, where the store outlives it.
  static void kill_at_half(const std::atomic<std::size_t>& rounds, std::size_t half) {
    for (std::size_t now = rounds; now < half; now = rounds) rounds.wait(now);
    if (ServedStore::harness().name != "memory") place_->kill_one();
  }

  static inline std::unique_ptr<FaultyPlace> place_;
};

TEST_P(FaultyHistories, OfSixteenClientsAreLinearizable) {
  static std::size_t number = 0;
  for (int history = 0; history < (is_long_run() ? 10 : 1); ++history) {
    const Workload load = workload(++number);
    const std::string name_space = "history-" + std::to_string(number);
    const auto connect = [&] { return open(place_->address(), name_space).value(); };
    std::atomic<std::size_t> rounds = 0;
    std::thread killer([&] { kill_at_half(rounds, load.clients * load.rounds / 2); });
    FaultyWay& way = place_->way();
    GetParam().begin(way);
    const Histories recorded = run_workload(load, connect, [&] {
      if (GetParam().after_each_round) GetParam().after_each_round(way);
      ++rounds;
      rounds.notify_all();
    });
    killer.join();
    EXPECT_GT(way.met(), 0);
    way.heal();
    Once judge = connect();
    const std::vector<std::string> faults = faults_of(load, recorded, judge);
    ASSERT_TRUE(faults.empty()) << "history " << number << ":\n" << lines_of(faults);
  }
}

INSTANTIATE_TEST_SUITE_P(Under, FaultyHistories, ::testing::ValuesIn(kTroubles),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace once::testing
