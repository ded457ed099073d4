// The number of a log's life ends when nothing is left that it keeps apart, and not before.
#include "primitives/log_life_number.h"

#include <functional>

#include "once/effects.h"
#include "once/memory_store.h"
#include "primitives/log_fixture.h"
#include "primitives/log_tidy.h"
#include "stores/decorators/decorator.h"
#include "testing/sealing_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;

// After so many commits the process is gone, and with it all that it would have sent.
class CrashingStore final : public Decorator<Store> {
 public:
  using Decorator::Decorator;
  int left = 0;

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    if (left-- <= 0) return failure(ErrorCode::unavailable, "crashed");
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    std::vector<Result<CommitOutcome>> outcomes;
    for (const Transaction& one : transactions) outcomes.push_back(do_commit(one));
    return outcomes;
  }
};

// Something happens before the commit that `countdown` says. After `left` more the process is gone.
class OvertakenStore final : public Decorator<Store> {
 public:
  using Decorator::Decorator;
  int countdown = 0;
  int left = 1'000;
  std::function<void()> meanwhile;

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    if (--countdown == 0) meanwhile();
    if (countdown <= 0 && left-- <= 0) return failure(ErrorCode::unavailable, "crashed");
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    std::vector<Result<CommitOutcome>> outcomes;
    for (const Transaction& one : transactions) outcomes.push_back(do_commit(one));
    return outcomes;
  }
};

class LogLifeNumber : public LogFixture {
 protected:
  static constexpr Duration kBeforeLastPart = logs::kLifeKept - 1h - 1ms;

  LocalLog log_on(Store& store, LogStrategy strategy = LogStrategy::conditional) {
    return LocalLog(store, "default", strategy, clock_, entropy_);
  }

  void fill_and_close(Log& log, std::string_view name = "s") {
    ASSERT_TRUE(log.append(name, events({"a", "b"}), {.batch = "id"}));
    ASSERT_TRUE(log.append(name, events({"c"})));
    ASSERT_TRUE(log.close(name).value());
  }

  void fill_and_remove(Log& log, std::string_view name = "s") {
    fill_and_close(log, name);
    ASSERT_EQ(log.remove(name).value(), LogRemoval::removed);
  }

  static std::string text_of(Log& log, std::string_view name = "s") {
    const Result<LogPage> page = log.read(name);
    if (!page) return page.error().message;
    std::string all;
    for (const LogEntry& event : page->events) all += event.data;
    return all;
  }

  logs::LifeNumber life(LogStrategy strategy = LogStrategy::conditional) {
    return run(logs::read_life(logs::stream("default", "s", strategy)));
  }

  template <class T>
  T run(Plan<T> plan) {
    return BlockingDriver(*memory_, clock_, entropy_).run(std::move(plan)).value();
  }

  void commit_now(Write write) {
    write.version = entropy_.version();
    ASSERT_TRUE(committed(*memory_->commit({&write, 1})));
  }

  LocalLog other_{*faulty_, "default", LogStrategy::conditional, clock_, entropy_};
};

TEST_F(LogLifeNumber, NothingIsLeftOfARemovedLogAndItsNameBeginsAgain) {
  std::vector<LogStrategy> strategies = {LogStrategy::conditional};
  if (memory_->limits().writes_per_commit > 1) strategies.push_back(LogStrategy::transaction);
  for (const LogStrategy strategy : strategies) {
    LocalLog log = log_on(*memory_, strategy);
    fill_and_remove(log);
    fill_and_remove(log);
    EXPECT_EQ(life(strategy).number, 2);
    EXPECT_NE(life(strategy).expiry, kNever);
    clock_.advance(logs::kLifeKept);
    EXPECT_EQ(testing::items_in(*memory_), 0U);
    EXPECT_EQ(as<Appended>(log.append("s", events({"a", "b"}), {.batch = "id"})).first, 1);
    EXPECT_EQ(as<Appended>(log.append("s", events({"x"}))).first, 3);
    EXPECT_EQ(text_of(log), "abx");
    EXPECT_EQ(life(strategy).number, 0);
    ASSERT_TRUE(log.close("s").value());
    ASSERT_EQ(log.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
    EXPECT_EQ(testing::items_in(*memory_), 0U);
  }
}

TEST_F(LogLifeNumber, NothingIsLeftOfAClosedLogWhoseTimeIsOver) {
  append({"a"});
  ASSERT_TRUE(log_.close("s", 10min).value());
  clock_.advance(10min);
  EXPECT_EQ(text(), "");
  clock_.advance(logs::kLifeKept);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_F(LogLifeNumber, ItLastsWhileThereIsALogOfThatLife) {
  for (const Duration after : {Duration::zero(), Duration(1h), kBeforeLastPart}) {
    fill_and_remove(log_);
    clock_.advance(after);
    EXPECT_EQ(append({"x"}).first, 1);
    EXPECT_EQ(life().expiry, kNever);
    clock_.advance(2 * logs::kLifeKept);
    EXPECT_EQ(text(), "1:x");
    EXPECT_EQ(as<Appended>(other_.append("s", events({"y"}))).first, 2);
    EXPECT_EQ(text(), "1:x 2:y");
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
  }
}

// To make it last could arrive too late there.
TEST_F(LogLifeNumber, InItsLastHourTheNameBeginsAgainWithoutIt) {
  fill_and_remove(log_);
  clock_.advance(kBeforeLastPart + 1ms);
  EXPECT_EQ(append({"x"}).first, 1);
  EXPECT_EQ(life().number, 0);
  EXPECT_EQ(as<Appended>(other_.append("s", events({"y"}))).first, 2);
  clock_.advance(2h);
  EXPECT_EQ(text(), "1:x 2:y");
}

TEST_F(LogLifeNumber, H1_AnAppenderThatHasReadItAndWasOvertakenMeetsTheLogThatIsThereNow) {
  fill_and_remove(log_);
  clock_.advance(kBeforeLastPart);
  OvertakenStore overtaken(*memory_);
  overtaken.countdown = 1;
  overtaken.meanwhile = [this] {
    clock_.advance(1ms);
    EXPECT_EQ(append({"x"}).first, 1);
  };
  LocalLog stalled = log_on(overtaken);
  EXPECT_EQ(as<Appended>(stalled.append("s", events({"y"}))).first, 2);
  clock_.advance(2h);
  EXPECT_EQ(text(), "1:x 2:y");
}

TEST_F(LogLifeNumber, LostRepliesOfMakingItLastDoNoHarm) {
  for (const Fault fault : {Fault::fail_after, Fault::land_late}) {
    fill_and_remove(log_);
    clock_.advance(2h);
    // The newest record of the first life, the number, and of the next life.
    meet({Fault::none, Fault::none, Fault::none, fault});
    EXPECT_EQ(as<Appended>(other_.append("s", events({"x"}))).first, 1);
    EXPECT_EQ(life().expiry, kNever);
    faulty_->deliver_late();
    EXPECT_EQ(text(), "1:x");
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
  }
}

TEST_F(LogLifeNumber, EveryWayToAppendMakesItLast) {
  const auto expect_lasts = [this](const std::function<bool()>& append_one) {
    fill_and_remove(log_);
    EXPECT_NE(life().expiry, kNever);
    EXPECT_TRUE(append_one());
    EXPECT_EQ(life().expiry, kNever);
    clock_.advance(2 * logs::kLifeKept);
    EXPECT_EQ(text(), "1:x");
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
    EXPECT_EQ(testing::items_in(*memory_), 0U);
  };
  expect_lasts([&] { return other_.append("s", events({"x"})).has_value(); });
  expect_lasts([&] { return other_.append("s", events({"x"}), {.batch = "b"}).has_value(); });
  expect_lasts([&] { return other_.append("s", events({"x"}), {.expect = 1}).has_value(); });
  expect_lasts([&] { return other_.append_events("s", events({"x"}), {{"e"}}).has_value(); });
  if (memory_->limits().writes_per_commit == 1) return;
  expect_lasts([&] {
    effects::Request request{.effects = Effects().append("s", "x")};
    BlockingDriver driver(*memory_, clock_, entropy_);
    return driver.run(effects::commit(std::move(request))).has_value();
  });
  // What is prepared is recorded in a home of its own.
  if (memory_->limits().one_home_per_commit) return;
  expect_lasts([&] {
    testing::SealingStore sealing(*memory_);
    BlockingDriver driver(sealing, clock_, entropy_);
    const auto sealed = driver.run(effects::prepare({.effects = Effects().append("s", "x")}));
    return committed(sealing.apply(std::get<effects::Sealed>(sealed.value()).token).value());
  });
}

// Ids can be known for 30 days: nobody may be told that an event of a later log was stored by one
// of the first.
TEST_F(LogLifeNumber, ItOutlastsTheIdsOfTheRemovedLog) {
  const logs::EventIds ids{{"e"}, std::chrono::days(30)};
  ASSERT_TRUE(log_.append_events("s", events({"a"}), ids));
  ASSERT_TRUE(log_.close("s").value());
  ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
  for (const Duration step : {Duration(1h), Duration(23h), logs::kLifeKept - 24h}) {
    clock_.advance(step);
    const auto again = as<logs::AppendedEvents>(other_.append_events("s", events({"b"}), ids));
    EXPECT_TRUE(again.appended.has_value());
    EXPECT_EQ(text(), "1:b");
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
  }
}

TEST_F(LogLifeNumber, AfterACrashAtAnyStepTheRemovalCanBeRepeated) {
  for (int step = 0;; ++step) {
    fill_and_close(log_);
    CrashingStore crashing(*memory_);
    crashing.left = step;
    LocalLog log = log_on(crashing);
    const bool ended = log.remove("s").has_value() && crashing.left >= 0;
    EXPECT_TRUE(log_.remove("s").has_value()) << step;
    EXPECT_EQ(text(), "");
    EXPECT_EQ(append({"x"}, {.batch = "id"}).first, 1) << step;
    EXPECT_EQ(text(), "1:x") << step;
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
    EXPECT_EQ(testing::items_in(*memory_), 0U) << step;
    if (!ended) continue;
    EXPECT_GT(step, 10);
    break;
  }
}

TEST_F(LogLifeNumber, WhatACrashLeavesOfALogExpiresOrIsRemovedByTheNextCallThatLooksForItsEnd) {
  for (int step = 0;; ++step) {
    fill_and_close(log_);
    CrashingStore crashing(*memory_);
    crashing.left = step;
    LocalLog log = log_on(crashing);
    const bool ended = log.remove("s").has_value() && crashing.left >= 0;
    clock_.advance(logs::kLifeKept);
    if (testing::items_in(*memory_) > 0) {
      EXPECT_LT(step, 11) << "the end of the log lasts";
      EXPECT_EQ(text(), step == 0 ? "1:a 2:b 3:c" : "") << step;
      EXPECT_TRUE(step > 1 ? log_.ends("s").has_value() : log_.remove("s").has_value());
      clock_.advance(logs::kLifeKept);
    }
    EXPECT_EQ(testing::items_in(*memory_), 0U) << step;
    EXPECT_EQ(append({"x"}, {.batch = "id"}).first, 1) << step;
    EXPECT_EQ(text(), "1:x") << step;
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
    if (ended) break;
  }
}

TEST_F(LogLifeNumber, TwoRemovalsAtOnceHarmNeitherEachOtherNorTheNextLog) {
  for (int step = 1;; ++step) {
    fill_and_close(log_);
    OvertakenStore overtaken(*memory_);
    overtaken.countdown = step;
    overtaken.meanwhile = [this] {
      EXPECT_TRUE(log_.remove("s").has_value());
      EXPECT_EQ(append({"x"}).first, 1);
    };
    LocalLog slow = log_on(overtaken);
    EXPECT_TRUE(slow.remove("s").has_value()) << step;
    if (overtaken.countdown > 0) {
      append({"x"});
    }
    EXPECT_EQ(text(), "1:x") << step;
    clock_.advance(logs::kRecordsKept + 1min);
    EXPECT_EQ(as<Appended>(other_.append("s", events({"y"}))).first, 2) << step;
    EXPECT_EQ(text(), "1:x 2:y") << step;
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
    EXPECT_EQ(testing::items_in(*memory_), 0U) << step;
    if (overtaken.countdown > 0) break;
  }
}

// All that the slow one still writes must be gone before the end of the old log is.
TEST_F(LogLifeNumber, ARemovalThatIsOvertakenAndCrashesDoesNotBringTheOldLogBack) {
  bool crashed = true;
  for (int left = 0; crashed; ++left) {
    fill_and_close(log_);
    OvertakenStore overtaken(*memory_);
    overtaken.countdown = 1;
    overtaken.left = left;
    overtaken.meanwhile = [this] {
      EXPECT_TRUE(log_.remove("s").has_value());
      EXPECT_EQ(append({"x"}).first, 1);
      clock_.advance(30s);
    };
    LocalLog slow = log_on(overtaken);
    crashed = !slow.remove("s").has_value();
    for (const Duration step : {Duration(1s), logs::kRecordsKept - 30s, Duration(1min)}) {
      clock_.advance(step);
      EXPECT_EQ(text(), "1:x") << left;
      EXPECT_EQ(other_.ends("s").value().next, 2) << left;
    }
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
    EXPECT_EQ(testing::items_in(*memory_), 0U) << left;
  }
}

TEST_F(LogLifeNumber, AMarkThatIsRaisedLateDoesNotHideALaterLog) {
  const logs::Stream first = logs::stream("default", "s");
  fill_and_remove(log_);
  for (const logs::Mark mark : {logs::Mark::oldest, logs::Mark::closed, logs::Mark::tidied}) {
    run(logs::raise_mark(first, mark, 4));
  }
  clock_.advance(logs::kLifeKept);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
  append({"x"});
  EXPECT_EQ(text(), "1:x");
}

TEST_F(LogLifeNumber, H17_NeitherItNorTheOldEndMakesWayForOthers) {
  const auto bounded = open_memory({.max_bytes = 256U << 10}, clock_);
  LocalLog log = log_on(*bounded);
  fill_and_remove(log);
  for (int i = 0; i < 5'000; ++i) {
    Write flood =
        put({{"flood", std::to_string(i)}, 0}, Bytes(100, 'x'), anything(), clock_.now() + 24h);
    flood.version = entropy_.version();
    ASSERT_TRUE(bounded->commit({&flood, 1}).has_value());
  }
  EXPECT_GT(bounded->usage().evicted, 1'000U);
  const logs::Stream first = logs::stream("default", "s");
  EXPECT_TRUE(bounded->get(logs::life_key(first)).value().has_value());
  EXPECT_TRUE(bounded->get(Key{logs::batch_partition(first), 4}).value().has_value());
  EXPECT_TRUE(bounded->get(logs::mark_key(first, logs::Mark::oldest)).value().has_value());
}

TEST_F(LogLifeNumber, OneWithoutALogIsEndedByWhoeverTidies) {
  const logs::Stream stream = logs::stream("default", "s");
  commit_now(put(logs::life_key(stream), std::int64_t{7}, absent()));
  run(logs::tidy(stream));
  EXPECT_EQ(life().number, 8);
  EXPECT_NE(life().expiry, kNever);
  const logs::LifeNumber before = life();
  run(logs::tidy(stream));
  EXPECT_EQ(life().version, before.version);
  EXPECT_EQ(append({"x"}).first, 1);
  EXPECT_EQ(text(), "1:x");
  run(logs::tidy(stream));
  EXPECT_EQ(life().number, 8);
  EXPECT_EQ(life().expiry, kNever);
  ASSERT_TRUE(log_.close("s").value());
  ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
  clock_.advance(logs::kLifeKept);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_F(LogLifeNumber, H1_WhoIsAboutToBeginALogLosesToOneWhoEndsItsNumber) {
  const logs::Stream stream = logs::stream("default", "s");
  commit_now(put(logs::life_key(stream), std::int64_t{7}, absent()));
  OvertakenStore overtaken(*memory_);
  overtaken.countdown = 1;
  overtaken.meanwhile = [&] { run(logs::tidy(stream)); };
  LocalLog log = log_on(overtaken);
  EXPECT_EQ(as<Appended>(log.append("s", events({"x"}))).first, 1);
  EXPECT_EQ(life().number, 8);
  EXPECT_EQ(life().expiry, kNever);
  clock_.advance(2 * logs::kLifeKept);
  EXPECT_EQ(text(), "1:x");
}

// Earlier versions could leave these for ever.
TEST_F(LogLifeNumber, WhatIsLeftOverOfAnEarlierLifeHidesNothingOfALaterLog) {
  for (const std::int64_t dirty : {0, 1, 2}) {
    fill_and_remove(log_);
    append({"x"});
    logs::Stream earlier = logs::stream("default", "s");
    earlier.life = dirty == 1 ? 2 : dirty;
    commit_now(put(logs::mark_key(earlier, logs::Mark::oldest), std::int64_t{9}, anything()));
    commit_now(put(logs::head_key(earlier), std::int64_t{9}, anything()));
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    append({"y"});
    EXPECT_EQ(text(), "1:y") << dirty;
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
    append({"z"});
    EXPECT_EQ(text(), "1:z") << dirty;
    ASSERT_TRUE(log_.close("s").value());
    ASSERT_EQ(log_.remove("s").value(), LogRemoval::removed);
    clock_.advance(logs::kLifeKept);
  }
}

}  // namespace
}  // namespace once
