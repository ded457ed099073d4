#include "primitives/log_fixture.h"

namespace once {
namespace {

using namespace std::chrono_literals;

class LogStrategies : public LogFixture, public ::testing::WithParamInterface<LogStrategy> {};

// The promises that do not depend on how an appender comes by its indexes.
TEST_P(LogStrategies, AppendReadRepeatAndTrim) {
  ONCE_NEEDS_WRITES(*memory_, GetParam() == LogStrategy::transaction ? 2U : 1U);
  Log log(*memory_, "default", GetParam(), clock_, entropy_);
  EXPECT_EQ(outcome_as<Appended>(log.append("s", events({"a", "b"}))).first, 1);
  EXPECT_EQ(outcome_as<Appended>(log.append("s", events({"c"}), {.batch = "id"})).first, 3);
  EXPECT_EQ(outcome_as<Appended>(log.append("s", events({"d"}))).first, 4);
  const auto again = outcome_as<Appended>(log.append("s", events({"c"}), {.batch = "id"}));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.first, 3);
  outcome_as<OtherBatch>(log.append("s", events({"x"}), {.batch = "id"}));
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
  Log reserving(*memory_, "default", LogStrategy::reserve, clock_, entropy_);
  append({"a"}, {.batch = "id"});
  const auto first = outcome_as<Appended>(reserving.append("s", events({"x"}), {.batch = "id"}));
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

  Log reserving_{*faulty_, "default", LogStrategy::reserve, clock_, entropy_};
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
  Write late = put({logs::batches(logs::stream("default", "s", LogStrategy::reserve)), 2},
                   Bytes("x"), absent_lasting());
  late.version = entropy_.version();
  EXPECT_FALSE(committed(*memory_->commit({&late, 1})));
  EXPECT_EQ(outcome_as<Appended>(reserving_.append("s", events({"b"}))).first, 3);
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

}  // namespace
}  // namespace once
