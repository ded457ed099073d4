// docs/recipes.md#1-gapless-log-index: its three ways of giving indexes, as written, and our
// strategies beside them. A forwarder gets each batch until it acknowledges it, as from a queue.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "once/blocking_driver.h"
#include "once/log.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

constexpr int kForwarders = 3;
constexpr int kBatches = 2;
constexpr int kBatchSize = 2;
constexpr Duration kBackoff{10};

const SimulationOptions kNoFaults{.fates = {0, 0, 0, 0, 0}};
const SimulationOptions kCrashes{.fates = {0, 0, 0, 30, 30}};
const SimulationOptions kLostReplies{.fates = {0, 30, 30, 0, 0}};

const Key kCounter{{"log", "counter"}, 0};
Key item_of(std::int64_t index) { return {{"log", ""}, index}; }

std::string event_of(const std::string& batch, int i) { return batch + '/' + std::to_string(i); }

// The event at each index.
using Found = std::map<std::int64_t, std::string>;

// A way to keep a log of one execution.
struct Way {
  std::function<Plan<std::monostate>(std::string batch)> store_logs;
  std::function<Plan<std::int64_t>()> max_index;  // As announced to readers.
  std::function<Plan<Found>()> read;
};

// --- The known design. ---

Plan<std::monostate> write_batch(std::string batch, std::int64_t first) {
  // BatchWriteItem is not one commit, and takes no conditions.
  for (int i = 0; i < kBatchSize; ++i) {
    Write write = put(item_of(first + i), Bytes(event_of(batch, i)), anything());
    co_await commit(write);
  }
  co_return std::monostate{};
}

Plan<std::int64_t> counted() {
  const std::optional<Item> counter = co_await get(kCounter);
  co_return counter ? std::get<std::int64_t>(counter->value) : 0;
}

Plan<std::int64_t> highest() {
  const ScanRequest last{.partition = {"log", ""}, .direction = Direction::descending, .limit = 1};
  const ScanPage page = co_await scan(last);
  co_return page.entries.empty() ? 0 : page.entries[0].sort;
}

Plan<Found> read_items() {
  const ScanRequest all{.partition = {"log", ""}};
  const ScanPage page = co_await scan(all);
  Found found;
  for (const Entry& entry : page.entries) found[entry.sort] = std::get<Bytes>(entry.item.value);
  co_return std::move(found);
}

Plan<std::monostate> store_by_counter(std::string batch) {
  Write reserve = add(kCounter, kBatchSize);
  const CommitOutcome reserved = co_await commit(reserve);
  const std::int64_t first = *std::get<Committed>(reserved).numbers[0] - kBatchSize + 1;
  co_return co_await write_batch(batch, first);
}

Plan<std::monostate> store_after_highest(std::string batch) {
  const std::int64_t last = co_await highest();
  co_return co_await write_batch(batch, last + 1);
}

Plan<std::monostate> store_by_version(std::string batch) {
  for (;;) {
    const std::optional<Item> counter = co_await get(kCounter);
    const std::int64_t last = counter ? std::get<std::int64_t>(counter->value) : 0;
    co_await write_batch(batch, last + 1);
    Write update =
        put(kCounter, last + kBatchSize, counter ? unchanged(counter->version) : absent());
    const CommitOutcome outcome = co_await commit(update);
    if (committed(outcome)) co_return std::monostate{};
  }
}

const Way kAtomicCounter{store_by_counter, counted, read_items};
const Way kConditionalWrites{store_after_highest, highest, read_items};
const Way kVersionNumbers{store_by_version, counted, read_items};

// --- Ours. ---

Plan<std::monostate> append_named(logs::Stream stream, std::string batch) {
  std::vector<LogEvent> events;
  for (int i = 0; i < kBatchSize; ++i) events.push_back({event_of(batch, i), std::nullopt});
  const AppendRequest request{.batch = batch};
  co_await logs::append(stream, events, request);
  co_return std::monostate{};
}

Plan<std::int64_t> last_readable(logs::Stream stream) {
  const LogEnds ends = co_await logs::ends(stream);
  co_return ends.next - 1;
}

Plan<Found> read_log(logs::Stream stream) {
  const LogRead all{.limit = 1'000};
  const LogPage page = co_await logs::read(stream, all);
  Found found;
  for (const LogEntry& entry : page.events) found[entry.index] = entry.data;
  co_return std::move(found);
}

Way ours(LogStrategy strategy) {
  const logs::Stream stream = logs::stream("sim", "abc123", strategy);
  return {[stream](std::string batch) { return append_named(stream, std::move(batch)); },
          [stream] { return last_readable(stream); }, [stream] { return read_log(stream); }};
}

// --- The workload, and the check. ---

Plan<std::monostate> forward(const Way& way, int forwarder, std::set<std::string>& acknowledged) {
  for (int i = 0; i < kBatches; ++i) {
    const std::string batch = std::to_string(forwarder) + '.' + std::to_string(i);
    while (!acknowledged.contains(batch)) {
      const Result<std::monostate> stored = co_await attempt(way.store_logs(batch));
      if (stored) acknowledged.insert(batch);
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

// Reads up to the announced index; every event below must exist.
Plan<std::monostate> follow(const Way& way, std::string& complaint) {
  for (int i = 0; i < 5; ++i) {
    const Result<std::int64_t> announced = co_await attempt(way.max_index());
    const Result<Found> found = co_await attempt(way.read());
    for (std::int64_t index = 1; announced && found && index <= *announced; ++index) {
      if (!found->contains(index)) complaint = "an index is announced but not there";
    }
    co_await pause(kBackoff);
  }
  co_return std::monostate{};
}

std::string judge_log(const Found& found) {
  std::multiset<std::string> events;
  std::int64_t next = 1;
  for (const auto& [index, event] : found) {
    if (index != next++) return "a gap";
    if (!event.empty()) events.insert(event);  // Not a void.
  }
  const std::size_t sent = kForwarders * kBatches * kBatchSize;
  if (std::set(events.begin(), events.end()).size() < sent) return "an event is lost";
  return events.size() > sent ? "an event twice" : "";
}

std::string judge(Simulation& simulation, const Way& way) {
  std::set<std::string> acknowledged;
  std::string complaint;
  for (int i = 0; i < kForwarders; ++i) {
    simulation.add_client("f" + std::to_string(i),
                          [&, i] { return forward(way, i, acknowledged); });
  }
  simulation.add_client("reader", [&] { return follow(way, complaint); });
  if (!simulation.run()) return "never ends";
  if (!complaint.empty()) return complaint;
  BlockingDriver driver(simulation.store(), simulation.clock());
  const logs::Stream reserved = logs::stream("sim", "abc123", LogStrategy::reserve);
  if (!driver.run(logs::heal(reserved, Duration(0)))) return "cannot be healed";
  return judge_log(driver.run(way.read()).value());
}

void expect_found(const Way& way, const std::string& complaint, const SimulationOptions& options) {
  const Scenario only_this = [&](Simulation& simulation) {
    return judge(simulation, way) == complaint ? complaint : "";
  };
  EXPECT_TRUE(find_bug(500, only_this, options).has_value()) << complaint;
}

TEST(GaplessLogIndexDesign, ACrashAfterReservingLeavesAGapByTheAtomicCounter) {
  expect_found(kAtomicCounter, "a gap", kCrashes);
}

TEST(GaplessLogIndexDesign, ARedeliveredBatchIsThereTwiceByTheAtomicCounter) {
  expect_found(kAtomicCounter, "an event twice", kCrashes);
  expect_found(kAtomicCounter, "an event twice", kLostReplies);
}

TEST(GaplessLogIndexDesign, TheAtomicCounterAnnouncesWhatIsNotWrittenYet) {
  expect_found(kAtomicCounter, "an index is announced but not there", kNoFaults);
}

TEST(GaplessLogIndexDesign, TwoWhoReadTheSameMaximumOverwriteEachOtherByConditionalWrites) {
  expect_found(kConditionalWrites, "an event is lost", kNoFaults);
}

TEST(GaplessLogIndexDesign, TheLoserOfAVersionConflictHasOverwrittenTheWinnersLogs) {
  expect_found(kVersionNumbers, "an event is lost", kNoFaults);
}

TEST(GaplessLogIndexDesign, NoStrategyOfOursGapsRepeatsLosesOrAnnouncesTooMuch) {
  for (const auto strategy :
       {LogStrategy::reserve, LogStrategy::conditional, LogStrategy::transaction}) {
    const Way way = ours(strategy);
    const Scenario scenario = [&](Simulation& simulation) { return judge(simulation, way); };
    for (const SimulationOptions& options :
         {SimulationOptions{}, kNoFaults, kCrashes, kLostReplies}) {
      expect_holds(500, scenario, options);
    }
  }
}

}  // namespace
}  // namespace once::testing
