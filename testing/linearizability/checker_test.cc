// The checker accepts what could have happened one at a time, and finds what could not.
#include "testing/linearizability/checker.h"

#include <gtest/gtest.h>

#include "testing/linearizability/models.h"

namespace once::testing {
namespace {

using Sums = LinearizabilityChecker<SumModel>;
using Kind = SumModel::Operation::Kind;

bool is_linearizable(const Sums::History& history) {
  return Sums::violation(SumModel{}, history).empty();
}

TEST(Checker, AcceptsAnyOrderOfOperationsThatOverlap) {
  EXPECT_TRUE(
      is_linearizable({{{Kind::add, 1}, 1, 6}, {{Kind::read, 2}, 2, 5}, {{Kind::add, 2}, 3, 4}}));
  EXPECT_TRUE(is_linearizable({{{Kind::add, 1}, 1, 6}, {{Kind::read, 0}, 2, 5}}));
  EXPECT_TRUE(is_linearizable({{{Kind::add, 1}, 1, 6}, {{Kind::read, 1}, 2, 5}}));
}

TEST(Checker, RefusesAReadThatMissesWhatWasAnsweredBefore) {
  EXPECT_FALSE(is_linearizable({{{Kind::add, 1}, 1, 2}, {{Kind::read, 0}, 3, 4}}));
}

TEST(Checker, RefusesReadsThatSeeTwoAddsInTwoOrders) {
  EXPECT_FALSE(is_linearizable({{{Kind::add, 1}, 1, 10},
                                {{Kind::add, 2}, 2, 11},
                                {{Kind::read, 1}, 3, 4},
                                {{Kind::read, 2}, 5, 6}}));
}

TEST(Checker, WhatWasNotAnsweredMayHaveHappenedLateOrNever) {
  EXPECT_TRUE(is_linearizable({{{Kind::add, 1}, 1, kUnanswered}, {{Kind::read, 0}, 2, 3}}));
  EXPECT_TRUE(is_linearizable(
      {{{Kind::add, 1}, 1, kUnanswered}, {{Kind::read, 0}, 2, 3}, {{Kind::read, 1}, 4, 5}}));
  EXPECT_FALSE(is_linearizable(
      {{{Kind::add, 1}, 1, kUnanswered}, {{Kind::read, 1}, 2, 3}, {{Kind::read, 0}, 4, 5}}));
  EXPECT_FALSE(is_linearizable({{{Kind::read, 1}, 1, 2}, {{Kind::add, 1}, 3, kUnanswered}}));
}

TEST(Checker, NamesTheOperationsThatNoOrderExplains) {
  const Sums::History history = {
      {{Kind::add, 1}, 1, 2}, {{Kind::read, 1}, 3, 4}, {{Kind::read, 7}, 5, 6}};
  EXPECT_EQ(Sums::violation(SumModel{}, history), std::vector<std::size_t>{2});
}

// Rounds of concurrent adds, each followed by a read. Their order is all the same to the sum: only
// the memory keeps the search from trying each.
Sums::History rounds_of_adds(int rounds, int at_a_time) {
  Sums::History history;
  std::uint64_t moment = 0;
  for (int round = 1; round <= rounds; ++round) {
    const std::uint64_t called = ++moment;
    const std::uint64_t answered = ++moment;
    for (int i = 0; i < at_a_time; ++i) history.push_back({{Kind::add, 1}, called, answered});
    history.push_back({{Kind::read, at_a_time * round}, moment + 1, moment + 2});
    moment += 2;
  }
  return history;
}

TEST(Checker, ManyAtATimeAreDecidedSoon) {
  EXPECT_TRUE(is_linearizable(rounds_of_adds(20, 16)));
  Sums::History wrong = rounds_of_adds(20, 8);
  ++wrong.back().operation.number;
  EXPECT_FALSE(is_linearizable(wrong));
}

using Claim = ClaimModel::Operation;

TEST(ClaimModel, RefusesTwoHoldersAndACompletionByAStaleTicket) {
  const auto accepts = [](const LinearizabilityChecker<ClaimModel>::History& history) {
    return LinearizabilityChecker<ClaimModel>::violation(ClaimModel{}, history).empty();
  };
  const Claim a{Claim::Kind::take, "a", 1, "", Claim::Answer::claimed};
  const Claim b{Claim::Kind::take, "b", 2, "", Claim::Answer::claimed};
  const Claim release{Claim::Kind::release, "a", 1, "", Claim::Answer::ok};
  const Claim complete{Claim::Kind::complete, "a", 1, "r", Claim::Answer::ok};
  Claim fenced = complete;
  fenced.answer = Claim::Answer::fenced;
  EXPECT_FALSE(accepts({{a, 1, 2}, {b, 3, 4}}));
  EXPECT_TRUE(accepts({{a, 1, 2}, {release, 3, 4}, {b, 5, 6}, {fenced, 7, 8}}));
  EXPECT_FALSE(accepts({{a, 1, 2}, {release, 3, 4}, {b, 5, 6}, {complete, 7, 8}}));
  EXPECT_FALSE(accepts({{a, 1, 2}, {fenced, 3, 4}}));
  Claim same_fence = b;
  same_fence.fence = 1;
  EXPECT_FALSE(accepts({{a, 1, 2}, {release, 3, 4}, {same_fence, 5, 6}}));
}

TEST(LogFault, FindsAGapADoubleALossAndAWrongOrder) {
  const std::vector<Event<Append>> appends = {{{"a", 1}, 1, 2}, {{"b", 2}, 3, 4}};
  EXPECT_EQ(log_fault(appends, {{1, "a"}, {2, "b"}}), std::nullopt);
  EXPECT_EQ(log_fault(appends, {{1, "a"}, {3, "b"}}), "a gap before 3");
  EXPECT_EQ(log_fault(appends, {{1, "a"}, {2, "b"}, {3, "b"}}), "b is there twice");
  EXPECT_EQ(log_fault(appends, {{1, "a"}}), "b is at 0 and was said to be at 2");
  EXPECT_EQ(log_fault(appends, {{1, "a"}, {2, "b"}, {3, "c"}}), "c was never appended");
  EXPECT_EQ(log_fault({{{"a", 2}, 1, 2}, {{"b", 1}, 3, 4}}, {{1, "b"}, {2, "a"}}),
            "a has a higher index than one that began after its answer");
  EXPECT_EQ(log_fault({{{"a", 0}, 1, kUnanswered}}, {}), std::nullopt);
  EXPECT_EQ(log_fault({{{"a", 0}, 1, kUnanswered}}, {{1, "a"}}), std::nullopt);
}

}  // namespace
}  // namespace once::testing
