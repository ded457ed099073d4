// A disk that is full, or fails.
#include "stores/rocksdb/store_fixture.h"
#include "stores/rocksdb/watched_env.h"

namespace once {
namespace {

class Room : public RocksDbTest {
 protected:
  void open_watched() {
    auto opened = open_rocksdb_on(*watched_.env, options_, clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  ~Room() override { close(); }

  WatchedEnv watched_;
};

TEST_F(Room, H10_AFailedWriteIsUnknownAndClosesTheStoreForWritesUntilReopened) {
  testing::ChildProcess child(ROCKSDB_STORE_CHILD,
                              {"commit-until-full", options_.directory.string()});
  const std::int64_t failed = std::stoll(child.read_line().value_or("-1"));
  ASSERT_GT(failed, 0);
  EXPECT_EQ(child.read_line(), "unknown");
  EXPECT_EQ(child.read_line(), "unavailable");
  EXPECT_EQ(child.read_line(), "read");
  EXPECT_EQ(child.wait(), 0);
  open();
  for (std::int64_t number = 0; number < failed; ++number) {
    EXPECT_TRUE(has(key_of("left", number)) && has(key_of("right", number))) << number;
  }
  EXPECT_EQ(has(key_of("left", failed)), has(key_of("right", failed)));
  EXPECT_FALSE(has(key_of("left", failed + 1)));
  EXPECT_TRUE(commit(put(key_of("left", failed + 1), "value", absent())));
}

TEST_F(Room, H10_EveryTransactionOfAFailedGroupIsUnknown) {
  open_watched();
  ASSERT_TRUE(commit(put(key_of("taken"), "value", absent())));
  watched_.disk.syncs_fail = true;
  const std::vector<Write> writes = {versioned(put(key_of("new"), "value", absent())),
                                     versioned(put(key_of("new"), "value", absent())),
                                     versioned(put(key_of("taken"), "value", absent()))};
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  for (const auto& answer : store_->commit_each(group)) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::unknown);
  }
  const Write next = versioned(put(key_of("next"), "value", absent()));
  const auto refused = store_->commit({&next, 1});
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_NE(refused.error().message.find("closed for writes"), std::string::npos);
  EXPECT_FALSE(store_->sweep(10));
  EXPECT_TRUE(has(key_of("taken")));
  close();
  watched_.disk.syncs_fail = false;
  open_watched();
  EXPECT_TRUE(commit(put(key_of("next"), "value", absent())));
}

TEST_F(Room, WithoutRoomACommitIsUnavailableAndNothingIsWritten) {
  options_.keep_free_bytes = std::size_t{1} << 62;
  open();
  EXPECT_EQ(commit_error(put(key_of("home"), "value", absent())), ErrorCode::unavailable);
  EXPECT_FALSE(has(key_of("home")));
  options_.keep_free_bytes = 0;
  open();
  EXPECT_FALSE(has(key_of("home")));
  EXPECT_TRUE(commit(put(key_of("home"), "value", absent())));
}

TEST_F(Room, CommitsGoOnByThemselvesWhenThereIsRoomAgain) {
  open_watched();
  ASSERT_TRUE(commit(put(key_of("home", 1), "value", absent())));
  watched_.disk.room = options_.keep_free_bytes;
  clock_.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(commit_error(put(key_of("home", 2), "value", absent())), ErrorCode::unavailable);
  EXPECT_EQ(commit_error(put(key_of("home", 2), "value", absent())), ErrorCode::unavailable);
  watched_.disk.room = options_.keep_free_bytes + (1U << 20);
  EXPECT_TRUE(commit(put(key_of("home", 2), "value", absent())));
}

TEST_F(Room, ALargeCommitIsNotLetThroughOnAnOldLook) {
  open_watched();
  ASSERT_TRUE(commit(put(key_of("home", 1), "value", absent())));
  watched_.disk.room = options_.keep_free_bytes + 1'000;
  const Bytes large(2U << 20, 'x');
  EXPECT_EQ(commit_error(put(key_of("home", 2), large, absent())), ErrorCode::unavailable);
}

TEST_F(Room, SweepingGoesOnWithoutRoom) {
  open_watched();
  ASSERT_TRUE(commit(put(key_of("home"), "value", absent(), clock_.now() + Duration(10))));
  watched_.disk.room = 0;
  clock_.advance(Duration(10));
  EXPECT_EQ(store_->sweep(10).value().removed, 1U);
}

}  // namespace
}  // namespace once
