#include "once/log.h"
#include "once/local.h"

#include "once/memory_store.h"
#include "once/metered_store.h"
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

TEST(LogPages, APageReadsNoBatchThatBeginsBehindIt) {
  const auto memory = open_memory();
  const auto metered = meter(*memory);
  LocalLog log(*metered);
  const std::vector<LogEvent> batch(100, LogEvent{"e", std::nullopt});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(log.append("s", batch).has_value());
  const std::uint64_t before = metered->snapshot().scan.parts;
  const Result<LogPage> page = log.read("s", {.from = 595, .limit = 10});
  ASSERT_EQ(page->events.size(), 10U);
  EXPECT_EQ(page->events.front().index, 595);
  EXPECT_EQ(page->next, 605);
  EXPECT_EQ(metered->snapshot().scan.parts - before, 2U) << "those of 595 and of 601";
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
  EXPECT_EQ(calls(), 3U);  // Where there is nothing, a log may have been removed.
  // What may have been lost is looked for.
  const std::uint64_t known = memory_->limits().may_forget ? 2 : 1;
  append({"b"});
  EXPECT_EQ(calls(), known);
  for (int i = 0; i < 500; ++i) append({"c", "d"});
  calls();
  append({"e"}, {.batch = "id"});
  EXPECT_EQ(calls(), memory_->limits().writes_per_commit == 1 ? 3 : known);
  LocalLog other(*faulty_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(as<Appended>(other.append("s", events({"f"}))).first, 1'004);
  EXPECT_EQ(calls(), 2U);
  EXPECT_EQ(text({.from = 700, .limit = 1}), "700:d");
  EXPECT_LE(calls(), 3U);
}

TEST_F(LogTest, AnEndThatIsKnownNoMoreLosesThereAndGoesOnFromTheWinner) {
  append({"a"});
  LocalLog other(*faulty_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(as<Appended>(other.append("s", events({"b", "c"}))).first, 2);
  calls();
  EXPECT_EQ(append({"d"}).first, 4);
  EXPECT_EQ(calls(), 2U);
  EXPECT_EQ(text(), "1:a 2:b 3:c 4:d");
}

TEST_F(LogTest, AnEndThatIsKnownNoMoreRefusesNobodyWhoKnowsBetter) {
  append({"a"});
  LocalLog other(*faulty_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(as<Appended>(other.append("s", events({"b"}))).first, 2);
  EXPECT_EQ(append({"c"}, {.expect = 3}).first, 3);
  EXPECT_EQ(as<NotNext>(other.append("s", events({"d"}), {.expect = 3})).next, 4);
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
  LocalLog log(store, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(as<Appended>(log.append("s", events({"a"}))).first, 1);
  const Write lost = erase({logs::batch_partition(logs::stream("default", "s")), 1}, anything());
  ASSERT_TRUE(memory_->commit({&lost, 1}).has_value());
  EXPECT_EQ(as<Appended>(log.append("s", events({"b"}))).first, 1);
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
  EXPECT_EQ(as<Appended>(log_.append("s", std::vector<LogEvent>(10'000))).last, 10'000);
  EXPECT_EQ(log_.read("s", {.limit = 10'000})->events.size(), 10'000U);
}

TEST_F(LogTest, H2_ExpectIsOnlyComparedWithWhereTheLogEnds) {
  append({"a", "b", "c"});
  for (const std::int64_t expect : {1, 2, 3, 5, 500, -1}) {
    const auto refused = as<NotNext>(log_.append("s", events({"x"}), {.expect = expect}));
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

// With one write per commit: the id is written, then its appender dies.
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
  LocalLog in_steps_{single_, "default", LogStrategy::conditional, clock_, entropy_};
};

TEST_F(LogInSteps, H5_ARepeatWritesTheBatchWhereItsIdSays) {
  EXPECT_EQ(as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).first, 2);
  append({"d"});
  EXPECT_TRUE(as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).replayed);
  EXPECT_EQ(text(), "1:a 2:b 3:c 4:d");
}

TEST_F(LogInSteps, H5_TheIdMovesOnlyWhenAnothersBatchStandsThere) {
  append({"x"});
  EXPECT_EQ(as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).first, 3);
  EXPECT_TRUE(as<Appended>(in_steps_.append("s", events({"b", "c"}), {.batch = "id"})).replayed);
  EXPECT_EQ(text(), "1:a 2:x 3:b 4:c");
}

TEST_F(LogTest, ARepeatThatExpectsItsOwnPlaceIsAReplay) {
  append({"a"}, {.batch = "id", .expect = 1});
  EXPECT_TRUE(append({"a"}, {.batch = "id", .expect = 1}).replayed);
}

TEST_F(LogTest, OtherEventsUnderTheSameIdAreRefused) {
  append({"a"}, {.batch = "id"});
  as<OtherBatch>(log_.append("s", events({"b"}), {.batch = "id"}));
  as<OtherBatch>(log_.append("s", events({"a", "b"}), {.batch = "id"}));
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
  append({"x"});
  // From now on the end is known, so that a commit is the first call, if the store forgets nothing.
  const std::vector<Fault> before(memory_->limits().may_forget ? 1 : 0, Fault::none);
  for (const Fault fault : {Fault::fail_after, Fault::lose_reply, Fault::land_late}) {
    std::vector<Fault> faults = before;
    faults.push_back(fault);
    faulty_->script(faults);
    append({"x"});
  }
  EXPECT_EQ(text(), "1:x 2:x 3:x 4:x");
}

TEST_F(LogTest, AnAttemptGivesUpAfterItsLifeAndSaysThatItDoesNotKnow) {
  std::vector<Fault> faults(1'000, Fault::lose_reply);
  faults[0] = faults[1] = Fault::none;  // The scan for the end, and whether a log was removed.
  faulty_->script(faults);
  const Time start = clock_.now();
  EXPECT_EQ(log_.append("s", events({"a"})).error().code, ErrorCode::unknown);
  EXPECT_LE(clock_.now() - start, kAttemptLife + 1min);
}

TEST_F(LogTest, StreamsAndNamespacesAreApart) {
  append({"a"});
  LocalLog other(*memory_, "other", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(as<Appended>(other.append("s", events({"x"}))).first, 1);
  EXPECT_EQ(as<Appended>(log_.append("s/t", events({"y"}))).first, 1);
  EXPECT_EQ(text(), "1:a");
}

TEST_F(LogTest, ADamagedRecordIsCorruptAndNeverSkipped) {
  append({"a"});
  Write damage =
      put({logs::batch_partition(logs::stream("default", "s")), 1}, Bytes("junk"), anything());
  damage.version = {7};
  ASSERT_TRUE(memory_->commit({&damage, 1}).has_value());
  EXPECT_EQ(log_.read("s").error().code, ErrorCode::corrupt);
  LocalLog other(*memory_, "default", LogStrategy::conditional, clock_, entropy_);
  EXPECT_EQ(other.append("s", events({"b"})).error().code, ErrorCode::corrupt);
  EXPECT_EQ(log_.ends("s").error().code, ErrorCode::corrupt);
}

class LogStrategies : public LogFixture, public ::testing::WithParamInterface<LogStrategy> {};

// The promises that hold for every strategy.
TEST_P(LogStrategies, AppendReadRepeatAndTrim) {
  ONCE_NEEDS_WRITES(*memory_, GetParam() == LogStrategy::transaction ? 2U : 1U);
  LocalLog log(*memory_, "default", GetParam(), clock_, entropy_);
  EXPECT_EQ(as<Appended>(log.append("s", events({"a", "b"}))).first, 1);
  EXPECT_EQ(as<Appended>(log.append("s", events({"c"}), {.batch = "id"})).first, 3);
  EXPECT_EQ(as<Appended>(log.append("s", events({"d"}))).first, 4);
  const auto again = as<Appended>(log.append("s", events({"c"}), {.batch = "id"}));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.first, 3);
  as<OtherBatch>(log.append("s", events({"x"}), {.batch = "id"}));
  const LogPage page = log.read("s").value();
  EXPECT_EQ(page.events.size(), 4U);
  EXPECT_EQ(page.next, 5);
  EXPECT_EQ(log.read("s", {.from = 4, .limit = 1})->events[0].data, "d");
  const LogEnds ends = log.trim("s", 3).value();
  EXPECT_EQ(ends.oldest, 3);
  EXPECT_EQ(ends.next, 5);
  EXPECT_EQ(log.read("s")->events.front().data, "c");
}

INSTANTIATE_TEST_SUITE_P(Each, LogStrategies,
                         ::testing::Values(LogStrategy::conditional, LogStrategy::transaction,
                                           LogStrategy::reserve));

TEST_F(LogFixture, H4_StrategiesOfOneNameAreTwoStreams) {
  LocalLog reserving(*memory_, "default", LogStrategy::reserve, clock_, entropy_);
  append({"a"}, {.batch = "id"});
  const auto first = as<Appended>(reserving.append("s", events({"x"}), {.batch = "id"}));
  EXPECT_FALSE(first.replayed);
  EXPECT_EQ(first.first, 1);
  EXPECT_EQ(text(), "1:a");
}

class LogReserve : public LogFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(reserving_.append("s", events({"a"})).has_value()); }

  // An appender that dies between reserving and writing.
  void reserve_and_die(std::int64_t count) {
    Write write = add(logs::head_key(logs::stream("default", "s", LogStrategy::reserve)), count);
    write.version = entropy_.version();
    ASSERT_TRUE(memory_->commit({&write, 1}).has_value());
  }

  LocalLog reserving_{*faulty_, "default", LogStrategy::reserve, clock_, entropy_};
};

TEST_F(LogReserve, ReadersStopBeforeARangeThatIsNotWritten) {
  reserve_and_die(2);
  ASSERT_TRUE(reserving_.append("s", events({"d"})).has_value());
  EXPECT_EQ(reserving_.read("s")->events.size(), 1U);
  EXPECT_EQ(reserving_.read("s")->next, 2);
  EXPECT_TRUE(reserving_.read("s", {.from = 4})->events.empty());
  EXPECT_EQ(reserving_.read("s", {.from = 4, .order = Direction::descending})->events.size(), 1U);
  EXPECT_EQ(reserving_.ends("s")->next, 2);
}

TEST_F(LogReserve, H3_ACrashedRangeReadsAsVoidAfterItsGrace) {
  reserve_and_die(2);
  ASSERT_TRUE(reserving_.append("s", events({"d"})).has_value());
  const Time start = clock_.now();
  EXPECT_EQ(reserving_.heal("s").value(), 2);
  EXPECT_EQ(clock_.now() - start, 5s);
  const LogPage page = reserving_.read("s").value();
  ASSERT_EQ(page.events.size(), 4U);
  EXPECT_TRUE(page.events[1].is_void);
  EXPECT_TRUE(page.events[2].is_void);
  EXPECT_EQ(page.events[3].data, "d");
  EXPECT_EQ(page.next, 5);
  EXPECT_EQ(reserving_.heal("s").value(), 0);
}

TEST_F(LogReserve, H3_ALateWriterLosesToAVoid) {
  reserve_and_die(1);
  ASSERT_EQ(reserving_.heal("s", 0s).value(), 1);
  Write late = put({logs::batch_partition(logs::stream("default", "s", LogStrategy::reserve)), 2},
                   Bytes("x"), absent_lasting());
  late.version = entropy_.version();
  EXPECT_FALSE(committed(*memory_->commit({&late, 1})));
  EXPECT_EQ(as<Appended>(reserving_.append("s", events({"b"}))).first, 3);
}

TEST_F(LogReserve, H3_ExpectIsRefused) {
  EXPECT_EQ(reserving_.append("s", events({"b"}), {.expect = 2}).error().code, ErrorCode::invalid);
}

TEST_F(LogReserve, VoidsDoNotKeepOldEventsFromGoing) {
  ASSERT_TRUE(reserving_.append("s", events({"b"}), {.ttl = 1s}).has_value());
  reserve_and_die(1);
  ASSERT_EQ(reserving_.heal("s").value(), 1);
  ASSERT_EQ(reserving_.trim("s", 2)->oldest, 2);
  EXPECT_EQ(reserving_.ends("s")->oldest, 4);
}

TEST_F(LogTest, H7_EventsWithIdsWhoseReplyIsLostAreStoredOnce) {
  const auto append = [&](std::vector<std::string> ids) {
    std::vector<LogEvent> events;
    for (const std::string& id : ids) events.push_back({id, std::nullopt});
    auto outcome = log_.append_events("s", events, {.ids = ids});
    // The fault met a read, on a store with one write per commit: the caller asks again.
    if (!outcome && outcome.error().code == ErrorCode::unavailable) {
      outcome = log_.append_events("s", events, {.ids = ids});
    }
    return std::get<logs::AppendedEvents>(outcome.value()).indexes;
  };
  ASSERT_EQ(append({"a", "b"}), (std::vector<std::int64_t>{1, 2}));
  const auto expect_once = [&](std::initializer_list<Fault> faults) {
    meet(faults);
    EXPECT_EQ(append({"b", "c"}), (std::vector<std::int64_t>{2, 3}));
    meet({});
    faulty_->deliver_late();
  };
  for (const Fault fault : {Fault::fail_after, Fault::land_late}) {
    expect_once({Fault::none, fault});
    expect_once({Fault::none, Fault::none, fault});
    expect_once({Fault::none, Fault::none, Fault::none, fault});
  }
  EXPECT_EQ(text(), "1:a 2:b 3:c");
}

TEST_F(LogTest, AnIdOfAnEventIsKnownForItsTime) {
  const logs::EventIds ids{.ids = {"a"}, .ttl = std::chrono::minutes(5)};
  const auto index = [&] {
    const auto outcome = log_.append_events("s", events({"x"}), ids);
    return std::get<logs::AppendedEvents>(outcome.value()).indexes.at(0);
  };
  EXPECT_EQ(index(), 1);
  clock_.advance(std::chrono::minutes(4));
  EXPECT_EQ(index(), 1);
  clock_.advance(std::chrono::minutes(2));
  EXPECT_EQ(index(), 2);
}

}  // namespace
}  // namespace once
