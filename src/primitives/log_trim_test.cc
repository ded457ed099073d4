#include "once/memory_store.h"
#include "primitives/log_fixture.h"
#include "testing/code_of.h"
#include "testing/limited_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using State = logs::LogRecord::State;

using LogTrim = LogFixture;

TEST_F(LogTrim, ReadingBelowTheOldestStartsThere) {
  append({"a", "b", "c"});
  append({"d"});
  const Result<LogEnds> ends = log_.trim("s", 3);
  EXPECT_EQ(ends->oldest, 3);
  EXPECT_EQ(ends->next, 5);
  EXPECT_EQ(text(), "3:c 4:d");
  EXPECT_EQ(text({.from = 9, .order = Direction::descending}), "4:d 3:c");
  EXPECT_EQ(log_.ends("s")->oldest, 3);
}

TEST_F(LogTrim, NeverGoesBackNorBeyondTheEnd) {
  append({"a", "b"});
  EXPECT_EQ(log_.trim("s", 500)->oldest, 3);
  EXPECT_EQ(log_.trim("s", 1)->oldest, 3);
  EXPECT_EQ(text(), "");
  EXPECT_EQ(log_.read("s")->next, 3);
  EXPECT_EQ(append({"c"}).first, 3);
  EXPECT_EQ(text(), "3:c");
}

TEST_F(LogTrim, H1_ABatchYoungerThanAnAttemptKeepsItsRecord) {
  append({"a"});
  append({"b"});
  const Version version = records()[0].version;
  log_.trim("s", 3);
  EXPECT_EQ(records()[0].version, version);
  clock_.advance(kAttemptLife + 1ms);
  log_.trim("s", 3);
  EXPECT_EQ(records()[0].record.state, State::trimmed);
  EXPECT_EQ(records()[0].record.count, 1);
}

TEST_F(LogTrim, H1_AKeyIsTakenLongAfterItsBatchIsTrimmed) {
  append({"a"});
  append({"b", "c"});
  clock_.advance(1h);
  log_.trim("s", 4);
  ASSERT_EQ(records().size(), 2U);
  Write stalled =
      put({logs::batch_partition(logs::stream("default", "s")), 2}, Bytes("x"), absent());
  stalled.version = {99};
  const Result<CommitOutcome> outcome = memory_->commit({&stalled, 1});
  EXPECT_FALSE(committed(*outcome));
  EXPECT_EQ(append({"d"}).first, 4);
}

TEST_F(LogTrim, H1_OldRecordsGoLowestFirstAndTheNewestStaysForEver) {
  append({"a"}, {.batch = "id"});
  append({"b"});
  append({"c", "d"});
  clock_.advance(kBatchMemory);
  log_.trim("s", 5);
  EXPECT_EQ(records().size(), 3U);
  clock_.advance(1h);
  log_.trim("s", 5);
  ASSERT_EQ(records().size(), 1U);
  EXPECT_EQ(records()[0].record.state, State::trimmed);
  clock_.advance(std::chrono::years(1));
  log_.trim("s", 5);
  EXPECT_EQ(records().size(), 1U);
  EXPECT_EQ(log_.ends("s")->next, 5);
  EXPECT_EQ(append({"e"}).first, 5);
  EXPECT_EQ(text(), "5:e");
}

TEST_F(LogTrim, ARepeatOfATrimmedBatchIsStillAReplay) {
  append({"a", "b"}, {.batch = "id"});
  clock_.advance(1h);
  log_.trim("s", 3);
  const Appended again = append({"a", "b"}, {.batch = "id"});
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.first, 1);
}

TEST_F(LogTrim, LongPrefixesAreFreedByAndBy) {
  for (int i = 0; i < 600; ++i) append({"x"});
  clock_.advance(1h);
  log_.trim("s", 601);
  log_.trim("s", 601);
  log_.trim("s", 601);
  for (const logs::StoredRecord& record : records()) EXPECT_EQ(record.record.state, State::trimmed);
  EXPECT_EQ(text(), "");
}

TEST_F(LogTrim, EventsGoWhenTheirTtlIsOver) {
  append({"a"}, {.ttl = 10min});
  append({"b"}, {.ttl = 20min});
  append({"c"});
  EXPECT_EQ(text(), "1:a 2:b 3:c");
  clock_.advance(10min);
  EXPECT_EQ(text(), "2:b 3:c");
  clock_.advance(10min);
  EXPECT_EQ(log_.ends("s")->oldest, 3);
  EXPECT_EQ(text(), "3:c");
}

TEST_F(LogTrim, AnEventOutlivesItsTtlWhileAnOlderOneIsKept) {
  append({"a"}, {.ttl = 20min});
  append({"b"}, {.ttl = 10min});
  clock_.advance(10min);
  EXPECT_EQ(text(), "1:a 2:b");
  clock_.advance(10min);
  EXPECT_EQ(text(), "");
  EXPECT_EQ(log_.read("s")->next, 3);
}

TEST_F(LogTrim, H1_ExpiredEventsFreeNoIndex) {
  append({"a", "b"}, {.ttl = 1s});
  clock_.advance(std::chrono::years(1));
  EXPECT_EQ(log_.ends("s")->oldest, 3);
  EXPECT_EQ(append({"c"}).first, 3);
  EXPECT_EQ(text(), "3:c");
}

// Items of batch ids expire; items of batches never do, whatever their ttl.
TEST_F(LogTrim, H17_AFullStoreRefusesEventsAndEvictsNone) {
  const auto small = open_memory({.max_bytes = 64U << 10}, clock_);
  LocalLog log(*small, "default", LogStrategy::conditional, clock_, entropy_);
  std::int64_t appended = 0;
  Result<AppendOutcome> outcome = Appended{};
  while (outcome && appended < 10'000) {
    const std::string id = std::to_string(appended);
    outcome = log.append("s", events({"some bytes"}), {.batch = id, .ttl = 1h});
    if (outcome) appended = as<Appended>(outcome).last;
  }
  EXPECT_EQ(testing::code_of(outcome), ErrorCode::unavailable);
  EXPECT_GT(small->usage().evicted, 0U);
  EXPECT_EQ(log.read("s", {.limit = 10'000})->events.size(), static_cast<std::size_t>(appended));
}

TEST_F(LogTrim, AppendersAloneFreeTheRoomOfWhatExpired) {
  const std::size_t count = testing::as_many_as(2'000, 500);
  for (std::size_t i = 0; i < count; ++i) {
    append({"some bytes"}, {.ttl = 1s});
    clock_.advance(1s);
  }
  std::size_t whole = 0;
  for (const logs::StoredRecord& record : records()) whole += record.record.state == State::batch;
  EXPECT_LT(whole, count / 2);
}

// A store that only scans downwards, as S3 does: following records are read by key.
class LogDownwards : public LogFixture {
 protected:
  static Limits downwards(Limits limits) {
    limits.scans_ascending = false;
    limits.writes_per_commit = 1;
    return limits;
  }

  std::string read(const LogRead& request = {}) {
    std::string all;
    const Result<LogPage> page = below_.read("s", request);
    if (!page) return page.error().message;
    for (const LogEntry& event : page->events) all += std::to_string(event.index) + event.data;
    return all;
  }

  testing::LimitedStore store_{*faulty_, downwards(faulty_->limits())};
  LocalLog below_{store_, "default", LogStrategy::conditional, clock_, entropy_};
};

TEST_F(LogDownwards, ReadsForwardFromAnyIndexOverBatchesOfAnyLength) {
  std::string all;
  for (int i = 0, index = 1; i < 60; ++i) {
    std::vector<LogEvent> batch;
    for (int of = 0; of < (i < 30 ? 1 : 1 + i % 4); ++of, ++index) {
      batch.push_back({"e", std::nullopt});
      all += std::to_string(index) + "e";
    }
    ASSERT_TRUE(below_.append("s", batch).has_value());
  }
  EXPECT_EQ(read({.limit = 1'000}), all);
  EXPECT_EQ(read({.from = 2, .limit = 1'000}), all.substr(2));
  EXPECT_EQ(read({.from = 32, .limit = 3}), "32e33e34e");
  EXPECT_EQ(read({.from = 1'000}), "");
  EXPECT_EQ(read({.from = 3, .limit = 9, .order = Direction::descending}), "3e2e1e");
}

TEST_F(LogDownwards, TrimsAndFreesTheLowestFirst) {
  for (const char* const data : {"a", "b", "c", "d"}) append({data});
  EXPECT_EQ(below_.trim("s", 4)->oldest, 4);
  EXPECT_EQ(read(), "4d");
  clock_.advance(kAttemptLife + 1ms);
  below_.trim("s", 4);
  ASSERT_EQ(records().size(), 4U);
  EXPECT_EQ(records()[2].record.state, State::trimmed);
  EXPECT_EQ(records()[3].record.state, State::batch);
  clock_.advance(kBatchMemory + 1h);
  below_.trim("s", 4);
  ASSERT_FALSE(records().empty());
  EXPECT_LT(records().size(), 4U);
  EXPECT_EQ(read(), "4d");
  EXPECT_EQ(append({"e"}).first, 5);
}

TEST_F(LogDownwards, TheLowestAreErasedWithoutAWalkOverAllThatIsAboveThem) {
  const std::size_t count = testing::as_many_as(600, 300);
  for (std::size_t i = 0; i < count; ++i) append({"x"});
  const auto end = static_cast<std::int64_t>(count) + 1;
  clock_.advance(kAttemptLife + 1ms);
  for (int i = 0; i < 3; ++i) below_.trim("s", end);
  clock_.advance(kBatchMemory + 1h);
  const std::uint64_t scans = metered_->snapshot().scan.calls;
  below_.trim("s", end);
  below_.trim("s", end);
  // The newest, and the one that the oldest is in.
  EXPECT_EQ(metered_->snapshot().scan.calls - scans, 2 * 2U);
  constexpr std::size_t kErased = 2 * (logs::kPage - 1);
  EXPECT_EQ(records().size(), count > kErased ? count - kErased : 1);
}

// The process that erased them crashed before it raised the mark.
TEST_F(LogDownwards, WhereTheLowestAreIsFoundOutWhenNobodySaysSo) {
  for (const char* const data : {"a", "b", "c", "d"}) append({data});
  below_.trim("s", 4);
  clock_.advance(kAttemptLife + 1ms);
  below_.trim("s", 4);
  clock_.advance(kBatchMemory + 1h);
  Write write =
      erase({logs::batch_partition(logs::stream("default", "s", LogStrategy::conditional)), 1},
            anything());
  ASSERT_TRUE(memory_->commit({&write, 1}).has_value());
  below_.trim("s", 4);
  EXPECT_EQ(records().front().first, 4);
}

}  // namespace
}  // namespace once
