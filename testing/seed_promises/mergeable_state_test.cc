// docs/recipes.md#5-mergeable-state: what each function of its package promises, by the names it
// gives. Its Create...Table helpers have nothing to do here: a new store needs no preparation.
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "once/claims.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "once/retrying_store.h"
#include "once/tallies.h"
#include "stores/decorators/decorator.h"
#include "testing/code_of.h"
#include "testing/limited_store.h"
#include "testing/process.h"
#include "testing/still_clock.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;
using enum TallyKind;

constexpr int kWorkers = 8;
constexpr int kEach = 50;

TallyRequest merging(TallyKind kind, TallyInput input, std::string id = "") {
  return {.shape = {.kind = kind}, .input = std::move(input), .id = std::move(id)};
}
TallyRequest number(TallyKind kind, std::int64_t value, std::string id = "") {
  return merging(kind, value, std::move(id));
}
TallyRequest items(TallyKind kind, std::vector<std::string> names) {
  std::vector<CountedItem> counted;
  for (std::string& name : names) counted.push_back({std::move(name)});
  return merging(kind, std::move(counted));
}

// Runs `work` on kWorkers threads.
void on_workers(const std::function<void(int worker)>& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < kWorkers; ++i) threads.emplace_back([&work, i] { work(i); });
}

class MergeableState : public ::testing::Test {
 protected:
  void merge(std::string_view key, const TallyRequest& request) {
    const Result<TallyOutcome> outcome = state_.merge(key, request);
    EXPECT_TRUE(outcome && std::holds_alternative<Tallied>(*outcome)) << key;
  }

  template <class T = std::int64_t>
  T get(std::string_view key, const TallyRange& range = {}) {
    return std::get<T>(state_.read(key, range).value().value().value);
  }

  std::uint64_t lost() { return metered_->snapshot().commit.lost; }

  ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);
  LocalTallies state_{*faulty_, "pipeline", clock_, entropy_};
};

// "Overview" and Int64SumStore.MergeUpdate: atomic add, "no read, no contention".
TEST_F(MergeableState, Int64SumStore_ConcurrentAddsAreAllCountedAndNoneIsRetried) {
  merge("k", number(sum, 0));
  on_workers([this](int) {
    for (int i = 0; i < kEach; ++i) merge("k", number(sum, 1));
  });
  EXPECT_EQ(get("k"), kWorkers * kEach);
  EXPECT_EQ(lost(), 0U);
}

// Int64SumStore.Get: "missing keys return 0, false": never to be mistaken for a sum of 0.
TEST_F(MergeableState, Int64SumStore_GetTellsAMissingKeyFromZero) {
  EXPECT_FALSE(state_.read("missing").value().has_value());
  merge("zero", number(sum, 0));
  EXPECT_EQ(get("zero"), 0);
}

// Int64SumStore.GetMany: "one entry per requested key in order", however many calls that takes.
TEST_F(MergeableState, Int64SumStore_GetManyKeepsTheOrderAndShowsWhatIsMissing) {
  Limits limits = memory_->limits();
  limits.keys_per_get = 100;
  LimitedStore limited(*metered_, limits);
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) {
    keys.push_back("k" + std::to_string(i * 7 % 300));
    if (i % 3 != 0) merge(keys.back(), number(sum, i));
  }
  const auto readings = LocalTallies(limited, "pipeline", clock_, entropy_).read_all(keys).value();
  ASSERT_EQ(readings.size(), keys.size());
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(readings[i].has_value(), i % 3 != 0) << i;
    if (i % 3 == 0) continue;
    EXPECT_EQ(std::get<std::int64_t>(readings[i]->value), i);
  }
}

// BytesStore.GetMany: "a throttled batch doesn't silently truncate results".
TEST_F(MergeableState, BytesStore_GetManyOfAThrottledStoreIsWholeOrAnError) {
  const std::vector<std::string> keys = {"a", "b"};
  for (const std::string& key : keys) merge(key, items(distinct, {key}));
  faulty_->script(std::vector(3, Fault::fail_before));
  EXPECT_EQ(code_of(state_.read_all(keys)), ErrorCode::unavailable);
  const auto retrying = retry(*faulty_, {}, clock_, entropy_);
  LocalTallies patient(*retrying, "pipeline", clock_, entropy_);
  const auto readings = patient.read_all(keys).value();
  for (const auto& reading : readings) EXPECT_EQ(std::get<std::int64_t>(reading->value), 1);
  EXPECT_EQ(readings.size(), 2U);
}

// Int64SumStore.MergeUpdate, `ttl`: "to retire old buckets"; schema: the sort key is the bucket,
// "0 for non-windowed".
TEST_F(MergeableState, Int64SumStore_WindowedBucketsAreRetiredByTheirTtl) {
  EXPECT_EQ(tallies::tally_key("pipeline", "k").sort, 0);
  const Time start = clock_.now();
  TallyRequest request = number(sum, 1);
  request.shape.window = TallyWindow::minute;
  request.ttl = 10min;
  for (int i = 0; i < 5; ++i) {
    merge("k", request);
    clock_.advance(1min);
  }
  EXPECT_EQ(get("k", {start + 1min, start + 3min}), 2);
  EXPECT_EQ(get("k"), 5);
  clock_.advance(7min);
  EXPECT_EQ(get("k"), 3);
  ASSERT_TRUE(memory_->sweep(1'000));
  EXPECT_EQ(memory_->usage().items, 4U);  // Three buckets, and what the tally is.
}

// Int64MaxStore.MergeUpdate: "only if v > current", and lower values are a success.
TEST_F(MergeableState, Int64MaxStore_LowerValuesAreDroppedAndSucceed) {
  for (const std::int64_t value : {7, 42, 41, 42, -5}) merge("k", number(max, value));
  EXPECT_EQ(get("k"), 42);
}

// "Out-of-order safety": "in any order; the higher value wins". "Cost": one write each.
TEST_F(MergeableState, Int64MaxStore_TheHigherValueWinsInAnyOrder) {
  merge("k", number(max, -1));
  on_workers([this](int worker) {
    for (int i = kEach; i > 0; --i) merge("k", number(max, worker * kEach + i));
  });
  EXPECT_EQ(get("k"), kWorkers * kEach);
  EXPECT_EQ(lost(), 0U);
}

// Where the design breaks: a missing bucket reads as zero, which is wrong for a maximum.
TEST_F(MergeableState, Int64MaxStore_AMissingBucketIsNoZero) {
  const Time start = clock_.now();
  TallyRequest request = number(max, -7);
  request.shape.window = TallyWindow::minute;
  merge("k", request);
  EXPECT_EQ(get("k", {start, start + 1h}), -7);
  get<std::monostate>("k", {start + 1min, start + 1h});
}

// BytesStore.MergeUpdate: compare-and-swap of a sketch; concurrent writers lose nothing.
TEST_F(MergeableState, BytesStore_ConcurrentMergesOfAHotKeyAllMakeProgress) {
  StillClock still;
  LocalTallies state(*metered_, "pipeline", still);
  on_workers([&](int worker) {
    for (int i = 0; i < kEach; ++i) {
      const std::string name = std::to_string(worker) + "." + std::to_string(i);
      EXPECT_TRUE(state.merge("hll", items(distinct, {name})));
      EXPECT_TRUE(state.merge("bloom", items(bloom, {name})));
      EXPECT_TRUE(state.merge("topk", items(top, {"hot", name})));
    }
  });
  EXPECT_NEAR(static_cast<double>(get("hll")), kWorkers * kEach, 0.02 * kWorkers * kEach);
  EXPECT_TRUE(get<BloomAnswer>("bloom").may_contain("7.49"));
  const HeavyItem hottest = get<std::vector<HeavyItem>>("topk")[0];
  EXPECT_EQ(hottest.item, "hot");
  EXPECT_GE(hottest.count, std::uint64_t{kWorkers * kEach});
  EXPECT_LE(hottest.count - hottest.error, std::uint64_t{kWorkers * kEach});
}

// ErrMaxRetriesExceeded: what never wins ends with a typed error, and has merged nothing.
TEST_F(MergeableState, BytesStore_AMergeThatNeverWinsEndsAsUnavailable) {
  class Rival final : public Decorator<Store> {  // Always faster.
   public:
    using Decorator::Decorator;
    std::function<void()> act;

   protected:
    Result<CommitOutcome> do_commit(Transaction transaction) override {
      act();
      return inner_.commit(transaction);
    }
  } rival(*memory_);
  rival.act = [this] { merge("hll", items(distinct, {"theirs"})); };
  merge("hll", items(distinct, {"theirs"}));
  const Time start = clock_.now();
  LocalTallies unlucky(rival, "pipeline", clock_, entropy_);
  const auto outcome = unlucky.merge("hll", items(distinct, {"ours"}));
  EXPECT_EQ(code_of(outcome), ErrorCode::unavailable);
  EXPECT_LE(clock_.now() - start, kAttemptLife);
  EXPECT_EQ(get("hll"), 1);
}

// "For very hot keys, configure a cache": here, what waits on one key is merged into one write.
TEST_F(MergeableState, BytesStore_MergesThatWaitOnAHotKeyAreOneWrite) {
  merge("hll", items(distinct, {"first"}));
  Process process(*metered_, clock_, entropy_);
  const std::uint64_t before = metered_->snapshot().commit_each.committed;
  for (int i = 0; i < 100; ++i) {
    TallyRequest request = items(distinct, {std::to_string(i)});
    const Key key = tallies::tally_key("pipeline", "hll");
    process.start(tallies::merge(key, std::move(request)),
                  [](const auto& outcome) { EXPECT_TRUE(outcome.has_value()); });
  }
  process.finish();
  EXPECT_EQ(metered_->snapshot().commit_each.committed - before, 1U);
  EXPECT_NEAR(static_cast<double>(get("hll")), 101, 2);
}

// Where the design breaks: a sketch that does not decode is dropped silently.
TEST_F(MergeableState, BytesStore_ASketchThatDoesNotDecodeIsAnErrorAndStays) {
  merge("hll", items(distinct, {"a"}));
  Write damage = put(tallies::tally_key("pipeline", "hll"), Bytes("noise"), anything());
  damage.version = entropy_.version();
  ASSERT_TRUE(memory_->commit({&damage, 1}));
  EXPECT_EQ(code_of(state_.merge("hll", items(distinct, {"b"}))), ErrorCode::corrupt);
  EXPECT_EQ(code_of(state_.read("hll")), ErrorCode::corrupt);
  EXPECT_EQ((*memory_->get(damage.key))->value, damage.value);
}

// Deduper.MarkSeen: "exactly one's PutItem succeeds".
TEST_F(MergeableState, Deduper_OfConcurrentClaimsExactlyOneIsFirstSeen) {
  LocalClaims deduper(*metered_, "pipeline", clock_, entropy_);
  const std::vector<std::string> event = {"event-1"};
  std::atomic<int> first = 0;
  on_workers([&](int) { first += deduper.seen(event, 24h).value().front() ? 1 : 0; });
  EXPECT_EQ(first, 1);
}

// NewDeduper: `ttl` is how long a claim is retained. Where it breaks: ids have no namespace.
TEST_F(MergeableState, Deduper_AnIdIsKeptForItsTtlAndInItsNamespace) {
  LocalClaims deduper(*metered_, "pipeline", clock_, entropy_);
  LocalClaims other(*metered_, "other-pipeline", clock_, entropy_);
  const std::vector<std::string> event = {"event-1"};
  EXPECT_TRUE(deduper.seen(event, 24h).value().front());
  EXPECT_TRUE(other.seen(event, 24h).value().front());
  clock_.advance(24h - 1ms);
  EXPECT_FALSE(deduper.seen(event, 24h).value().front());
  clock_.advance(1ms);
  EXPECT_TRUE(deduper.seen(event, 24h).value().front());
}

// Deduper: "a record re-delivered after a crash is short-circuited", but never before it counted.
TEST_F(MergeableState, Deduper_AnEventIsCountedOnceWhereverItsWorkerDied) {
  for (int rounds = 0; rounds < 6; ++rounds) {
    const std::string id = "event-" + std::to_string(rounds);
    {
      Process worker(*metered_, clock_, entropy_);
      const Key key = tallies::tally_key("pipeline", "k");
      worker.start(tallies::merge(key, number(sum, 1, id)), [](const auto&) {});
      for (int i = 0; i < rounds; ++i) worker.round();
    }
    merge("k", number(sum, 1, id));
    EXPECT_EQ(get("k"), rounds + 1);
  }
}

// Where the design breaks: an ambiguous timeout on add counts twice.
TEST_F(MergeableState, Int64SumStore_AnAddWhoseReplyIsLostIsCountedOnce) {
  merge("k", number(sum, 0));
  for (const Fault fault : {Fault::fail_after, Fault::lose_reply, Fault::land_late}) {
    faulty_->script(std::vector{fault});
    merge("k", number(sum, 1, std::to_string(static_cast<int>(fault))));
    faulty_->deliver_late();
  }
  EXPECT_EQ(get("k"), 3);
}

}  // namespace
}  // namespace once::testing
