// docs/recipes.md#1-gapless-log-index: its three solutions are our three strategies, and each
// promise holds for each of them. Under crashes and lost replies: testing/seed_flaws,
// testing/primitives.
#include <gtest/gtest.h>

#include <map>

#include "once/claims.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "once/log.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/code_of.h"
#include "testing/process.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;
using Messages = std::vector<std::string>;

// "event<first>" to "event<last>".
Messages numbered(int first, int last) {
  Messages messages;
  for (int i = first; i <= last; ++i) messages.push_back("event" + std::to_string(i));
  return messages;
}

std::vector<LogEvent> events(const Messages& messages) {
  std::vector<LogEvent> all;
  for (const std::string& message : messages) all.push_back({message, std::nullopt});
  return all;
}

class GaplessLogIndex : public ::testing::TestWithParam<LogStrategy> {
 protected:
  bool reserves() const { return GetParam() == LogStrategy::reserve; }

  Plan<AppendOutcome> storing(const Messages& messages, const std::string& batch = "") {
    return logs::append(stream_, events(messages), {.batch = batch});
  }

  Appended store_logs(const Messages& messages, const AppendRequest& request = {}) {
    return std::get<Appended>(log_.append("abc123", events(messages), request).value());
  }

  std::vector<Appended> store_in_step(const Messages& a, const Messages& b) {
    std::vector<Plan<AppendOutcome>> plans;
    plans.push_back(storing(a));
    plans.push_back(storing(b));
    std::vector<Appended> places;
    for (auto& outcome : run_in_step(*metered_, clock_, entropy_, std::move(plans))) {
      places.push_back(std::get<Appended>(outcome.value()));
    }
    return places;
  }

  // The events from the first index on, which must have no gap. A void is "".
  Messages replay() {
    const LogPage page = log_.read("abc123", {.limit = 10'000}).value();
    Messages messages;
    for (const LogEntry& entry : page.events) {
      messages.push_back(entry.data);
      EXPECT_EQ(entry.index, static_cast<std::int64_t>(messages.size()));
      EXPECT_EQ(entry.is_void, entry.data.empty());
    }
    EXPECT_EQ(page.next, static_cast<std::int64_t>(messages.size()) + 1);
    return messages;
  }

  // The same once the missing appender is given up.
  Messages healed_replay() {
    if (!reserves()) return replay();
    EXPECT_TRUE(log_.heal("abc123").has_value());
    Messages messages = replay();
    std::erase(messages, "");
    return messages;
  }

  ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  LocalLog log_{*metered_, "default", GetParam(), clock_, entropy_};
  logs::Stream stream_ = logs::stream("default", "abc123", GetParam());
};

INSTANTIATE_TEST_SUITE_P(Solutions, GaplessLogIndex,
                         ::testing::Values(LogStrategy::reserve, LogStrategy::conditional,
                                           LogStrategy::transaction),
                         [](const auto& info) -> std::string {
                           if (info.param == LogStrategy::reserve) return "1_AtomicCounter";
                           if (info.param == LogStrategy::conditional) return "2_ConditionalWrites";
                           return "3_VersionNumbers";
                         });

using Indexed = std::map<std::int64_t, std::string>;

// Stores 20 batches of 1 to 3 events, and records the indexes it was given.
Plan<std::monostate> forward(logs::Stream stream, int forwarder, Indexed& told) {
  for (int b = 0; b < 20; ++b) {
    const int number = forwarder * 1'000 + 10 * b;
    const Messages batch = numbered(number, number + b % 3);
    const std::vector<LogEvent> sent = events(batch);
    const AppendRequest request;
    const AppendOutcome outcome = co_await logs::append(stream, sent, request);
    std::int64_t index = std::get<Appended>(outcome).first;
    for (const std::string& message : batch) told[index++] += message;
  }
  co_return std::monostate{};
}

// "The Race Condition Problem", its three demands; "Summary".
TEST_P(GaplessLogIndex, NoDuplicateIndexesNoGapsNoLostLogs) {
  Indexed told;
  std::vector<Plan<std::monostate>> forwarders;
  for (int f = 0; f < 5; ++f) forwarders.push_back(forward(stream_, f, told));
  for (const auto& ended : run_in_step(*metered_, clock_, entropy_, std::move(forwarders))) {
    EXPECT_TRUE(ended.has_value());
  }
  Messages expected;
  for (const auto& [index, message] : told) expected.push_back(message);
  EXPECT_EQ(expected.size(), 5U * (20 + 19));
  EXPECT_EQ(replay(), expected);
}

// "Example Scenario", and "How It Works" of each solution: both read 100, and no index is used
// twice.
TEST_P(GaplessLogIndex, ExampleScenarioBothForwardersReadOneHundred) {
  store_logs(numbered(-99, 0));
  const std::vector<Appended> places = store_in_step(numbered(1, 3), numbered(4, 5));
  EXPECT_EQ(std::pair(places[0].first, places[0].last), std::pair(101L, 103L));
  EXPECT_EQ(std::pair(places[1].first, places[1].last), std::pair(104L, 105L));
  EXPECT_EQ(replay(), numbered(-99, 5));
}

// "Benefits" and "Drawbacks": the counter needs no retry, the others one, which succeeds.
TEST_P(GaplessLogIndex, OnlyTheLoserOfARaceRetriesAndOnce) {
  store_logs(numbered(1, 1));
  store_in_step(numbered(2, 4), numbered(5, 6));
  const StoreMetrics metrics = metered_->snapshot();
  EXPECT_EQ(metrics.commit.lost + metrics.commit_each.lost, reserves() ? 0U : 1U);
}

// "Initialize counter if it doesn't exist ... another forwarder created it".
TEST_P(GaplessLogIndex, TwoForwardersThatStartALogTogetherStartItAtOne) {
  const std::vector<Appended> places = store_in_step(numbered(1, 3), numbered(4, 5));
  EXPECT_EQ(places[0].first, 1);
  EXPECT_EQ(places[1].first, 4);
  EXPECT_EQ(replay(), numbered(1, 5));
}

// StoreLogs: "if len(events) == 0".
TEST_P(GaplessLogIndex, NoEventsTakeNoIndex) {
  EXPECT_EQ(code_of(log_.append("abc123", {})), ErrorCode::invalid);
  EXPECT_EQ(log_.ends("abc123").value().next, 1);
  EXPECT_EQ(memory_->usage().items, 0U);
}

// StoreLogs: the item's timestamp and message.
TEST_P(GaplessLogIndex, TimestampAndMessageAreStored) {
  const Time happened = clock_.now() - 1h;
  ASSERT_TRUE(log_.append("abc123", {{"message", happened}}).has_value());
  const std::vector<LogEntry> expected = {{1, happened, "message"}};
  EXPECT_EQ(log_.read("abc123").value().events, expected);
}

// StoreLogs: "handle pagination if > 25 items". If the store refuses, no part is dropped.
TEST_P(GaplessLogIndex, SixtyEventsAreStoredAdjacentOrNotAtAll) {
  for (int refused = 0; refused < 5; ++refused) {
    const Messages batch = numbered(100 * refused, 100 * refused + 59);
    const AppendRequest request{.batch = std::to_string(refused)};
    const auto throttled = inject_faults(*metered_, {}, clock_);
    std::vector<Fault> faults(refused, Fault::none);
    faults.push_back(Fault::fail_before);
    throttled->script(faults);
    LocalLog forwarder(*throttled, "default", GetParam(), clock_, entropy_);
    while (!forwarder.append("abc123", events(batch), request)) continue;
    Messages stored = healed_replay();
    ASSERT_EQ(stored.size(), (refused + 1) * batch.size());
    stored.erase(stored.begin(), stored.end() - 60);
    EXPECT_EQ(stored, batch);
  }
}

// Where the design breaks: a forwarder dies between reserving a range and writing it.
TEST_P(GaplessLogIndex, AForwarderThatDiesAnywhereLeavesNoGapAndNothingIsAnnouncedUnwritten) {
  for (int rounds = 0; rounds < 5; ++rounds) {
    {
      Process forwarder(*metered_, clock_, entropy_);
      forwarder.start(storing({"dying" + std::to_string(rounds)}), [](const auto&) {});
      for (int i = 0; i < rounds; ++i) forwarder.round();
    }
    store_logs({"living" + std::to_string(rounds)});
    const LogEnds ends = log_.ends("abc123").value();
    EXPECT_EQ(ends.next, static_cast<std::int64_t>(replay().size()) + 1);
    EXPECT_EQ(healed_replay().back(), "living" + std::to_string(rounds));
  }
}

// Where the design breaks: a redelivered batch gets new indexes.
TEST_P(GaplessLogIndex, ARedeliveredBatchKeepsItsIndexes) {
  const Appended first = store_logs(numbered(1, 3), {.batch = "delivery-1"});
  store_logs(numbered(4, 5), {.batch = "delivery-2"});
  EXPECT_EQ(store_logs(numbered(1, 3), {.batch = "delivery-1"}).first, first.first);
  EXPECT_EQ(replay(), numbered(1, 5));
}

// Where the design breaks: every batch re-reads the whole log.
TEST_P(GaplessLogIndex, AnAppendReadsNoMoreOfALongLogThanOfAShortOne) {
  const auto cost = [this] {
    const StoreMetrics before = metered_->snapshot();
    store_logs({"x"});
    const StoreMetrics now = metered_->snapshot();
    return std::pair(now.scan.parts + now.get.parts - before.scan.parts - before.get.parts,
                     now.commit.calls - before.commit.calls);
  };
  store_logs({"x"});
  const auto of_short = cost();
  for (int i = 0; i < 300; ++i) store_logs(numbered(1, 10));
  EXPECT_EQ(cost(), of_short);
}

// What its users ask for: live output identical to replay, late join and reconnect.
TEST_P(GaplessLogIndex, LiveOutputIsIdenticalToReplayForThoseWhoJoinLateOrReconnect) {
  std::vector<LogEntry> live;
  std::int64_t position = 1;
  for (int i = 0; i < 20; ++i) {
    store_logs(numbered(10 * i, 10 * i + i % 4));
    clock_.advance(1s);
    if (i % 7 == 3) continue;  // Away.
    LogPage page = log_.read("abc123", {.from = position, .limit = 3}).value();
    position = page.next;
    std::ranges::move(page.events, std::back_inserter(live));
  }
  const LogPage rest = log_.read("abc123", {.from = position}).value();
  live.insert(live.end(), rest.events.begin(), rest.events.end());
  EXPECT_EQ(live, log_.read("abc123").value().events);
}

// What its users ask for: named locks with TTL, renewal and a list of holders.
TEST(NamedLocks, HaveALeaseRenewalAndAListOfHolders) {
  ManualClock clock;
  const auto store = open_memory({}, clock);
  LocalClaims locks(*store, "locks", clock);
  const ClaimRequest request{.owner = "A", .lease = 10s, .ttl = 0s};
  const Claimed held = std::get<Claimed>(locks.take("abc123", request).value());
  clock.advance(9s);
  ASSERT_TRUE(std::holds_alternative<Renewed>(locks.renew("abc123", held.ticket, 10s).value()));
  clock.advance(9s);
  EXPECT_EQ(std::get<Busy>(locks.take("abc123", {}).value()).owner, "A");
  const claims::ClaimPage holders = locks.list({.kind = ClaimState::Kind::busy}).value();
  ASSERT_EQ(holders.claims.size(), 1U);
  EXPECT_EQ(holders.claims[0].name, "abc123");
  EXPECT_EQ(holders.claims[0].state.owner, "A");
  clock.advance(1s);
  EXPECT_TRUE(std::holds_alternative<Claimed>(locks.take("abc123", {}).value()));
}

}  // namespace
}  // namespace once::testing
