// Ids of merges, and lost replies of merges without an id.
#include <thread>

#include "once/batching_driver.h"
#include "once/blocking_driver.h"
#include "primitives/tallies_fixture.h"
#include "primitives/tally_kinds.h"

namespace once {
namespace {

using enum TallyKind;
using TallyIdsTest = TalliesFixture;

TEST_P(TallyIdsTest, AnIdTakesEffectOnceForEveryKind) {
  const std::vector<TallyRequest> requests = {of(sum, std::int64_t{4}, "x"),
                                              of(count, std::int64_t{4}, "x"),
                                              of(real, 4.0, "x"),
                                              of(top, std::vector<CountedItem>{{"a", 4}}, "x"),
                                              of(max, std::int64_t{4}, "x"),
                                              of(distinct, items({"a", "b", "c", "d"}), "x")};
  for (const TallyRequest& request : requests) {
    const std::string name = std::to_string(static_cast<int>(request.shape.kind));
    EXPECT_FALSE(merged(name, request).replayed);
    const Tallied again = merged(name, request);
    EXPECT_TRUE(again.replayed);
    const TallyValue& value = *again.value;
    if (request.shape.kind == real) {
      EXPECT_EQ(std::get<double>(value), 4.0);
    } else if (request.shape.kind == top) {
      EXPECT_EQ(std::get<std::vector<HeavyItem>>(value)[0].count, 4U);
    } else {
      EXPECT_EQ(std::get<std::int64_t>(value), 4);
    }
  }
}

TEST_P(TallyIdsTest, MergesWithAndWithoutIdsShareOneTally) {
  merged("s", of(sum, std::int64_t{1}));
  merged("s", of(sum, std::int64_t{2}, "x"));
  merged("s", of(sum, std::int64_t{4}));
  merged("s", of(sum, std::int64_t{2}, "x"));
  merged("s", of(sum, std::int64_t{8}, "y"));
  EXPECT_EQ(value("s"), 15);
  merged("m", of(min, std::int64_t{5}, "x"));
  merged("m", of(min, std::int64_t{3}));
  merged("m", of(min, kLeast, "y"));
  EXPECT_EQ(value("m"), kLeast);
}

TEST_P(TallyIdsTest, ASmallerMaxStillTakesItsId) {
  merged("m", of(max, std::int64_t{5}, "x"));
  EXPECT_FALSE(merged("m", of(max, std::int64_t{3}, "y")).replayed);
  EXPECT_TRUE(merged("m", of(max, std::int64_t{3}, "y")).replayed);
  EXPECT_EQ(value("m"), 5);
}

TEST_P(TallyIdsTest, H19_TheSameIdWithAnotherInputIsAMismatch) {
  merged("s", of(sum, std::int64_t{1}, "x"));
  as<TallyMismatch>(tallies_.merge("s", of(sum, std::int64_t{2}, "x")));
  EXPECT_EQ(value("s"), 1);
}

TEST_P(TallyIdsTest, AnIdOfOneTallyIsNoIdOfAnother) {
  merged("a", of(sum, std::int64_t{1}, "x"));
  EXPECT_FALSE(merged("b", of(sum, std::int64_t{1}, "x")).replayed);
}

TEST_P(TallyIdsTest, AnIdIsForgottenAfterItsTtlAndNotBefore) {
  TallyRequest request = of(sum, std::int64_t{1}, "x");
  request.ttl = std::chrono::minutes(2);  // The value expires before its ids.
  request.id_ttl = std::chrono::minutes(10);
  merged("s", request);
  clock_.advance(std::chrono::minutes(10) - Duration(1));
  EXPECT_FALSE(tallies_.read("s")->has_value());
  EXPECT_TRUE(merged("s", request).replayed);
  EXPECT_FALSE(tallies_.read("s")->has_value());
  clock_.advance(Duration(1));
  EXPECT_FALSE(merged("s", request).replayed);
  EXPECT_EQ(value("s"), 1);
}

TEST_P(TallyIdsTest, H19_IdsInsideAnItemAreBoundedAndNeverForgottenEarly) {
  for (std::size_t i = 0; i < tallies::kMaxInnerIds; ++i) {
    merged("s", of(sum, std::int64_t{1}, "id-" + std::to_string(i)));
  }
  const Result<TallyOutcome> next = tallies_.merge("s", of(sum, std::int64_t{1}, "next"));
  const auto all = static_cast<std::int64_t>(tallies::kMaxInnerIds);
  if (single()) {
    as<TooManyIds>(next);
    EXPECT_EQ(value("s"), all);
    EXPECT_TRUE(merged("s", of(sum, std::int64_t{1}, "id-0")).replayed);
    clock_.advance(std::chrono::hours(24));
    EXPECT_FALSE(merged("s", of(sum, std::int64_t{1}, "next")).replayed);
  } else {
    EXPECT_FALSE(as<Tallied>(next).replayed);
  }
  EXPECT_EQ(value("s"), all + 1);
}

TEST_P(TallyIdsTest, H7_ALostReplyIsFoundOutByTheId) {
  const std::vector<TallyRequest> requests = {of(sum, std::int64_t{4}, "x"), of(real, 4.0, "x"),
                                              of(distinct, items({"a"}), "x")};
  for (const TallyRequest& request : requests) {
    for (const Fault fault : {Fault::fail_after, Fault::land_late}) {
      for (std::size_t at = 0; at < 4; ++at) {
        const std::string name = std::to_string(static_cast<int>(request.shape.kind)) + "-" +
                                 std::to_string(static_cast<int>(fault)) + "-" + std::to_string(at);
        std::vector<Fault> faults(at, Fault::none);
        faults.push_back(fault);
        store_->script(faults);
        const Result<TallyOutcome> outcome = tallies_.merge(name, request);
        if (outcome) {
          EXPECT_FALSE(as<Tallied>(outcome).replayed) << name;
        }
        store_->deliver_late();
        while (!tallies_.merge(name, request)) store_->deliver_late();
        const auto reading = *tallies_.read(name);
        if (request.shape.kind == real) {
          EXPECT_EQ(std::get<double>(reading->value), 4.0) << name;
        } else {
          const std::int64_t once = request.shape.kind == sum ? 4 : 1;
          EXPECT_EQ(std::get<std::int64_t>(reading->value), once) << name;
        }
      }
    }
  }
}

// Found by the histories of testing/linearizability: the marker was found, and what was to be read
// then could not be.
TEST_P(TallyIdsTest, H7_WhatWasMergedIsNotCalledUnavailableBecauseItCannotBeRead) {
  tallies::KnownTallies known;
  BlockingDriver driver(*store_, clock_, entropy_);
  const Key key = tallies::tally_key("test", "s");
  int number = 0;
  const auto merge = [&] {
    const std::string id = std::to_string(++number);
    return driver.run(tallies::merge(key, of(sum, std::int64_t{4}, id), &known));
  };
  as<Tallied>(merge());
  for (std::size_t lost = 0; lost < 4; ++lost) {
    for (std::size_t later = 0; later < 4; ++later) {
      const std::int64_t before = value("s");
      std::vector<Fault> faults(lost, Fault::none);
      faults.push_back(Fault::fail_after);
      faults.insert(faults.end(), later, Fault::none);
      faults.push_back(Fault::fail_before);
      store_->script(faults);
      const Result<TallyOutcome> outcome = merge();
      store_->script({});
      if (!outcome && outcome.error().code == ErrorCode::unavailable) {
        EXPECT_EQ(value("s"), before) << lost << ", " << later;
      }
    }
  }
}

TEST_P(TallyIdsTest, CombinedMergesOfOneHotTallyAreExact) {
  constexpr int kThreads = 8;
  constexpr int kEach = 25;
  BatchingDriver driver(*store_, {}, system_clock(), entropy_);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Key key = tallies::tally_key("test", "hot");
      for (int i = 0; i < 2 * kEach; ++i) {  // Each twice.
        const std::string id = std::to_string(thread) + "-" + std::to_string(i % kEach);
        TallyRequest request = of(top, std::vector<CountedItem>{{"a", 1}}, id);
        EXPECT_TRUE(driver.run(tallies::merge(key, std::move(request))).has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value<std::vector<HeavyItem>>("hot")[0].count, std::uint64_t{kThreads * kEach});
}

INSTANTIATE_TEST_SUITE_P(Limits, TallyIdsTest, ::testing::Values(100, 1), name_of_limit);

// --- Lost replies of merges without an id. ---

class TallyRepeatsTest : public TalliesFixture {
 protected:
  static std::string name_of(const TallyRequest& request, Fault fault) {
    return std::to_string(static_cast<int>(request.shape.kind)) + "-" +
           std::to_string(static_cast<int>(fault));
  }

  // The next merge into an existing tally meets these faults from its first write on.
  void script_writes(TallyKind kind, const std::vector<Fault>& faults) {
    std::vector<Fault> all(reads_before_merge(kind), Fault::none);
    all.insert(all.end(), faults.begin(), faults.end());
    store_->script(all);
  }

  bool contains(const std::string& name, const TallyRequest& request) {
    if (request.shape.kind == bloom) return value<BloomAnswer>(name).may_contain("a");
    return value(name) == (request.shape.kind == distinct ? 2 : 4);
  }
};

constexpr std::array kLost = {Fault::fail_after, Fault::lose_reply, Fault::land_late};

TEST_P(TallyRepeatsTest, H7_ALostReplyIsFoundOutByRepeatingWhereThatChangesNothing) {
  const std::vector<std::pair<TallyRequest, TallyRequest>> all = {
      {of(max, std::int64_t{3}), of(max, std::int64_t{4})},
      {of(min, std::int64_t{5}), of(min, std::int64_t{4})},
      {of(distinct, items({"b"})), of(distinct, items({"a"}))},
      {of(bloom, items({"b"})), of(bloom, items({"a"}))}};
  for (const auto& [first, request] : all) {
    for (const Fault fault : kLost) {
      const std::string name = name_of(request, fault);
      merged(name, first);
      script_writes(request.shape.kind, {fault, Fault::fail_before, fault});
      EXPECT_FALSE(merged(name, request).replayed) << name;
      EXPECT_TRUE(contains(name, request)) << name;
      store_->deliver_late();
      EXPECT_TRUE(contains(name, request)) << name;
    }
  }
}

TEST_P(TallyRepeatsTest, H7_WhatARepeatWouldDoubleIsSentOnceAndHonestlyUnknown) {
  const std::vector<TallyRequest> all = {of(sum, std::int64_t{1}), of(count, std::int64_t{1}),
                                         of(real, 1.0), of(top, items({"a"}))};
  for (const TallyRequest& request : all) {
    for (const Fault fault : kLost) {
      const std::string name = name_of(request, fault);
      merged(name, request);
      script_writes(request.shape.kind, {fault});
      EXPECT_EQ(refused(name, request), ErrorCode::unknown) << name;
      store_->deliver_late();
      if (request.shape.kind == real) {
        EXPECT_EQ(value<double>(name), 2) << name;
      } else if (request.shape.kind == top) {
        EXPECT_EQ(value<std::vector<HeavyItem>>(name)[0].count, 2U) << name;
      } else {
        EXPECT_EQ(value(name), 2) << name;
      }
    }
  }
}

TEST_P(TallyRepeatsTest, WithoutADoubtAnErrorIsReportedAtOnce) {
  merged("m", of(max, std::int64_t{3}));
  script_writes(max, {Fault::fail_before});
  EXPECT_EQ(refused("m", of(max, std::int64_t{4})), ErrorCode::unavailable);
  EXPECT_EQ(value("m"), 3);
}

TEST_P(TallyRepeatsTest, ARepeatEndsAsUnknownWithItsTime) {
  merged("m", of(max, std::int64_t{3}));
  const Time start = clock_.now();
  script_writes(max, std::vector(20, Fault::lose_reply));  // Five seconds each.
  EXPECT_EQ(refused("m", of(max, std::int64_t{4})), ErrorCode::unknown);
  EXPECT_GE(clock_.now(), start + kAttemptLife);
}

// The repeat is stored late, and the bucket's ttl counts from then.
TEST_P(TallyRepeatsTest, ARepeatDoesNotCutABucketsLifeShort) {
  TallyRequest request = of(max, std::int64_t{4});
  request.ttl = std::chrono::seconds(1);
  merged("m", request);
  script_writes(max, {Fault::lose_reply});  // Longer than the ttl.
  merged("m", request);
  EXPECT_EQ(value("m"), 4);
}

// A union of letters that refuses its third merge.
class Letters final : public Monoid {
 public:
  std::string name() const override { return "letters"; }
  Bytes identity() const override { return ""; }
  Result<void> validate(std::string_view) const override { return {}; }
  Result<Bytes> merge(std::string_view a, std::string_view b) const override {
    if (++merges_ > 2) return failure(ErrorCode::invalid, "no more");
    return a.find(b) == Bytes::npos ? Bytes(a) + Bytes(b) : Bytes(a);
  }
  bool idempotent() const override { return true; }

 private:
  mutable int merges_ = 0;
};

TEST_P(TallyRepeatsTest, ARepeatThatIsRefusedIsStillUnknown) {
  TallyRequest request = of(own, Bytes("a"));
  request.shape.own = std::make_shared<Letters>();
  merged("l", request);
  script_writes(own, {Fault::fail_after});
  EXPECT_EQ(refused("l", request), ErrorCode::unknown);
}

TEST_P(TallyRepeatsTest, AKindIsIdempotentJustIfMergingAgainChangesNothing) {
  const std::vector<TallyRequest> all = {
      of(sum, std::int64_t{4}),   of(count, std::int64_t{4}), of(real, 4.0),
      of(max, std::int64_t{4}),   of(min, std::int64_t{4}),   of(distinct, items({"a"})),
      of(top, items({"a", "b"})), of(bloom, items({"a"}))};
  for (const TallyRequest& request : all) {
    const auto monoid = tallies::monoid_of(request.shape).value();
    const Bytes state = tallies::state_of(request.shape, *monoid, request.input).value();
    EXPECT_EQ(monoid->idempotent(), monoid->merge(state, state).value() == state) << monoid->name();
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, TallyRepeatsTest, ::testing::Values(100, 1), name_of_limit);

}  // namespace
}  // namespace once
