// Lost replies of merges without an id.
#include "primitives/tallies_fixture.h"
#include "primitives/tally_kinds.h"
#include "primitives/tally_monoids.h"

namespace once {
namespace {

using enum TallyKind;

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

// It is a late repeat that is stored: the bucket is kept as if it had been sent only then.
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
