#include "once/log.h"

#include "primitives/log_fixture.h"
#include "testing/code_of.h"
#include "testing/limited_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;

using LogTest = LogFixture;

constexpr LogRead kNewestFirst{.from = std::numeric_limits<std::int64_t>::max(),
                               .order = Direction::descending};

TEST_F(LogTest, IndexesAreConsecutiveFromOne) {
  EXPECT_EQ(append({"a", "b", "c"}).first, 1);
  const Appended second = append({"d", "e"});
  EXPECT_EQ(second.first, 4);
  EXPECT_EQ(second.last, 5);
  EXPECT_EQ(text(), "1:a 2:b 3:c 4:d 5:e");
}

TEST_F(LogTest, AnUnknownStreamIsEmptyAndItsNextIsOne) {
  const Result<LogPage> page = log_.read("none");
  EXPECT_TRUE(page->events.empty());
  EXPECT_EQ(page->next, 1);
  EXPECT_EQ(log_.read("none", kNewestFirst)->next, 0);
  EXPECT_EQ(log_.ends("none")->next, 1);
  EXPECT_EQ(log_.ends("none")->oldest, 1);
}

TEST_F(LogTest, ReadingStartsAnywhereAndGoesOnWhereThePageEnded) {
  append({"a", "b", "c"});
  append({"d"});
  append({"e", "f"});
  EXPECT_EQ(text({.from = 2, .limit = 3}), "2:b 3:c 4:d");
  EXPECT_EQ(log_.read("s", {.from = 2, .limit = 3})->next, 5);
  EXPECT_EQ(text({.from = 5}), "5:e 6:f");
  EXPECT_EQ(log_.read("s", {.from = 5})->next, 7);
  EXPECT_EQ(text({.from = 7}), "");
  EXPECT_EQ(log_.read("s", {.from = 7})->next, 7);
  EXPECT_EQ(log_.read("s", {.from = 900})->next, 7);
}

TEST_F(LogTest, ReadingDescends) {
  append({"a", "b", "c"});
  append({"d"});
  EXPECT_EQ(text(kNewestFirst), "4:d 3:c 2:b 1:a");
  const LogRead two{.from = 3, .limit = 2, .order = Direction::descending};
  EXPECT_EQ(text(two), "3:c 2:b");
  EXPECT_EQ(log_.read("s", two)->next, 1);
  EXPECT_EQ(log_.read("s", {.from = 1, .order = Direction::descending})->next, 0);
}

TEST_F(LogTest, AReplayGivesTheVeryBytesAndTimes) {
  const Time own = clock_.now() - 1h;
  ASSERT_TRUE(
      log_.append("s", {{std::string("\0\n\xff", 3), own}, {"", std::nullopt}}).has_value());
  const Time appended = clock_.now();
  clock_.advance(1h);
  const LogPage page = log_.read("s").value();
  EXPECT_EQ(page.events[0], (LogEntry{1, own, std::string("\0\n\xff", 3)}));
  EXPECT_EQ(page.events[1], (LogEntry{2, appended, ""}));
}

TEST_F(LogTest, AnAppendCostsOneCommitWhereTheEndIsKnownAndOneScanMoreElsewhere) {
  append({"a"});
  EXPECT_EQ(calls(), 2U);
  // What may have been lost is looked for.
  const std::uint64_t known = memory_->limits().may_forget ? 2 : 1;
  append({"b"});
  EXPECT_EQ(calls(), known);
  for (int i = 0; i < 500; ++i) append({"c", "d"});
  calls();
  append({"e"}, {.batch = "id"});
  EXPECT_EQ(calls(), memory_->limits().writes_per_commit == 1 ? 4 : known);
  Log other(*faulty_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(outcome_as<Appended>(other.append("s", events({"f"}))).first, 1'004);
  EXPECT_EQ(calls(), 2U);
  EXPECT_EQ(text({.from = 700, .limit = 1}), "700:d");
  EXPECT_LE(calls(), 3U);
}

TEST_F(LogTest, AnEndThatIsKnownNoMoreLosesThereAndGoesOnFromTheWinner) {
  append({"a"});
  Log other(*faulty_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(outcome_as<Appended>(other.append("s", events({"b", "c"}))).first, 2);
  calls();
  EXPECT_EQ(append({"d"}).first, 4);
  EXPECT_EQ(calls(), 2U);
  EXPECT_EQ(text(), "1:a 2:b 3:c 4:d");
}

TEST_F(LogTest, AnEndThatIsKnownNoMoreRefusesNobodyWhoKnowsBetter) {
  append({"a"});
  Log other(*faulty_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(outcome_as<Appended>(other.append("s", events({"b"}))).first, 2);
  EXPECT_EQ(append({"c"}, {.expect = 3}).first, 3);
  EXPECT_EQ(outcome_as<NotNext>(other.append("s", events({"d"}), {.expect = 3})).next, 4);
}

TEST_F(LogTest, H1_AnEndIsNotBelievedInForLong) {
  append({"a"});
  clock_.advance(5min);
  calls();
  append({"b"});
  EXPECT_EQ(calls(), 2U);
}

TEST_F(LogTest, WhereAFailoverMayForgetTheEndIsLookedForEachTime) {
  Limits forgetful = faulty_->limits();
  forgetful.may_forget = true;
  testing::LimitedStore store(*faulty_, forgetful);
  Log log(store, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(outcome_as<Appended>(log.append("s", events({"a"}))).first, 1);
  const Write lost = erase({logs::batches(logs::stream("default", "s")), 1}, anything());
  ASSERT_TRUE(memory_->commit({&lost, 1}).has_value());
  EXPECT_EQ(outcome_as<Appended>(log.append("s", events({"b"}))).first, 1);
}

TEST_F(LogTest, BadRequestsAreInvalidAndChangeNothing) {
  const auto code = [](const auto& result) { return result.error().code; };
  EXPECT_EQ(code(log_.append("s", {})), ErrorCode::invalid);
  EXPECT_EQ(code(log_.append("s", std::vector<LogEvent>(10'001))), ErrorCode::invalid);
  const Bytes large(memory_->limits().value_bytes, 'x');
  EXPECT_EQ(code(log_.append("s", {{large, {}}}, {.batch = "id"})), ErrorCode::too_large);
  EXPECT_EQ(code(log_.append("s", events({"a"}), {.ttl = 0ms})), ErrorCode::invalid);
  EXPECT_EQ(code(log_.append("s", events({"a"}), {.batch = "a\nb"})), ErrorCode::invalid);
  EXPECT_EQ(code(log_.append("", events({"a"}))), ErrorCode::invalid);
  EXPECT_EQ(code(log_.read("s", {.from = -1})), ErrorCode::invalid);
  EXPECT_EQ(code(log_.read("s", {.limit = 0})), ErrorCode::invalid);
  EXPECT_EQ(code(log_.read("s", {.limit = 10'001})), ErrorCode::invalid);
  EXPECT_EQ(code(log_.trim("s", -1)), ErrorCode::invalid);
  EXPECT_EQ(code(log_.heal("s")), ErrorCode::invalid);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_F(LogTest, TenThousandEventsAreABatch) {
  EXPECT_EQ(outcome_as<Appended>(log_.append("s", std::vector<LogEvent>(10'000))).last, 10'000);
  EXPECT_EQ(log_.read("s", {.limit = 10'000})->events.size(), 10'000U);
}

TEST_F(LogTest, H2_ExpectIsOnlyComparedWithWhereTheLogEnds) {
  append({"a", "b", "c"});
  for (const std::int64_t expect : {1, 2, 3, 5, 500, -1}) {
    const auto refused = outcome_as<NotNext>(log_.append("s", events({"x"}), {.expect = expect}));
    EXPECT_EQ(refused.next, 4) << expect;
  }
  EXPECT_EQ(append({"d"}, {.expect = 4}).first, 4);
  EXPECT_EQ(text(), "1:a 2:b 3:c 4:d");
}

TEST_F(LogTest, H5_ARepeatUnderTheSameIdGetsTheFirstAnswer) {
  append({"a"});
  EXPECT_FALSE(append({"b", "c"}, {.batch = "id"}).replayed);
  append({"d"});
  const Appended again = append({"b", "c"}, {.batch = "id"});
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.first, 2);
  EXPECT_EQ(again.last, 3);
  EXPECT_EQ(text(), "1:a 2:b 3:c 4:d");
}

// Where one write is all there is: the id is written, then its appender dies.
class LogInSteps : public LogFixture {
 protected:
  void SetUp() override {
    append({"a"});
    meet({Fault::none, Fault::none, Fault::none, Fault::fail_before});
    const auto died = in_steps_.append("s", events({"b", "c"}), {.batch = "id"});
    EXPECT_EQ(testing::code_of(died), ErrorCode::unavailable);
    EXPECT_EQ(text(), "1:a");
  }

  testing::LimitedStore single_{*faulty_, 1};
  Log in_steps_{single_, "default", LogStrategy::conditional, clock_, entropy_};
};

TEST_F(LogInSteps, H5_ARepeatWritesTheBatchWhereItsIdSays) {
  EXPECT_EQ(outcome_as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).first,
            2);
  append({"d"});
  EXPECT_TRUE(
      outcome_as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).replayed);
  EXPECT_EQ(text(), "1:a 2:b 3:c 4:d");
}

TEST_F(LogInSteps, H5_TheIdMovesOnlyWhenAnothersBatchStandsThere) {
  append({"x"});
  EXPECT_EQ(outcome_as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).first,
            3);
  EXPECT_TRUE(
      outcome_as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).replayed);
  EXPECT_EQ(text(), "1:a 2:x 3:b 4:c");
}

TEST_F(LogTest, ARepeatThatExpectsItsOwnPlaceIsAReplay) {
  append({"a"}, {.batch = "id", .expect = 1});
  EXPECT_TRUE(append({"a"}, {.batch = "id", .expect = 1}).replayed);
}

TEST_F(LogTest, OtherEventsUnderTheSameIdAreRefused) {
  append({"a"}, {.batch = "id"});
  outcome_as<OtherBatch>(log_.append("s", events({"b"}), {.batch = "id"}));
  outcome_as<OtherBatch>(log_.append("s", events({"a", "b"}), {.batch = "id"}));
  EXPECT_EQ(text(), "1:a");
}

TEST_F(LogTest, ABatchIdIsForgottenAfterADay) {
  append({"a"}, {.batch = "id"});
  clock_.advance(kBatchMemory - 1ms);
  EXPECT_TRUE(append({"a"}, {.batch = "id"}).replayed);
  clock_.advance(1ms);
  EXPECT_FALSE(append({"a"}, {.batch = "id"}).replayed);
}

TEST_F(LogTest, H7_ALostReplyIsFoundOutAndAppendsNothingTwice) {
  for (const Fault fault : {Fault::fail_after, Fault::lose_reply, Fault::land_late}) {
    meet({Fault::none, fault});
    append({"x"});
  }
  EXPECT_EQ(text(), "1:x 2:x 3:x");
}

TEST_F(LogTest, AnAttemptGivesUpAfterItsLifeAndSaysThatItDoesNotKnow) {
  std::vector<Fault> faults(1'000, Fault::lose_reply);
  faults[0] = Fault::none;
  faulty_->script(faults);
  const Time start = clock_.now();
  EXPECT_EQ(log_.append("s", events({"a"})).error().code, ErrorCode::unknown);
  EXPECT_LE(clock_.now() - start, kAttemptLife + 1min);
}

TEST_F(LogTest, StreamsAndNamespacesAreApart) {
  append({"a"});
  Log other(*memory_, "other", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(outcome_as<Appended>(other.append("s", events({"x"}))).first, 1);
  EXPECT_EQ(outcome_as<Appended>(log_.append("s/t", events({"y"}))).first, 1);
  EXPECT_EQ(text(), "1:a");
}

TEST_F(LogTest, ADamagedRecordIsCorruptAndNeverSkipped) {
  append({"a"});
  Write damage = put({logs::batches(logs::stream("default", "s")), 1}, Bytes("junk"), anything());
  damage.version = {7};
  ASSERT_TRUE(memory_->commit({&damage, 1}).has_value());
  EXPECT_EQ(log_.read("s").error().code, ErrorCode::corrupt);
  Log other(*memory_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(other.append("s", events({"b"})).error().code, ErrorCode::corrupt);
  EXPECT_EQ(log_.ends("s").error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace once
