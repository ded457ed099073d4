// Appends that the batching driver makes together, one round at a time.
#include <deque>

#include "drivers/rounds.h"
#include "once/effects.h"
#include "once/metered_store.h"
#include "once/tallies.h"
#include "primitives/log_fixture.h"
#include "testing/code_of.h"
#include "testing/limited_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;

class LogGroups : public LogFixture {
 protected:
  using Answer = std::optional<Result<AppendOutcome>>;

  template <class T>
  void admit(Plan<T> plan, std::optional<Result<T>>& answer) {
    auto task = std::make_unique<detail::PlanTask<T>>(
        *store_, entropy_, std::move(plan),
        [&answer](Result<T> given) { answer = std::move(given); });
    detail::Rounds::begin(*task);
    rounds_.admit(std::move(task));
  }

  Answer& wait_with(std::initializer_list<std::string_view> data, AppendRequest request = {}) {
    Answer& answer = answers_.emplace_back();
    admit(logs::append(stream_, events(data), std::move(request), &known_), answer);
    return answer;
  }

  // Runs all that waits to its end; returns how many commits that took.
  std::uint64_t commits() {
    const auto made = [this] { return store_->snapshot().commit_each.committed; };
    const std::uint64_t before = made();
    while (rounds_.under_way() > 0) {
      if (rounds_.next_due() > clock_.now()) clock_.advance(1ms);
      rounds_.run_round();
    }
    return made() - before;
  }

  static std::int64_t first_of(const Answer& answer) {
    return std::get<Appended>(answer->value()).first;
  }

  bool by_one_write() const { return store_->limits().writes_per_commit == 1; }

  const logs::Stream stream_ = logs::stream("default", "s");
  std::unique_ptr<MeteredStore> store_ = meter(*faulty_);
  logs::KnownEnds known_;
  detail::Rounds rounds_{*store_, clock_, entropy_, 1'000};
  std::deque<Answer> answers_;
};

TEST_F(LogGroups, WhatWaitsOnAStreamIsOneCommitInTheOrderOfArrival) {
  for (int i = 0; i < 20; ++i) wait_with({"a", "b"});
  EXPECT_EQ(commits(), 1U);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(first_of(answers_[static_cast<std::size_t>(i)]), 1 + 2 * i);
  EXPECT_EQ(log_.read("s", {.limit = 100})->events.size(), 40U);
  ASSERT_EQ(records().size(), 1U);
  EXPECT_EQ(records()[0].record.parts.size(), 20U);
}

TEST_F(LogGroups, EachKeepsItsOwnBatchIdAndARepeatGetsItsOwnPlace) {
  for (const char* const id : {"x", "y", "z"}) wait_with({id, id}, {.batch = id});
  wait_with({"nameless"});
  EXPECT_EQ(commits(), by_one_write() ? 4U : 1U);
  EXPECT_EQ(text(), "1:x 2:x 3:y 4:y 5:z 6:z 7:nameless");
  const Appended again = append({"y", "y"}, {.batch = "y"});
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.first, 3);
  EXPECT_TRUE(std::holds_alternative<OtherBatch>(
      log_.append("s", events({"other"}), {.batch = "z"}).value()));
}

TEST_F(LogGroups, AKnownBatchIdDropsOutAndHarmsNobody) {
  append({"old"}, {.batch = "known"});
  append({"old 2"}, {.batch = "known 2"});
  wait_with({"a"});
  wait_with({"old"}, {.batch = "known"});
  wait_with({"b"}, {.batch = "new"});
  wait_with({"old 2"}, {.batch = "known 2"});
  wait_with({"other"}, {.batch = "known"});
  commits();
  EXPECT_TRUE(std::get<Appended>(answers_[1]->value()).replayed);
  EXPECT_EQ(first_of(answers_[1]), 1);
  EXPECT_EQ(first_of(answers_[3]), 2);
  EXPECT_TRUE(std::holds_alternative<OtherBatch>(answers_[4]->value()));
  EXPECT_EQ(text(), "1:old 2:old 2 3:a 4:b");
}

TEST_F(LogGroups, TheSameBatchTwiceIsAppendedOnce) {
  wait_with({"a"}, {.batch = "id"});
  wait_with({"a"}, {.batch = "id"});
  wait_with({"b"});
  commits();
  EXPECT_EQ(first_of(answers_[0]), first_of(answers_[1]));
  EXPECT_TRUE(std::get<Appended>(answers_[1]->value()).replayed);
  EXPECT_EQ(log_.read("s")->events.size(), 2U);
}

TEST_F(LogGroups, H2_AnExpectationHoldsInItsPlaceOrDropsOut) {
  append({"old"});
  wait_with({"a"});
  wait_with({"first"}, {.expect = 2});  // Goes first: then both can be.
  wait_with({"too late"}, {.expect = 2});
  wait_with({"b"}, {.expect = 4});
  wait_with({"beyond"}, {.expect = 500});
  commits();
  EXPECT_EQ(first_of(answers_[1]), 2);
  EXPECT_EQ(first_of(answers_[0]), 3);
  EXPECT_EQ(first_of(answers_[3]), 4);
  EXPECT_EQ(std::get<NotNext>(answers_[2]->value()).next, 5);
  EXPECT_EQ(std::get<NotNext>(answers_[4]->value()).next, 5);
  EXPECT_EQ(text(), "1:old 2:first 3:a 4:b");
}

TEST_F(LogGroups, AStaleEndRefusesNobodyWhoKnowsBetter) {
  wait_with({"a"});
  commits();
  append({"by another process"});
  wait_with({"b"}, {.expect = 3});
  commits();
  EXPECT_EQ(first_of(answers_[1]), 3);
}

TEST_F(LogGroups, ABatchThatIsTooLargeIsRefusedAlone) {
  const Bytes large(memory_->limits().value_bytes, 'x');
  wait_with({"a"});
  wait_with({large});
  wait_with({"b"});
  commits();
  EXPECT_EQ(testing::code_of(*answers_[1]), ErrorCode::too_large);
  EXPECT_EQ(text(), "1:a 2:b");
}

TEST_F(LogGroups, EventsThatEndAtOtherTimesAreInRecordsOfTheirOwn) {
  wait_with({"a"});
  wait_with({"b"}, {.ttl = 1h});
  wait_with({"c"}, {.ttl = 1h});
  commits();
  EXPECT_EQ(text(), "1:a 2:b 3:c");
  ASSERT_EQ(records().size(), 2U);
  EXPECT_EQ(records()[0].record.expires, kNever);
  EXPECT_NE(records()[1].record.expires, kNever);
}

// The reply of the one commit is lost in each way in which it can be.
class LogGroupsUnknown : public LogGroups, public ::testing::WithParamInterface<Fault> {};

TEST_P(LogGroupsUnknown, H7_ALostReplyIsFoundOutForAllAndAppendsNothingTwice) {
  append({"old"});
  wait_with({"warm"});
  commits();
  // Before the commit: where the end is looked up, a scan; by one write, the ids.
  const bool looks_up = memory_->limits().may_forget;
  std::vector<Fault> faults(looks_up ? 1 : by_one_write() ? 2 : 0, Fault::none);
  faults.push_back(GetParam());
  wait_with({"a"});
  wait_with({"b"}, {.batch = "id"});
  wait_with({"c"});
  faulty_->script(faults);
  commits();
  EXPECT_EQ(log_.read("s")->events.size(), 5U);
  EXPECT_EQ(first_of(answers_[1]) + first_of(answers_[2]) + first_of(answers_[3]), 3 + 4 + 5);
}

INSTANTIATE_TEST_SUITE_P(Each, LogGroupsUnknown,
                         ::testing::Values(Fault::fail_after, Fault::lose_reply, Fault::land_late));

TEST_F(LogGroups, H7_WithoutAnIdWhatIsNeverFoundOutIsUnknownToEach) {
  wait_with({"warm"});
  commits();
  wait_with({"a"});
  wait_with({"b"});
  std::vector<Fault> faults(1'000, Fault::lose_reply);
  if (memory_->limits().may_forget) faults[0] = Fault::none;
  faulty_->script(faults);
  commits();
  EXPECT_EQ(testing::code_of(*answers_[1]), ErrorCode::unknown);
  EXPECT_EQ(testing::code_of(*answers_[2]), ErrorCode::unknown);
}

class LogGroupsWithEffects : public LogGroups {
 protected:
  void SetUp() override { ONCE_NEEDS_WRITES(*memory_, 2U); }

  std::optional<Result<effects::Outcome>>& commit_with(effects::Request request) {
    auto& made = made_.emplace_back();
    admit(effects::commit(std::move(request)), made);
    return made;
  }

  static effects::Request one_more(const std::string& id) {
    effects::Request request{.name_space = "default", .id = id};
    request.effects.append("s", Bytes(id)).add("t", 1);
    return request;
  }

  std::deque<std::optional<Result<effects::Outcome>>> made_;
};

TEST_F(LogGroupsWithEffects, CommitsThatAppendToOneStreamAndAddToOneTallyAreOneCommit) {
  if (memory_->limits().one_home_per_commit) GTEST_SKIP() << "effects of several homes";
  commit_with(one_more("warm"));
  commits();
  commit_with(one_more("x"));
  commit_with(one_more("y"));
  EXPECT_EQ(commits(), 1U);
  EXPECT_EQ(log_.read("s")->events.size(), 3U);
  LocalTallies tallies(*memory_, "default", clock_, entropy_);
  EXPECT_EQ(std::get<std::int64_t>(tallies.read("t")->value().value), 3);
  for (std::size_t i = 1; i < 3; ++i) {
    const auto& made = std::get<effects::Made>(made_[i]->value());
    const std::int64_t at = made.appended[0].first;
    EXPECT_EQ(log_.read("s", {.from = at, .limit = 1})->events[0].data, i == 1 ? "x" : "y");
  }
  // A repeat is told the same place.
  commit_with(one_more("y"));
  commits();
  const auto& again = std::get<effects::Made>(made_[3]->value());
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.appended[0].first, std::get<effects::Made>(made_[2]->value()).appended[0].first);
}

TEST_F(LogGroupsWithEffects, AConditionThatFailsHarmsNobody) {
  if (memory_->limits().one_home_per_commit) GTEST_SKIP() << "effects of several homes";
  effects::Request first = one_more("first");
  first.effects.put("d", {.bytes = "{}", .type = "application/json"}, documents::IfAbsent{});
  effects::Request second = one_more("second");
  second.effects.put("d", {.bytes = "{}", .type = "application/json"}, documents::IfAbsent{});
  commit_with(std::move(first));
  commit_with(std::move(second));
  wait_with({"a"});
  commits();
  EXPECT_TRUE(std::holds_alternative<effects::Made>(made_[0]->value()));
  EXPECT_TRUE(std::holds_alternative<effects::Refused>(made_[1]->value()));
  EXPECT_EQ(log_.read("s")->events.size(), 2U);
}

TEST_F(LogGroupsWithEffects, ATallyThatIsRemovedMeanwhileBeginsAgainForAllWhoCheckIt) {
  if (memory_->limits().one_home_per_commit) GTEST_SKIP() << "effects of several homes";
  LocalTallies tallies(*memory_, "default", clock_, entropy_);
  commit_with(one_more("warm"));
  commits();
  for (const char* const id : {"x", "y", "z"}) commit_with(one_more(id));
  rounds_.run_round();  // They have read what the tally is.
  ASSERT_TRUE(tallies.remove("t").value());
  commits();
  EXPECT_EQ(log_.read("s")->events.size(), 4U);
  EXPECT_EQ(std::get<std::int64_t>(tallies.read("t")->value().value), 3);
}

}  // namespace
}  // namespace once
