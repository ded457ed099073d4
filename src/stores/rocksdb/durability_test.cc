// What was answered is there again, whatever happened in between.
#include <string>

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

TEST_F(Durable, EveryAnsweredCommitSurvivesKillNine) {
  std::int64_t next = 0;
  for (int round = 0; round < 5; ++round) {
    testing::ChildProcess child(
        ROCKSDB_STORE_CHILD,
        {"commit-until-killed", options_.directory.string(), std::to_string(next)});
    for (int answered = 0; answered < 40; ++answered) ASSERT_TRUE(child.read_line());
    child.kill();
    std::int64_t last = next + 39;
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
  ASSERT_EQ(files(".log").size(), 1U);
  const std::string log = files(".log")[0].filename().string();
  std::int64_t fewest = kCommits;
  for (const std::uintmax_t torn : {1U, 60U, 100U, 150U, 777U, 1'500U}) {
    options_.directory = dir_.path() / ("torn-" + std::to_string(torn));
    std::filesystem::copy(whole, options_.directory);
    std::filesystem::resize_file(options_.directory / log,
                                 std::filesystem::file_size(whole / log) - torn);
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
  ASSERT_EQ(files(".log").size(), 1U);
  const auto log = files(".log")[0];
  flip_byte(log, std::filesystem::file_size(log) / 2);
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
