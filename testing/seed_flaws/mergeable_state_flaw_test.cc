// docs/recipes.md#5-mergeable-state: mark the event as seen, then add it. A worker that dies in
// between loses the event for good, an add whose reply is lost counts twice, and pipelines that
// share a table of seen ids take each other's events for duplicates.
#include <gtest/gtest.h>

#include "once/blocking_driver.h"
#include "once/tallies.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

constexpr int kWorkers = 3;
constexpr int kEvents = 5;
constexpr std::int64_t kTotal = (1 << kEvents) - 1;
constexpr Duration kBackoff{20};

const SimulationOptions kNoFaults{.fates = {0, 0, 0, 0, 0}};
const SimulationOptions kCrashes{.fates = {0, 0, 0, 30, 30}};
const SimulationOptions kLostReplies{.fates = {0, 30, 30, 0, 0}};

Key sum_of(const std::string& pipeline) { return {{"state/" + pipeline, ""}, 0}; }
Key tally_of(const std::string& pipeline) { return tallies::tally_key("sim", pipeline); }

// Counts one event in one pipeline.
using Count = std::function<Plan<std::monostate>(std::string pipeline, int event)>;

// --- The known design. ---

// Whether the event is new. The table does not know pipelines.
Plan<bool> mark_seen(int event) {
  Write mark = put({{"dedup", std::to_string(event)}, 0}, std::int64_t{1}, absent());
  const CommitOutcome outcome = co_await commit(mark);
  co_return committed(outcome);
}

Plan<std::monostate> merge_update(std::string pipeline, int event) {
  for (;;) {
    Write update = add(sum_of(pipeline), std::int64_t{1} << event);
    const Result<CommitOutcome> outcome = co_await attempt(commit(update));
    if (outcome) co_return std::monostate{};
    co_await pause(kBackoff);  // The client library sends it again after every error.
  }
}

Plan<std::monostate> count_by_document(std::string pipeline, int event) {
  const bool first_seen = co_await mark_seen(event);
  if (first_seen) co_await merge_update(pipeline, event);
  co_return std::monostate{};
}

std::int64_t total_by_document(Simulation& simulation, const std::string& pipeline) {
  const auto item = simulation.store().get(sum_of(pipeline));
  return *item ? std::get<std::int64_t>((*item)->value) : 0;
}

// --- Ours: the id belongs to the tally, and is stored by the commit that merges. ---

Plan<std::monostate> count_by_merge(std::string pipeline, int event) {
  const TallyRequest request{.input = std::int64_t{1} << event, .id = std::to_string(event)};
  const Key key = tally_of(pipeline);
  co_await tallies::merge(key, request);
  co_return std::monostate{};
}

std::int64_t total_by_merge(Simulation& simulation, const std::string& pipeline) {
  BlockingDriver driver(simulation.store(), simulation.clock());
  const auto reading = driver.run(tallies::read(tally_of(pipeline), {}, nullptr)).value();
  return reading ? std::get<std::int64_t>(reading->value) : 0;
}

// --- The workload, and the check. ---

// Every event is delivered to every worker until it is counted.
Plan<std::monostate> consume(const Count& count, std::string pipeline) {
  for (int event = 0; event < kEvents; ++event) {
    for (;;) {
      const Result<std::monostate> counted = co_await attempt(count(pipeline, event));
      if (counted) break;
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

struct Way {
  Count count;
  std::function<std::int64_t(Simulation&, const std::string& pipeline)> total;
};
const Way kDocument{count_by_document, total_by_document};
const Way kOurs{count_by_merge, total_by_merge};

// Events are powers of two, so that their sum shows which ones are missing.
std::string judge(Simulation& simulation, const Way& way,
                  const std::vector<std::string>& pipelines) {
  for (int i = 0; i < kWorkers; ++i) {
    const std::string& pipeline = pipelines[i % pipelines.size()];
    simulation.add_client(pipeline + std::to_string(i),
                          [&] { return consume(way.count, pipeline); });
  }
  if (!simulation.run()) return "never ends";
  for (const std::string& pipeline : pipelines) {
    const std::int64_t total = way.total(simulation, pipeline);
    if (total < kTotal) return "an event was lost";
    if (total > kTotal) return "an event was counted twice";
  }
  return "";
}

Scenario one_pipeline(const Way& way) {
  return [&way](Simulation& simulation) { return judge(simulation, way, {"likes"}); };
}
Scenario two_pipelines(const Way& way) {
  return [&way](Simulation& simulation) { return judge(simulation, way, {"likes", "views"}); };
}

std::string complaint_of(const Scenario& scenario, const SimulationOptions& options) {
  const auto found = find_bug(500, scenario, options);
  return found ? found->complaint : "";
}

TEST(MergeableStateDesign, AnEventWhoseWorkerDiesAfterMarkingItIsLost) {
  EXPECT_EQ(complaint_of(one_pipeline(kDocument), kCrashes), "an event was lost");
}

TEST(MergeableStateDesign, AnAddWhoseReplyIsLostIsCountedTwice) {
  const Scenario twice = [](Simulation& simulation) {
    return judge(simulation, kDocument, {"likes"}) == "an event was counted twice" ? "twice" : "";
  };
  EXPECT_EQ(complaint_of(twice, kLostReplies), "twice");
}

TEST(MergeableStateDesign, PipelinesTakeEachOthersEventsForDuplicates) {
  EXPECT_EQ(complaint_of(two_pipelines(kDocument), kNoFaults), "an event was lost");
}

TEST(MergeableStateDesign, MergesWithIdsCountEveryEventOnce) {
  for (const Scenario& scenario : {one_pipeline(kOurs), two_pipelines(kOurs)}) {
    for (const SimulationOptions& options :
         {SimulationOptions{}, kNoFaults, kCrashes, kLostReplies}) {
      expect_holds(1'000, scenario, options);
    }
  }
}

}  // namespace
}  // namespace once::testing
