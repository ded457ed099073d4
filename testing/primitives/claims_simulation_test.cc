// Claims under crashes, lost replies, late writes and clocks that disagree.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "once/blocking_driver.h"
#include "once/claims.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kClients = 4;
constexpr int kKeys = 3;

// What all clients did, as no real client could know.
struct World {
  explicit World(Simulation& running) : simulation(running) {}

  struct Holder {
    int client = -1;
    Time until{};  // In true time.
  };

  void complain(const std::string& what) {
    simulation.note("COMPLAINT " + what);
    if (complaint.empty()) complaint = what;
  }

  // `client` was told that it holds `key`; `until` is in true time.
  void hold(const std::string& key, int client, std::int64_t fence, Time until) {
    const Holder& last = holders[key];
    const bool overlaps = last.client >= 0 && last.client != client &&
                          simulation.clock().now() < last.until && fence > last_fence[key];
    if (overlaps) complain("two hold " + key);
    if (!fences[key].insert(fence).second) complain("a fence twice on " + key);
    if (fence > last_fence[key]) {
      last_fence[key] = fence;
      holders[key] = {client, until};
    }
  }
  void let_go(const std::string& key, int client) {
    if (holders[key].client == client) holders[key].client = -1;
  }
  void outcome(const std::string& key, const Bytes& result) {
    const auto [at, fresh] = results.emplace(key, result);
    if (!fresh && at->second != result) complain("two outcomes of " + key);
  }

  Simulation& simulation;
  std::string complaint;
  std::map<std::string, Holder> holders;
  std::map<std::string, std::int64_t> last_fence;
  std::map<std::string, std::set<std::int64_t>> fences;
  std::map<std::string, Bytes> results;
};

// Works while it holds the key: sometimes too long, sometimes renewing, sometimes giving up.
Plan<bool> work_on(World& world, int client, std::string name, Claimed claim) {
  const Key key = claims::claim_key("sim", name);
  Time mine = co_await store_now();
  const Duration skew = mine - world.simulation.clock().now();
  world.hold(name, client, claim.fence, claim.lease_until - skew);
  const std::uint64_t mood = co_await random_number();
  co_await pause(Duration(mood % 3'000));
  if (mood % 5 == 1) {
    const RenewOutcome renewed = co_await claims::renew(key, claim.ticket, 1s);
    if (std::holds_alternative<Fenced>(renewed)) co_return false;
    co_await pause(Duration(mood % 1'500));
  }
  world.let_go(name, client);
  if (mood % 7 == 1) {
    const Bytes failure;
    co_await claims::release(key, claim.ticket, failure, Release::retryable);
    co_return false;
  }
  const Bytes result = "by " + std::to_string(client) + " under " + std::to_string(claim.fence);
  const SettleOutcome settled = co_await claims::complete(key, claim.ticket, result);
  if (std::holds_alternative<Mismatch>(settled)) world.complain("own result differs");
  if (!std::holds_alternative<Settled>(settled)) co_return false;
  world.outcome(name, result);
  co_return true;
}

Plan<bool> try_once(World& world, int client, std::string name) {
  const ClaimRequest request{.owner = std::to_string(client), .lease = 1s};
  const Key key = claims::claim_key("sim", name);
  ClaimOutcome outcome = co_await claims::take(key, request);
  if (auto* claim = std::get_if<Claimed>(&outcome)) {
    co_return co_await work_on(world, client, name, std::move(*claim));
  }
  if (const auto* done = std::get_if<Done>(&outcome)) {
    world.outcome(name, done->result);
    co_return true;
  }
  co_return false;
}

Plan<std::monostate> work_through(World& world, int client) {
  for (int i = 0; i < kKeys; ++i) {
    const std::string name = "job-" + std::to_string(i);
    for (;;) {
      const Result<bool> finished = co_await attempt(try_once(world, client, name));
      if (finished && *finished) break;
      const std::uint64_t drawn = co_await random_number();
      co_await pause(Duration(drawn % 500));
    }
  }
  co_return std::monostate{};
}

std::string judge(Simulation& simulation) {
  World world(simulation);
  for (int client = 0; client < kClients; ++client) {
    simulation.add_client("c" + std::to_string(client),
                          [&world, client] { return work_through(world, client); });
  }
  if (!simulation.run()) return "never ends";
  if (!world.complaint.empty()) return world.complaint;
  BlockingDriver driver(simulation.store(), simulation.clock());
  for (const auto& [name, result] : world.results) {
    const auto state = driver.run(claims::show(claims::claim_key("sim", name)));
    if (!state || !*state || (*state)->result != result) return "an outcome was lost: " + name;
    if ((*state)->fence < world.last_fence[name]) return "the fence fell: " + name;
  }
  return world.results.size() == kKeys ? "" : "a job was never done";
}

TEST(ClaimsSimulation, OneHolderAtATimeOneOutcomeAndFencesInOrder) { expect_holds(3'000, judge); }

TEST(ClaimsSimulation, TheSameWithManyFaults) {
  expect_holds(1'000, judge, {.fates = {80, 80, 80, 40, 40}});
}

TEST(ClaimsSimulation, H15_ATakeoverThatTrustsItsOwnClockIsCaught) {
  // The store says that clocks agree, but they are up to ten seconds apart.
  const auto found = find_bug(500, judge, {.max_skew = 5s, .admit_skew = false});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->complaint.substr(0, 8), "two hold");
}

// Every id is delivered to every client, some more than once. A client acts only if it is first.
struct Deliveries {
  std::map<std::string, std::set<int>> acted;  // By id: the clients that were told first.
};

Plan<std::monostate> consume(Deliveries& deliveries, int client) {
  const std::string request = "r" + std::to_string(client);
  std::vector<Key> keys;
  for (int i = 0; i < 4; ++i) keys.push_back(claims::seen_key("sim", "id-" + std::to_string(i)));
  for (;;) {
    const Result<claims::Seen> seen =
        co_await attempt(claims::seen(keys, std::chrono::hours(1), request));
    if (seen) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (seen->first[i]) deliveries.acted["id-" + std::to_string(i)].insert(client);
      }
      co_return std::monostate{};
    }
    co_await pause(Duration(10));
  }
}

TEST(ClaimsSimulation, H11_EachIdIsFirstForOneClientAndNeverForNone) {
  expect_holds(3'000, [](Simulation& simulation) -> std::string {
    Deliveries deliveries;
    for (int client = 0; client < kClients; ++client) {
      simulation.add_client("c" + std::to_string(client),
                            [&deliveries, client] { return consume(deliveries, client); });
    }
    if (!simulation.run()) return "never ends";
    for (int i = 0; i < 4; ++i) {
      const auto& actors = deliveries.acted["id-" + std::to_string(i)];
      if (actors.size() != 1) return std::to_string(actors.size()) + " were told first";
    }
    return "";
  });
}

}  // namespace
}  // namespace once::testing
