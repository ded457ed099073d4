// docs/recipes.md#2-claimed-jobs: a row with a status, created if it does not exist. "In progress"
// is reported as success and the message deleted, so a crashed worker's job is lost.
#include <gtest/gtest.h>

#include "once/blocking_driver.h"
#include "once/claims.h"
#include "testing/seed_flaws/queue.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kWorkers = 3;
constexpr int kJobs = 4;
constexpr Duration kVisibility = 20s;

Key row_of(const std::string& id) { return {{"row/" + id, ""}, 0}; }

// True when the message must be deleted.
Plan<bool> handle_by_document(std::string id) {
  const Key row = row_of(id);
  const std::optional<Item> existing = co_await get(row);
  if (existing) co_return true;  // 'success' or 'processing': skipped, reported as success.
  Write start = put(row, Bytes("processing"), absent());
  const CommitOutcome started = co_await commit(start);
  if (!committed(started)) co_return true;
  co_await pause(100ms);  // The screenshot.
  Write finish = put(row, Bytes("success"), anything());
  co_await commit(finish);
  co_return true;
}

Plan<bool> handle_by_claim(std::string id) {
  const Key key = claims::claim_key("sim", id);
  const ClaimRequest request{.lease = 5s};
  const ClaimOutcome outcome = co_await claims::take(key, request);
  if (std::holds_alternative<Done>(outcome)) co_return true;
  const auto* claimed = std::get_if<Claimed>(&outcome);
  if (claimed == nullptr) co_return false;
  co_await pause(100ms);
  const Bytes result = "success";
  const SettleOutcome settled = co_await claims::complete(key, claimed->ticket, result);
  co_return std::holds_alternative<Settled>(settled);
}

using Handler = std::function<Plan<bool>(std::string id)>;

Plan<std::monostate> work(SimulatedQueue& queue, const Handler& handler) {
  while (!queue.empty()) {
    const std::optional<std::string> id = queue.receive(kVisibility);
    if (id) {
      const Result<bool> handled = co_await attempt(handler(*id));
      if (handled && *handled) queue.remove(*id);
    }
    co_await pause(50ms);
  }
  co_return std::monostate{};
}

bool run_workers(Simulation& simulation, const Handler& handler) {
  SimulatedQueue queue(simulation, kJobs);
  for (int i = 0; i < kWorkers; ++i) {
    simulation.add_client("w" + std::to_string(i), [&] { return work(queue, handler); });
  }
  return simulation.run();
}

std::string judge_document(Simulation& simulation) {
  if (!run_workers(simulation, handle_by_document)) return "never ends";
  for (int i = 0; i < kJobs; ++i) {
    const auto row = simulation.store().get(row_of("job-" + std::to_string(i)));
    if (!*row || (*row)->value != Value(Bytes("success"))) return "a job was lost";
  }
  return "";
}

std::string judge_claims(Simulation& simulation) {
  if (!run_workers(simulation, handle_by_claim)) return "never ends";
  BlockingDriver driver(simulation.store(), simulation.clock());
  for (int i = 0; i < kJobs; ++i) {
    const Key key = claims::claim_key("sim", "job-" + std::to_string(i));
    const auto state = driver.run(claims::show(key));
    if (!state || !*state || (*state)->result != "success") return "a job was lost";
  }
  return "";
}

TEST(ClaimedJobsDesign, ACrashedWorkersJobIsLostByItsOwnWay) {
  const auto found = find_bug(200, judge_document, {.fates = {0, 0, 0, 20, 20}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->complaint, "a job was lost");
}

TEST(ClaimedJobsDesign, NoJobIsLostByClaims) { expect_holds(2'000, judge_claims); }

}  // namespace
}  // namespace once::testing
