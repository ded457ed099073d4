// What was answered is there again, whatever happened in between.
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "stores/rocksdb/store_fixture.h"
#include "stores/rocksdb/watched_env.h"

namespace once {
namespace {

using Durable = RocksDbTest;

TEST_F(Durable, ReopeningKeepsItemsWithVersionAndExpiry) {
  open();
  const Time expiry = clock_.now() + std::chrono::hours(1);
  const Write number = versioned(add(key_of("number"), 41, anything(), expiry));
  const Write bytes = versioned(put(key_of("bytes"), Bytes("\0\xff", 2), absent()));
  for (const Write& write : {number, bytes}) ASSERT_TRUE(store_->commit({&write, 1}));
  open();
  EXPECT_EQ(store_->get(number.key).value(), (Item{std::int64_t{41}, number.version, expiry}));
  EXPECT_EQ(store_->get(bytes.key).value(), (Item{bytes.value, bytes.version, kNever}));
}

class Killed : public RocksDbTest {
 protected:
  void kill_rounds(const std::string& how, int rounds, int answers);
};

void Killed::kill_rounds(const std::string& how, int rounds, int answers) {
  std::int64_t next = 0;
  for (int round = 0; round < rounds; ++round) {
    testing::ChildProcess child(ROCKSDB_STORE_CHILD,
                                {how, options_.directory.string(), std::to_string(next)});
    for (int answered = 0; answered < answers; ++answered) ASSERT_TRUE(child.read_line());
    child.kill();
    std::int64_t last = next + answers - 1;
    while (const auto line = child.read_line()) last = std::stoll(*line);
    open();
    for (std::int64_t number = 0; number <= last; ++number) {
      ASSERT_TRUE(has(key_of("left", number)) && has(key_of("right", number))) << number;
    }
    next = last + 1;
    // The commit under way may be there, but whole; nothing may follow it.
    EXPECT_EQ(has(key_of("left", next)), has(key_of("right", next)));
    if (has(key_of("left", next))) ++next;
    EXPECT_FALSE(has(key_of("left", next)));
    close();
  }
}

TEST_F(Killed, EveryAnsweredCommitSurvivesKillNine) { kill_rounds("commit-until-killed", 5, 40); }

TEST_F(Killed, EveryAnsweredCommitSurvivesKillNineWhileTheLogGoesRound) {
  kill_rounds("commit-much-until-killed", 10, 37);
}

// Only power loss may take what a relaxed store answered.
TEST_F(Killed, EveryAnsweredRelaxedCommitSurvivesKillNine) {
  kill_rounds("commit-relaxed-until-killed", 5, 400);
}

TEST_F(Killed, EveryAnsweredRelaxedCommitSurvivesKillNineWhileTheLogGoesRound) {
  kill_rounds("commit-much-relaxed-until-killed", 5, 100);
}

// A crash between the database's writing and the log's being used again leaves such a directory.
TEST_F(Durable, ALogThatTheDatabaseHasInItsFilesAlreadyChangesNothing) {
  constexpr std::int64_t kCommits = 200;
  const auto copy = dir_.path() / "log";
  open();
  for (std::int64_t number = 0; number < kCommits; ++number) {
    ASSERT_TRUE(commit(add(key_of("count"), 1)));
    ASSERT_TRUE(commit(put(key_of("home"), Bytes(3'000, static_cast<char>(number)), anything())));
    ASSERT_TRUE(commit(put(key_of("gone", number), "value", absent())));
    ASSERT_TRUE(commit(erase(key_of("gone", number), anything())));
  }
  close();
  std::filesystem::create_directory(copy);
  for (const auto& segment : segments()) {
    std::filesystem::copy(segment, copy / segment.filename());
  }
  const std::size_t before = segments().size();
  open();  // There is so much of it that it is written out.
  close();
  ASSERT_LT(segments().size(), before);
  for (const auto& segment : segments()) std::filesystem::remove(segment);
  std::filesystem::copy(copy, options_.directory);
  for (int i = 0; i < 2; ++i) {
    open();
    EXPECT_EQ(store_->get(key_of("count")).value()->value, Value(kCommits));
    EXPECT_EQ(store_->get(key_of("home")).value()->value,
              Value(Bytes(3'000, static_cast<char>(kCommits - 1))));
    EXPECT_TRUE(store_->scan({.partition = {"gone", ""}}).value().entries.empty());
  }
}

TEST_F(Durable, ATornEndOfTheLogOpensWithWholeCommitsInOrder) {
  constexpr std::int64_t kCommits = 20;
  open();
  for (std::int64_t number = 0; number < kCommits; ++number) {
    const std::vector<Write> pair = {versioned(put(key_of("left", number), "value", absent())),
                                     versioned(put(key_of("right", number), "value", absent()))};
    ASSERT_TRUE(store_->commit(pair));
  }
  close();
  const std::filesystem::path whole = options_.directory;
  const auto [path, end] = log_and_end();
  const std::string log = path.filename().string();
  std::int64_t fewest = kCommits;
  for (const std::uintmax_t torn : {1U, 60U, 100U, 150U, 777U, 1'500U}) {
    options_.directory = dir_.path() / ("torn-" + std::to_string(torn));
    std::filesystem::copy(whole, options_.directory);
    std::filesystem::resize_file(options_.directory / log, end - torn);
    open();
    std::int64_t kept = 0;
    while (has(key_of("left", kept))) ++kept;
    for (std::int64_t number = 0; number < kCommits; ++number) {
      EXPECT_EQ(has(key_of("left", number)), number < kept);
      EXPECT_EQ(has(key_of("right", number)), number < kept);
    }
    fewest = std::min(fewest, kept);
    EXPECT_TRUE(commit(put(key_of("after"), "value", absent())));
    close();
  }
  EXPECT_LT(fewest, kCommits - 5);
}

TEST_F(Durable, RelaxedOpensALogWithAHoleAndKeepsWhatIsBeforeIt) {
  constexpr std::int64_t kCommits = 20;
  options_.durability = Durability::relaxed;
  open();
  for (std::int64_t number = 0; number < kCommits; ++number) {
    ASSERT_TRUE(commit(put(key_of("home", number), Bytes(100, 'v'), absent())));
  }
  close();
  const auto [log, end] = log_and_end();
  flip_byte(log, (kSegmentHeaderBytes + end) / 2);
  open();
  std::int64_t kept = 0;
  while (has(key_of("home", kept))) ++kept;
  EXPECT_GT(kept, kCommits / 4);
  EXPECT_LT(kept, kCommits);
  for (std::int64_t number = kept; number < kCommits; ++number) {
    EXPECT_FALSE(has(key_of("home", number)));
  }
}

class Watched : public RocksDbTest {
 protected:
  void open_watched() {
    auto opened = open_rocksdb_on(*watched_.env, options_, clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  ~Watched() override { close(); }

  DiskState& disk() { return watched_.disk; }

  WatchedEnv watched_;
};

TEST_F(Watched, SyncedSyncsTheLogBeforeEachAnswerAndOnceAGroup) {
  open_watched();
  const std::uint64_t before = disk().log_syncs();
  ASSERT_TRUE(commit(put(key_of("one"), "value", absent())));
  EXPECT_EQ(disk().log_syncs(), before + 1);
  std::vector<Write> writes;
  for (std::int64_t i = 0; i < 100; ++i) {
    writes.push_back(versioned(put(key_of("many", i), "value", absent())));
  }
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  store_->commit_each(group);
  EXPECT_EQ(disk().log_syncs(), before + 2);
}

TEST_F(Watched, WhatWritesNothingSyncsNothing) {
  open_watched();
  ASSERT_TRUE(commit(put(key_of("one"), "value", absent())));
  const std::uint64_t before = disk().log_syncs();
  EXPECT_FALSE(commit(put(key_of("one"), "value", absent())));
  EXPECT_TRUE(commit(erase(key_of("none"), absent())));
  EXPECT_EQ(disk().log_syncs(), before);
}

TEST_F(Watched, H26_AReaderNeverSeesWhatWasNotSynced) {
  open_watched();
  disk().syncs_fail = true;
  EXPECT_EQ(commit_error(put(key_of("one"), "value", absent())), ErrorCode::unknown);
  EXPECT_FALSE(has(key_of("one")));
}

// So large that the database takes it while the log is synced.
class Ahead : public Watched {
 protected:
  Ahead() {
    for (std::int64_t i = 0; i < 100; ++i) {
      writes_.push_back(versioned(put(key_of("many", i), Bytes(100, 'v'), absent())));
    }
  }

  void commit_behind_the_gate(const std::function<void()>& meanwhile) {
    disk().close_gate();
    std::thread committer([&] { outcome_ = store_->commit(writes_); });
    disk().await_visitor();
    meanwhile();
    let_through_ = true;
    disk().open_gate();
    committer.join();
  }

  std::vector<Write> writes_;
  std::atomic<bool> let_through_ = false;
  Result<CommitOutcome> outcome_ = failure(ErrorCode::invalid, "not made");
};

TEST_F(Ahead, H26_WhoSeesItIsAnsweredAfterItIsSynced) {
  open_watched();
  const std::vector<std::function<bool()>> looks = {
      [&] { return has(key_of("many", 99)); },
      [&] { return !store_->scan({.partition = {"many", ""}}).value().entries.empty(); },
      [&] { return !store_->list({}).value().items.empty(); },
      // Lost, because it stands; that rests on the sync, too.
      [&] { return !commit(put(key_of("many", 5), "other", absent())); }};
  std::vector<std::thread> readers;
  commit_behind_the_gate([&] {
    for (const auto& look : looks) {
      readers.emplace_back([&] {
        while (!look()) {
        }
        EXPECT_TRUE(let_through_);
      });
    }
  });
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(outcome_ && committed(*outcome_));
}

TEST_F(Ahead, H26_WhatWasNotSyncedIsNeverToldEvenWhileItIsInTheDatabase) {
  open_watched();
  ASSERT_TRUE(commit(put(key_of("before"), "value", absent())));
  std::thread reader;
  commit_behind_the_gate([&] {
    reader = std::thread([&] {
      const auto item = store_->get(key_of("many", 5));
      EXPECT_TRUE(!item || !item->has_value());
    });
    disk().syncs_fail = true;
  });
  reader.join();
  ASSERT_FALSE(outcome_);
  EXPECT_EQ(outcome_.error().code, ErrorCode::unknown);
  EXPECT_EQ(store_->get(key_of("many", 5)).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store_->scan({.partition = {"many", ""}}).error().code, ErrorCode::unavailable);
  EXPECT_EQ(checkpoint_rocksdb(*store_, dir_.path() / "copy").error().code, ErrorCode::unavailable);
  EXPECT_EQ(commit_error(put(key_of("many", 5), "value", absent())), ErrorCode::unavailable);
  close();
  disk().syncs_fail = false;
  open_watched();
  EXPECT_TRUE(has(key_of("before")));
  EXPECT_EQ(has(key_of("many", 0)), has(key_of("many", 99)));
}

TEST_F(Watched, RelaxedSyncsOnceASecondByTheClock) {
  options_.durability = Durability::relaxed;
  open_watched();
  const std::uint64_t before = disk().log_syncs();
  ASSERT_TRUE(commit(put(key_of("one"), "value", absent())));
  ASSERT_TRUE(commit(put(key_of("two"), "value", absent())));
  EXPECT_EQ(disk().log_syncs(), before);
  clock_.advance(std::chrono::seconds(1));
  disk().wait_for_log_syncs(before + 1);
}

TEST_F(Watched, RelaxedSyncsWhenClosed) {
  options_.durability = Durability::relaxed;
  open_watched();
  const std::uint64_t before = disk().log_syncs();
  ASSERT_TRUE(commit(put(key_of("one"), "value", absent())));
  close();
  EXPECT_GT(disk().log_syncs(), before);
}

TEST_F(Watched, AFailedBackgroundSyncClosesTheStoreForWrites) {
  options_.durability = Durability::relaxed;
  open_watched();
  const std::uint64_t before = disk().log_syncs();
  ASSERT_TRUE(commit(put(key_of("one"), "value", absent())));
  disk().syncs_fail = true;
  clock_.advance(std::chrono::seconds(1));
  disk().wait_for_log_syncs(before + 1);
  // The failure is noted just after the sync returns; until then a commit may still be answered.
  Write next = versioned(put(key_of("two"), "value", anything()));
  Result<CommitOutcome> outcome = store_->commit({&next, 1});
  while (outcome) outcome = store_->commit({&next, 1});
  outcome = store_->commit({&next, 1});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(has(key_of("one")));
}

TEST_F(Watched, DescriptionNamesWhatAnAnswerPromises) {
  open_watched();
  EXPECT_EQ(store_->describe(),
            "rocksdb " + options_.directory.string() + ", synced before every answer");
  close();
  options_.durability = Durability::relaxed;
  open_watched();
  EXPECT_EQ(store_->describe(), "rocksdb " + options_.directory.string() +
                                    ", relaxed: synced once a second, power loss may lose the "
                                    "last second");
}

}  // namespace
}  // namespace once
