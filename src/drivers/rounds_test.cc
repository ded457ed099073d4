// The batching driver's rounds, one at a time and on one thread.
#include "drivers/rounds.h"

#include <gtest/gtest.h>

#include <deque>

#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/manual_clock.h"

namespace once::detail {
namespace {

const Key kHot{{"hot", ""}, 0};

class RoundsTest : public ::testing::Test {
 protected:
  // The place where a plan's answer will appear.
  template <class T>
  std::optional<Result<T>>& admit(Plan<T> plan, std::deque<std::optional<Result<T>>>& answers,
                                  Duration patience = kAttemptLife) {
    auto& answer = answers.emplace_back();
    auto task = std::make_unique<PlanTask<T>>(*faulty_, entropy_, std::move(plan),
                                              [&answer](Result<T> given) { answer = given; });
    task->deadline = later(clock_.now(), patience);
    detail::Rounds::begin(*task);
    rounds_.admit(std::move(task));
    return answer;
  }

  void run_until_idle() {
    for (int i = 0; i < 100 && rounds_.next_due() <= clock_.now(); ++i) rounds_.run_round();
    EXPECT_GT(rounds_.next_due(), clock_.now());
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<MeteredStore> store_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*store_, {}, clock_);
  Rounds rounds_{*faulty_, clock_, entropy_, 8};
};

Plan<std::int64_t> count_up(Key key) {
  Write one = add(key, 1);
  const CommitOutcome outcome = co_await commit(one);
  co_return std::get<Committed>(outcome).numbers[0].value();
}

// Appends `letter` to the text at kHot, once per id where one is given.
Change appending(std::string letter, const std::string& id = "") {
  Change change{.key = kHot,
                .apply = [letter](const std::optional<Item>& standing) -> Result<Edit> {
                  if (letter == "!") return failure(ErrorCode::invalid, "cannot be applied");
                  const Bytes before = standing ? std::get<Bytes>(standing->value) : "";
                  return Replace{before + letter};
                }};
  if (!id.empty()) change.also.push_back(put({{"hot", id}, 0}, Bytes("done"), absent()));
  return change;
}

Plan<ChangeOutcome> make(Change wanted) { co_return co_await change(wanted); }

TEST_F(RoundsTest, AllCommitsOfARoundAreOneCommitEach) {
  std::deque<std::optional<Result<std::int64_t>>> answers;
  for (int i = 0; i < 50; ++i) admit(count_up(kHot), answers);
  run_until_idle();
  EXPECT_EQ(store_->snapshot().commit_each.calls, 1U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(answers[i]->value(), i + 1);
}

Plan<std::int64_t> count_up_first(Key key) {
  co_await go_first();
  co_return co_await count_up(std::move(key));
}

TEST_F(RoundsTest, H37_UrgentPlansGoFirstInARound) {
  std::deque<std::optional<Result<std::int64_t>>> answers;
  for (int i = 0; i < 3; ++i) admit(count_up(kHot), answers);
  admit(count_up_first(kHot), answers);
  run_until_idle();
  EXPECT_EQ(answers[3]->value(), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answers[i]->value(), i + 2);
}

TEST_F(RoundsTest, AllGetsOfARoundAreOneGet) {
  const auto read = [](Key key) -> Plan<bool> {
    const std::optional<Item> item = co_await get(key);
    co_return item.has_value();
  };
  std::deque<std::optional<Result<bool>>> answers;
  for (int i = 0; i < 50; ++i) admit(read({{"cold", std::to_string(i)}, 0}), answers);
  run_until_idle();
  EXPECT_EQ(store_->snapshot().get.calls, 1U);
  EXPECT_EQ(store_->snapshot().get.parts, 50U);
  for (const auto& answer : answers) EXPECT_FALSE(answer->value());
}

Plan<int> mark_each(std::vector<std::string> names) {
  std::vector<Write> marks;
  for (const std::string& name : names) {
    marks.push_back(put({{"mark", name}, 0}, Bytes("seen"), absent()));
  }
  std::vector<std::span<Write>> each;
  for (Write& mark : marks) each.emplace_back(&mark, 1);
  const std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(each);
  int first = 0;
  for (const Result<CommitOutcome>& outcome : outcomes) first += outcome && committed(*outcome);
  co_return first;
}

TEST_F(RoundsTest, CommitsOfManyPlansAndPlansOfManyCommitsShareARound) {
  std::deque<std::optional<Result<int>>> marked;
  std::deque<std::optional<Result<std::int64_t>>> counted;
  admit(mark_each({"a", "b", "a"}), marked);
  admit(count_up(kHot), counted);
  admit(mark_each({"b", "c"}), marked);
  run_until_idle();
  EXPECT_EQ(store_->snapshot().commit_each.calls, 1U);
  EXPECT_EQ(marked[0]->value(), 2);
  EXPECT_EQ(marked[1]->value(), 1);
  EXPECT_EQ(counted[0]->value(), 1);
}

TEST_F(RoundsTest, ABadKeyFailsOnlyTheGetThatAskedForIt) {
  const auto read = [](Key key) -> Plan<bool> {
    const std::optional<Item> item = co_await get(key);
    co_return item.has_value();
  };
  std::deque<std::optional<Result<bool>>> answers;
  admit(read(kHot), answers);
  admit(read({{"", ""}, 0}), answers);
  run_until_idle();
  EXPECT_TRUE(answers[0]->has_value());
  EXPECT_EQ(answers[1]->error().code, ErrorCode::invalid);
}

TEST_F(RoundsTest, H18_ChangesOfOneKeyAreOneCommitAndAllGetItsFinalState) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  for (const char* letter : {"a", "b", "c"}) admit(make(appending(letter)), answers);
  run_until_idle();
  const Item standing = memory_->get(kHot)->value();
  EXPECT_EQ(standing.value, Value(Bytes("abc")));
  EXPECT_EQ(store_->snapshot().commit_each.committed, 1U);
  for (const auto& answer : answers) {
    EXPECT_EQ(std::get<Changed>(answer->value()).current(), standing);
  }
}

TEST_F(RoundsTest, H18_AChangeThatFailsHarmsNobodyElse) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  for (const char* letter : {"a", "!", "c"}) admit(make(appending(letter)), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("ac")));
  EXPECT_TRUE(answers[0]->has_value());
  EXPECT_EQ(answers[1]->error().code, ErrorCode::invalid);
  EXPECT_TRUE(answers[2]->has_value());
}

TEST_F(RoundsTest, H18_AChangeThatWouldBeTooLargeHarmsNobodyElse) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a")), answers);
  admit(make(appending(std::string(memory_->limits().value_bytes, 'x'))), answers);
  admit(make(appending("c")), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("ac")));
  EXPECT_EQ(answers[1]->error().code, ErrorCode::too_large);
}

TEST_F(RoundsTest, H18_AnAddedWriteThatIsInvalidHarmsNobodyElse) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a")), answers);
  Change bad = appending("b");
  bad.also.push_back(add({{"hot", "no-home"}, -1}, 1));
  admit(make(std::move(bad)), answers);
  admit(make(appending("c")), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("ac")));
  EXPECT_EQ(answers[1]->error().code, ErrorCode::invalid);
}

TEST_F(RoundsTest, H18_AnAddedWriteThatIsTooLargeHarmsNobodyElse) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a")), answers);
  Change bad = appending("b");
  const Bytes large(memory_->limits().value_bytes + 1, 'x');
  bad.also.push_back(put({{"hot", "large"}, 0}, large, anything()));
  admit(make(std::move(bad)), answers);
  admit(make(appending("c")), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("ac")));
  EXPECT_EQ(answers[1]->error().code, ErrorCode::too_large);
}

TEST_F(RoundsTest, H18_AnUnknownOutcomeReachesAll) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  for (const char* letter : {"a", "b", "c"}) admit(make(appending(letter)), answers);
  const std::vector<Fault> script = {Fault::none, Fault::fail_after};
  faulty_->script(script);
  run_until_idle();
  for (const auto& answer : answers) EXPECT_EQ(answer->error().code, ErrorCode::unknown);
}

TEST_F(RoundsTest, H18_TheQueueOfAKeyIsBounded) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  for (int i = 0; i < 9; ++i) admit(make(appending("x")), answers);
  ASSERT_TRUE(answers[8].has_value());
  EXPECT_EQ(answers[8]->error().code, ErrorCode::unavailable);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("xxxxxxxx")));
}

TEST_F(RoundsTest, AChangeWhoseIdIsKnownIsToldSoAndTheOthersGoOn) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a", "id-1")), answers);
  run_until_idle();
  for (const char* id : {"id-2", "id-1", "id-3"}) admit(make(appending("b", id)), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("abb")));
  const Lost& lost = std::get<Lost>(answers[2]->value());
  EXPECT_EQ(lost.write, 0U);
  EXPECT_EQ(lost.current->value, Value(Bytes("done")));
  EXPECT_TRUE(std::holds_alternative<Changed>(answers[3]->value()));
}

TEST_F(RoundsTest, TheSameIdTwiceInOneRoundIsAppliedOnce) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  for (const char* letter : {"a", "a", "b"}) admit(make(appending(letter, letter)), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("ab")));
  EXPECT_TRUE(std::holds_alternative<Lost>(answers[1]->value()));
}

TEST_F(RoundsTest, AChangeOvertakenByAnotherProcessIsToldToTryAgain) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a")), answers);
  rounds_.run_round();  // Has read; writes next.
  Write theirs = put(kHot, Bytes("theirs"), absent());
  theirs.version = entropy_.version();
  ASSERT_TRUE(memory_->commit({&theirs, 1}).has_value());
  run_until_idle();
  EXPECT_TRUE(std::holds_alternative<Overtaken>(answers[0]->value()));
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("theirs")));
}

TEST_F(RoundsTest, AChangeMayKeepOrClearWhatStandsThere) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a")), answers);
  run_until_idle();
  admit(make({.key = kHot, .apply = [](const auto&) -> Result<Edit> { return Keep{}; }}), answers);
  run_until_idle();
  EXPECT_EQ(std::get<Changed>(answers[1]->value()).current()->value, Value(Bytes("a")));
  EXPECT_EQ(store_->snapshot().commit_each.committed, 1U);
  admit(make({.key = kHot, .apply = [](const auto&) -> Result<Edit> { return Clear{}; }}), answers);
  run_until_idle();
  EXPECT_FALSE(std::get<Changed>(answers[2]->value()).current().has_value());
  EXPECT_FALSE(memory_->get(kHot)->has_value());
}

// Adds a number to the text at kHot, which notes every time that it was added to.
class Adding final : public Joinable {
 public:
  Adding(int number, int& applied) : number_(number), applied_(applied) {}

  Apply apply() {
    return [this](const std::optional<Item>& standing) { return add(number_, standing); };
  }
  Apply joined(std::span<Joinable* const> parts) override {
    int sum = 0;
    for (Joinable* part : parts) sum += dynamic_cast<Adding&>(*part).number_;
    if (sum == kNotTogether) return {};
    return [this, sum](const std::optional<Item>& standing) { return add(sum, standing); };
  }

  static constexpr int kTooMuch = 1'000;
  static constexpr int kNotTogether = 13;

 private:
  Result<Edit> add(int number, const std::optional<Item>& standing) {
    ++applied_;
    if (number >= kTooMuch) return failure(ErrorCode::invalid, "too much");
    const Bytes before = standing ? std::get<Bytes>(standing->value) : "";
    return Replace{before + "+" + std::to_string(number)};
  }

  const int number_;
  int& applied_;
};

Plan<ChangeOutcome> add_to_hot(int number, int* applied) {
  Adding adding(number, *applied);
  Change wanted{.key = kHot, .apply = adding.apply(), .part = &adding};
  co_return co_await change(wanted);
}

TEST_F(RoundsTest, ChangesThatCanBeTakenTogetherAreAppliedOnce) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  int applied = 0;
  for (const int number : {1, 2, 3}) admit(add_to_hot(number, &applied), answers);
  run_until_idle();
  const Item standing = memory_->get(kHot)->value();
  EXPECT_EQ(standing.value, Value(Bytes("+6")));
  EXPECT_EQ(applied, 1);
  for (const auto& answer : answers) {
    EXPECT_EQ(std::get<Changed>(answer->value()).current(), standing);
  }
}

TEST_F(RoundsTest, ChangesThatCannotBeTakenTogetherAfterAllAreAppliedOneByOne) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  int applied = 0;
  for (const int number : {6, 7}) admit(add_to_hot(number, &applied), answers);
  run_until_idle();
  admit(make(appending("a")), answers);
  for (const int number : {1, 2}) admit(add_to_hot(number, &applied), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("+6+7a+1+2")));
}

TEST_F(RoundsTest, H18_OneOfSeveralTakenTogetherThatFailsHarmsNobodyElse) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  int applied = 0;
  for (const int number : {1, Adding::kTooMuch, 3}) admit(add_to_hot(number, &applied), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("+1+3")));
  EXPECT_TRUE(answers[0]->has_value());
  EXPECT_EQ(answers[1]->error().code, ErrorCode::invalid);
  EXPECT_TRUE(answers[2]->has_value());
}

Plan<ChangeOutcome> look_then_make(Change wanted) {
  co_await get(kHot);
  co_return co_await change(wanted);
}

TEST_F(RoundsTest, WhoeverComesBackAtOnceIsInTheNextGroup) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a")), answers);
  rounds_.run_round();  // Has read; writes next.
  admit(make(appending("b")), answers);
  rounds_.run_round();
  ASSERT_TRUE(answers[0].has_value());
  admit(look_then_make(appending("c")), answers);
  run_until_idle();
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("abc")));
  EXPECT_EQ(store_->snapshot().commit_each.committed, 2U);
}

Plan<int> pause_then(Duration length, int answer) {
  co_await pause(length);
  co_return answer;
}

TEST_F(RoundsTest, PausesEndInTheirOrderWithoutHoldingUpOthers) {
  std::deque<std::optional<Result<int>>> answers;
  admit(pause_then(Duration(200), 1), answers);
  admit(pause_then(Duration(100), 2), answers);
  rounds_.run_round();
  EXPECT_EQ(rounds_.next_due(), clock_.now() + Duration(100));
  clock_.advance(Duration(100));
  run_until_idle();
  EXPECT_FALSE(answers[0].has_value());
  EXPECT_EQ(answers[1]->value(), 2);
  clock_.advance(Duration(100));
  run_until_idle();
  EXPECT_EQ(answers[0]->value(), 1);
}

TEST_F(RoundsTest, APlanEndsWhenItsPatienceIsOver) {
  std::deque<std::optional<Result<int>>> answers;
  admit(pause_then(Duration(200), 1), answers, Duration(50));
  clock_.advance(Duration(50));
  run_until_idle();
  EXPECT_EQ(answers[0]->error().code, ErrorCode::unavailable);
}

TEST_F(RoundsTest, AChangeWhosePatienceEndedInTheQueueIsNotMade) {
  std::deque<std::optional<Result<ChangeOutcome>>> answers;
  admit(make(appending("a")), answers, Duration(50));
  admit(make(appending("b")), answers);
  clock_.advance(Duration(50));
  run_until_idle();
  EXPECT_EQ(answers[0]->error().code, ErrorCode::unavailable);
  EXPECT_EQ(memory_->get(kHot)->value().value, Value(Bytes("b")));
}

TEST_F(RoundsTest, AbandoningAnswersEveryone) {
  std::deque<std::optional<Result<ChangeOutcome>>> changes;
  std::deque<std::optional<Result<int>>> pauses;
  admit(make(appending("a")), changes);
  admit(pause_then(Duration(200), 1), pauses);
  rounds_.run_round();  // A group is under way.
  admit(make(appending("b")), changes);
  rounds_.abandon();
  for (const auto& answer : changes) EXPECT_EQ(answer->error().code, ErrorCode::unavailable);
  EXPECT_EQ(pauses[0]->error().code, ErrorCode::unavailable);
  EXPECT_FALSE(memory_->get(kHot)->has_value());
}

}  // namespace
}  // namespace once::detail
