#include <atomic>
#include <thread>

#include "once/memory_store.h"
#include "stores/rocksdb/store_fixture.h"

namespace once {
namespace {

class Checkpointed : public RocksDbTest {
 protected:
  std::filesystem::path to() const { return dir_.path() / "copy"; }

  void open_copy() {
    close();
    options_.directory = to();
    open();
  }

  std::int64_t number_at(const std::string& home) {
    const auto item = store_->get(key_of(home));
    return item && *item ? std::get<std::int64_t>((*item)->value) : 0;
  }
};

TEST_F(Checkpointed, HasWhatWasAnsweredBeforeAndNothingOfLater) {
  for (const Durability durability : {Durability::synced, Durability::relaxed}) {
    options_.directory = dir_.path() / std::to_string(static_cast<int>(durability));
    options_.durability = durability;
    open();
    commit(put(key_of("before"), "x", absent()));
    ASSERT_TRUE(checkpoint_rocksdb(*store_, to()));
    commit(put(key_of("after"), "x", absent()));
    open_copy();
    EXPECT_TRUE(has(key_of("before")));
    EXPECT_FALSE(has(key_of("after")));
    close();
    std::filesystem::remove_all(to());
  }
}

TEST_F(Checkpointed, HasEachCommitWholeWhileOthersWrite) {
  open();
  std::atomic<bool> ending = false;
  std::atomic<int> commits = 0;
  std::thread writer([&] {
    while (!ending) {
      const std::vector<Write> both = {versioned(add(key_of("a"), 1)),
                                       versioned(add(key_of("z"), 1))};
      EXPECT_TRUE(store_->commit(both));
      ++commits;
    }
  });
  while (commits < 20) std::this_thread::yield();
  EXPECT_TRUE(checkpoint_rocksdb(*store_, to()));
  const int then = commits;
  while (commits < then + 20) std::this_thread::yield();
  ending = true;
  writer.join();
  open_copy();
  EXPECT_GE(number_at("a"), 20);
  EXPECT_LE(number_at("a"), then + 1);
  EXPECT_EQ(number_at("a"), number_at("z"));
}

TEST_F(Checkpointed, NothingIsWrittenWhereSomethingStands) {
  open();
  std::filesystem::create_directory(to());
  const Result<void> made = checkpoint_rocksdb(*store_, to());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::invalid);
  EXPECT_TRUE(std::filesystem::is_empty(to()));
}

TEST_F(Checkpointed, OtherStoresHaveNone) {
  const auto memory = open_memory();
  const Result<void> made = checkpoint_rocksdb(*memory, to());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace once
