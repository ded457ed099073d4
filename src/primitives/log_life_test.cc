// The life of a log: closed, removed, begun again, listed.
#include <functional>

#include "primitives/log_append.h"
#include "primitives/log_fixture.h"
#include "stores/decorators/decorator.h"
#include "testing/code_of.h"
#include "testing/limited_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;

class LogLife : public LogFixture {
 protected:
  bool is_closed(LocalLog& log, const AppendRequest& request = {}) {
    const auto outcome = log.append("s", events({"late"}), request);
    return outcome && std::holds_alternative<LogClosed>(*outcome);
  }

  std::string names(std::string_view prefix = "") {
    std::string all;
    std::string cursor;
    do {
      const LogList page = log_.list(prefix, cursor, 2).value();
      for (const ListedLog& log : page.logs) {
        all += log.stream + ":" + std::to_string(log.ends.oldest) + "-" +
               std::to_string(log.ends.next) + (log.ends.closed ? "x " : " ");
      }
      cursor = page.cursor;
    } while (!cursor.empty());
    return all;
  }

  LocalLog other_{*faulty_, "default", LogStrategy::conditional, clock_, entropy_};
};

TEST_F(LogLife, NothingIsAppendedToAClosedLogAndItStaysReadable) {
  append({"a", "b"});
  const auto closed = log_.close("s").value();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(*closed, (LogEnds{1, 3, true}));
  EXPECT_TRUE(is_closed(log_));
  EXPECT_TRUE(is_closed(other_));
  EXPECT_TRUE(is_closed(other_, {.batch = "new"}));
  EXPECT_TRUE(is_closed(other_, {.batch = "new"}));
  EXPECT_EQ(text(), "1:a 2:b");
  EXPECT_EQ(text({.from = 9, .limit = 1, .order = Direction::descending}), "2:b");
  EXPECT_TRUE(log_.read("s", {.limit = 1})->closed);
  EXPECT_TRUE(log_.read("s", {.from = 3})->closed);
  EXPECT_EQ(log_.read("s", {.from = 3})->next, 3);
  EXPECT_EQ(log_.ends("s").value(), (LogEnds{1, 3, true}));
  EXPECT_EQ(log_.close("s", 5min).value(), closed);
}

TEST_F(LogLife, AKnownBatchIdIsStillAReplayInAClosedLog) {
  append({"a"}, {.batch = "id"});
  ASSERT_TRUE(log_.close("s").value());
  for (LocalLog* log : {&log_, &other_}) {
    const auto again = as<Appended>(log->append("s", events({"a"}), {.batch = "id"}));
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.first, 1);
  }
}

TEST_F(LogLife, WhatNeverWasCanBeNeitherClosedNorRemoved) {
  EXPECT_FALSE(log_.close("s").value().has_value());
  EXPECT_EQ(log_.remove("s").value(), LogRemoval::absent);
  append({"a"});
  EXPECT_EQ(log_.remove("s").value(), LogRemoval::open);
  EXPECT_EQ(text(), "1:a");
}

TEST_F(LogLife, ARemovedLogBeginsAgainAtOneWithoutItsIds) {
  append({"a", "b"}, {.batch = "id"});
  append({"c"});
  ASSERT_TRUE(log_.close("s").value());
  EXPECT_EQ(log_.remove("s").value(), LogRemoval::removed);
  EXPECT_EQ(log_.remove("s").value(), LogRemoval::absent);
  EXPECT_EQ(text(), "");
  EXPECT_EQ(log_.read("s")->next, 1);
  EXPECT_FALSE(log_.read("s")->closed);
  const auto again = as<Appended>(other_.append("s", events({"a", "b"}), {.batch = "id"}));
  EXPECT_FALSE(again.replayed);
  EXPECT_EQ(again.first, 1);
  EXPECT_EQ(append({"x"}).first, 3);
  EXPECT_EQ(text(), "1:a 2:b 3:x");
  EXPECT_EQ(log_.trim("s", 2)->oldest, 2);
  ASSERT_TRUE(log_.close("s").value());
  EXPECT_EQ(log_.remove("s").value(), LogRemoval::removed);
  EXPECT_EQ(append({"y"}).first, 1);
  EXPECT_EQ(text(), "1:y");
}

TEST_F(LogLife, AnIdOfARemovedLogIsNotBelievedByWhoStillKnowsItsEnd) {
  testing::LimitedStore store(*memory_, 1);
  LocalLog log(store, "default", LogStrategy::conditional, clock_, entropy_);
  ASSERT_FALSE(as<Appended>(log.append("s", events({"a"}), {.batch = "id"})).replayed);
  ASSERT_TRUE(as<Appended>(log.append("s", events({"a"}), {.batch = "id"})).replayed);
  ASSERT_TRUE(log_.close("s").value());
  ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
  EXPECT_FALSE(as<Appended>(log.append("s", events({"a"}), {.batch = "id"})).replayed);
  EXPECT_EQ(text(), "1:a");
}

// It knew the end of the first log, and where one write is all there is had written its id there.
TEST_F(LogLife, H1_AStalledAppenderOfARemovedLogMeetsTheLogThatIsThereNow) {
  append({"a"});
  ASSERT_EQ(as<Appended>(other_.append("s", events({"b"}))).first, 2);
  ASSERT_TRUE(log_.close("s").value());
  ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
  // Each believes in an end of the old log.
  EXPECT_EQ(append({"x"}).first, 1);
  EXPECT_EQ(as<Appended>(other_.append("s", events({"y"}), {.batch = "id"})).first, 2);
  EXPECT_EQ(text(), "1:x 2:y");
}

TEST_F(LogLife, H1_AWriteThatWasSentToTheOldLogFindsItsKeyTaken) {
  append({"a"});
  append({"b"});
  ASSERT_TRUE(log_.close("s").value());
  ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
  append({"x"});
  for (const std::int64_t at : {1, 2, 3}) {
    Write stalled =
        put({logs::batch_partition(logs::stream("default", "s")), at}, Bytes("late"), absent());
    stalled.version = entropy_.version();
    EXPECT_FALSE(committed(*memory_->commit({&stalled, 1}))) << at;
  }
  EXPECT_EQ(text(), "1:x");
}

TEST_F(LogLife, AfterItsTtlAClosedLogIsGone) {
  append({"a"});
  ASSERT_TRUE(log_.close("s", 10min).value());
  clock_.advance(10min - 1ms);
  EXPECT_EQ(text(), "1:a");
  clock_.advance(1ms);
  EXPECT_EQ(text(), "");
  EXPECT_EQ(names(), "");
  EXPECT_EQ(append({"b"}).first, 1);
  EXPECT_EQ(text(), "1:b");
}

TEST_F(LogLife, AfterItsTtlTheNextAppendBeginsAgain) {
  append({"a"});
  ASSERT_TRUE(log_.close("s", 10min).value());
  clock_.advance(10min);
  EXPECT_EQ(as<Appended>(other_.append("s", events({"b"}))).first, 1);
}

TEST_F(LogLife, EachLogIsListedOnceWithItsEnds) {
  for (const char* const name : {"a/1", "a/2", "b"}) {
    ASSERT_TRUE(log_.append(name, events({"x", "y"})).has_value());
    ASSERT_TRUE(log_.append(name, events({"z"}), {.batch = "id"}).has_value());
  }
  ASSERT_TRUE(log_.trim("a/2", 3).has_value());
  ASSERT_TRUE(log_.close("b").value());
  const std::string all = names();
  EXPECT_NE(all.find("a/1:1-4 "), std::string::npos) << all;
  EXPECT_NE(all.find("a/2:3-4 "), std::string::npos) << all;
  EXPECT_NE(all.find("b:1-4x "), std::string::npos) << all;
  EXPECT_EQ(all.size(), std::string("a/1:1-4 a/2:3-4 b:1-4x ").size()) << all;
  EXPECT_EQ(names("b"), "b:1-4x ");
  ASSERT_EQ(log_.remove("b").value(), LogRemoval::removed);
  EXPECT_EQ(names("b"), "");
  ASSERT_TRUE(log_.append("b", events({"x"})).has_value());
  EXPECT_EQ(names("b"), "b:1-2 ");
}

TEST_F(LogLife, SinceBeginsWithTheFirstEventOfThatTime) {
  std::vector<Time> times;
  for (int i = 1; i <= 9; ++i) {
    times.push_back(clock_.now());
    append({std::string("e") + std::to_string(i)});
    clock_.advance(1s);
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto page = log_.read("s", {.limit = 1, .since = times[i]});
    EXPECT_EQ(page->events.at(0).index, static_cast<std::int64_t>(i) + 1);
    const auto after = log_.read("s", {.limit = 1, .since = times[i] + 1ms});
    EXPECT_EQ(after->next, static_cast<std::int64_t>(std::min<std::size_t>(i + 3, 10)));
  }
  EXPECT_TRUE(log_.read("s", {.since = clock_.now()})->events.empty());
}

// Something happens before the scan that `countdown` says.
class InterruptedStore final : public Decorator<Store> {
 public:
  using Decorator::Decorator;
  int countdown = 0;
  std::function<void()> interruption;

 protected:
  Result<ScanPage> do_scan(const ScanRequest& request) override {
    if (--countdown == 0) interruption();
    return inner_.scan(request);
  }
};

TEST_F(LogLife, SinceSkipsWhatIsAppendedEarlierWhileItIsLookedFor) {
  append({"first"});
  InterruptedStore interrupted(*memory_);
  LocalLog log(interrupted, "default", LogStrategy::conditional, clock_, entropy_);
  int scans = 0;
  do {
    interrupted.countdown = ++scans;
    interrupted.interruption = [this] { append({"earlier"}); };
    EXPECT_TRUE(log.read("s", {.since = clock_.now() + 1h})->events.empty()) << scans;
  } while (interrupted.countdown <= 0);
  EXPECT_GT(scans, 3);
}

TEST_F(LogLife, ABatchLargerThanAnItemIsSplitAndAllOrNothing) {
  Limits small = memory_->limits();
  small.value_bytes = 1'000;
  if (small.writes_per_commit == 1) GTEST_SKIP() << "one write is all there is";
  testing::LimitedStore store(*memory_, small);
  LocalLog log(store, "default", LogStrategy::conditional, clock_, entropy_);
  std::vector<LogEvent> batch;
  for (int i = 0; i < 20; ++i) batch.push_back({Bytes(200, static_cast<char>('a' + i)), {}});
  EXPECT_EQ(as<Appended>(log.append("s", batch, {.batch = "id"})).last, 20);
  const auto again = as<Appended>(log.append("s", batch, {.batch = "id"}));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.last, 20);
  const LogPage page = log.read("s", {.limit = 100}).value();
  ASSERT_EQ(page.events.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(page.events[i].data, batch[i].data);
  EXPECT_GT(records().size(), 4U);
  EXPECT_EQ(testing::code_of(log.append("s", {{Bytes(1'000, 'x'), {}}})), ErrorCode::too_large);
}

}  // namespace
}  // namespace once
