#include "once/faulty_store.h"

#include "stores/decorators/decorator_fixture.h"

namespace once::testing {
namespace {

class FaultyStoreTest : public Decorated {
 protected:
  void next(std::initializer_list<Fault> faults) { faulty_->script(std::vector(faults)); }

  const FaultPlan plan_ = {.longest_delay = Duration(50), .timeout = Duration(700)};
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*memory_, plan_, clock_);
};

TEST_F(FaultyStoreTest, FailBeforeIsUnavailableAndWritesNothing) {
  next({Fault::fail_before, Fault::fail_before});
  EXPECT_EQ(error_of(commit(*faulty_, fresh(add(key("k"), 1)))), ErrorCode::unavailable);
  EXPECT_EQ(error_of(faulty_->get(key("k"))), ErrorCode::unavailable);
  EXPECT_EQ(current(key("k")), std::nullopt);
}

TEST_F(FaultyStoreTest, FailAfterIsUnknownAndWrites) {
  next({Fault::fail_after, Fault::fail_after});
  EXPECT_EQ(error_of(commit(*faulty_, fresh(add(key("k"), 1)))), ErrorCode::unknown);
  EXPECT_EQ(error_of(faulty_->get(key("k"))), ErrorCode::unavailable);
  EXPECT_EQ(number(key("k")), 1);
}

TEST_F(FaultyStoreTest, DelayOnlyTakesTime) {
  const Time before = clock_.now();
  next(std::initializer_list<Fault>{Fault::delay, Fault::delay, Fault::delay});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_committed(commit(*faulty_, fresh(add(key("k"), 1)))));
  EXPECT_EQ(number(key("k")), 3);
  EXPECT_GT(clock_.now(), before);
  EXPECT_LE(clock_.now(), before + 3 * plan_.longest_delay);
}

TEST_F(FaultyStoreTest, LoseReplyWritesAndIsUnknownAfterTheTimeout) {
  const Time before = clock_.now();
  next({Fault::lose_reply});
  EXPECT_EQ(error_of(commit(*faulty_, fresh(add(key("k"), 1)))), ErrorCode::unknown);
  EXPECT_EQ(number(key("k")), 1);
  EXPECT_EQ(clock_.now(), before + plan_.timeout);
}

TEST_F(FaultyStoreTest, LandLateIsUnknownAndWritesWhenDelivered) {
  next({Fault::land_late, Fault::land_late});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of(commit(*faulty_, fresh(add(key("k"), 1)))), ErrorCode::unknown);
  }
  EXPECT_EQ(faulty_->counts().under_way + faulty_->counts().landed, 2U);
  faulty_->deliver_late();
  EXPECT_EQ(number(key("k")), 2);
  EXPECT_EQ(faulty_->counts().landed, 2U);
  EXPECT_EQ(faulty_->counts().under_way, 0U);
}

TEST_F(FaultyStoreTest, LandLateLandsBeforeOneOfTheNextCallsByItself) {
  next({Fault::land_late});
  commit(*faulty_, fresh(add(key("k"), 1)));
  EXPECT_EQ(number(key("k")), 0);
  for (std::uint64_t i = 0; i < plan_.latest_landing; ++i) faulty_->get(key("other"));
  EXPECT_EQ(number(key("k")), 1);
}

TEST_F(FaultyStoreTest, ALateCommitIsOneWriteHoweverLateAndMayLose) {
  next({Fault::land_late});
  commit(*faulty_, fresh(put(key("k"), Bytes("late"), absent())));
  const Item theirs = others_put(key("k"), Bytes("first"));
  faulty_->deliver_late();
  faulty_->deliver_late();
  EXPECT_EQ(current(key("k")), theirs);
}

TEST_F(FaultyStoreTest, FaultsInAGroupBefallSingleTransactionsAndKeepTheOrderOfTheRest) {
  const std::vector<Write> writes = {
      fresh(put(key("k"), Bytes("0"), absent())), fresh(put(key("k"), Bytes("1"), absent())),
      fresh(put(key("k"), Bytes("2"), absent())), fresh(put(key("j"), Bytes("3"), absent()))};
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  next({Fault::fail_before, Fault::none, Fault::none, Fault::fail_after});
  const auto answers = faulty_->commit_each(group);
  EXPECT_EQ(error_of(answers[0]), ErrorCode::unavailable);
  EXPECT_TRUE(is_committed(answers[1]));
  EXPECT_TRUE(is_lost(answers[2]));
  EXPECT_EQ(error_of(answers[3]), ErrorCode::unknown);
  EXPECT_EQ(current(key("k"))->version, writes[1].version);
  EXPECT_EQ(current(key("j"))->version, writes[3].version);
}

TEST_F(FaultyStoreTest, AGroupFailsAsAWholeWhereThePlanSaysSo) {
  FaultPlan whole = plan_;
  whole.scope = FaultPlan::Scope::group;
  const auto faulty = inject_faults(*memory_, whole, clock_);
  const std::vector<Write> writes = {fresh(add(key("a"), 1)), fresh(add(key("b"), 1))};
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  faulty->script(std::vector{Fault::fail_before, Fault::fail_after, Fault::land_late});
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::unknown, ErrorCode::unknown}) {
    for (const auto& answer : faulty->commit_each(group)) EXPECT_EQ(error_of(answer), code);
  }
  faulty->deliver_late();
  EXPECT_EQ(number(key("a")), 2);
  EXPECT_EQ(number(key("b")), 2);
}

std::vector<std::optional<ErrorCode>> answers_of_a_run(std::uint64_t seed, FaultCounts* counts) {
  ManualClock clock;
  const auto memory = open_memory({}, clock);
  const auto faulty = inject_faults(*memory,
                                    {.seed = seed,
                                     .fail_before = 0.1,
                                     .fail_after = 0.1,
                                     .delay = 0.1,
                                     .lose_reply = 0.1,
                                     .land_late = 0.1},
                                    clock);
  std::vector<std::optional<ErrorCode>> codes;
  for (std::uint64_t i = 1; i <= 1'000; ++i) {
    Write write = add({{"k", ""}, 0}, 1);
    write.version = Version{i};
    const auto answer = commit(*faulty, write);
    codes.push_back(answer ? std::nullopt : std::optional(answer.error().code));
  }
  *counts = faulty->counts();
  return codes;
}

TEST(FaultPlanTest, TheSameSeedGivesTheSameFaultsAndAnotherOneDoesNot) {
  FaultCounts first, again, other;
  const auto codes = answers_of_a_run(1, &first);
  EXPECT_EQ(codes, answers_of_a_run(1, &again));
  EXPECT_EQ(first.injected, again.injected);
  EXPECT_NE(codes, answers_of_a_run(2, &other));
}

TEST(FaultPlanTest, ChancesAreKeptRoughly) {
  FaultCounts counts;
  answers_of_a_run(3, &counts);
  EXPECT_EQ(counts.calls, 1'000U);
  EXPECT_NEAR(static_cast<double>(counts.injected), 500, 80);
  EXPECT_NEAR(static_cast<double>(counts.landed), 100, 40);
}

}  // namespace
}  // namespace once::testing
