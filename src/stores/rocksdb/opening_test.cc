// Who may open a directory, and what those who may not are told.
#include <unistd.h>

#include "kernel/format.h"
#include "stores/rocksdb/engine.h"
#include "stores/rocksdb/store_fixture.h"

namespace once {
namespace {

class Opening : public RocksDbTest {
 protected:
  Error refusal() {
    const auto opened = try_open();
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }

  testing::ChildProcess child(const std::string& how) {
    return testing::ChildProcess(ROCKSDB_STORE_CHILD, {how, options_.directory.string()});
  }
};

bool mentions(const Error& error, const std::string& text) {
  return error.message.find(text) != std::string::npos;
}

TEST_F(Opening, ASecondProcessIsToldWhoHasTheStore) {
  testing::ChildProcess holder = child("hold");
  ASSERT_EQ(holder.read_line(), "open");
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_TRUE(mentions(error, "another process (pid " + std::to_string(holder.pid()) + ")"))
      << error.message;
  // Asking must not have taken the lock away from its holder.
  EXPECT_EQ(refusal().code, ErrorCode::unavailable);
}

// Sleeping is when others get on: here, the process that has the store.
class YieldingClock final : public Clock {
 public:
  explicit YieldingClock(testing::ChildProcess& other) : other_(other) {}
  Time now() override { return clock_.now(); }
  void sleep(Duration length) override {
    clock_.sleep(length);
    other_.wait();
    slept_ += length;
  }
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            Time until) override {
    clock_.wait(signal, lock, until);
  }
  Duration slept() const { return slept_; }

 private:
  testing::ChildProcess& other_;
  testing::ManualClock clock_;
  Duration slept_ = Duration::zero();
};

TEST_F(Opening, ASecondProcessWaitsItsTurn) {
  testing::ChildProcess holder = child("hold");
  ASSERT_EQ(holder.read_line(), "open");
  YieldingClock clock(holder);
  options_.wait_for_turn = std::chrono::seconds(10);
  const auto opened = open_rocksdb(options_, clock);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_GT(clock.slept(), Duration::zero());
}

TEST_F(Opening, WaitingEndsAtTheGivenTime) {
  testing::ChildProcess holder = child("hold");
  ASSERT_EQ(holder.read_line(), "open");
  options_.wait_for_turn = std::chrono::seconds(10);
  const Time start = clock_.now();
  EXPECT_EQ(refusal().code, ErrorCode::unavailable);
  EXPECT_GE(clock_.now(), start + std::chrono::seconds(10));
  EXPECT_LT(clock_.now(), start + std::chrono::seconds(11));
}

TEST_F(Opening, ProcessesTakeTurnsFromTheFirstOpeningOn) {
  constexpr int kProcesses = 8;
  constexpr int kRounds = 5;
  std::vector<std::unique_ptr<testing::ChildProcess>> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(std::make_unique<testing::ChildProcess>(
        ROCKSDB_STORE_CHILD,
        std::initializer_list<std::string>{"count-in-turn", options_.directory.string(),
                                           std::to_string(kRounds)}));
  }
  for (const auto& child : children) {
    EXPECT_EQ(child->read_line(), std::nullopt);
    EXPECT_EQ(child->wait(), 0);
  }
  open();
  const auto turns = store_->get(key_of("turns"));
  ASSERT_TRUE(turns && *turns);
  EXPECT_EQ(std::get<std::int64_t>((*turns)->value), kProcesses * kRounds);
}

TEST_F(Opening, TheSameProcessIsToldThatItHasTheStore) {
  open();
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_TRUE(mentions(error, "already open in this process")) << error.message;
  options_.directory = options_.directory / ".." / options_.directory.filename();
  EXPECT_EQ(refusal().code, ErrorCode::unavailable);
  EXPECT_TRUE(commit(put(key_of("home"), "value", absent())));
  close();
  open();
}

TEST_F(Opening, ANewerFormatIsRefused) {
  open();
  close();
  ASSERT_TRUE(open_bare()
                  ->Put({}, std::string(1, format::kMetaTag) + "format",
                        format::encode_format_number(kFormatNumber + 1))
                  .ok());
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_TRUE(mentions(error, "format " + std::to_string(kFormatNumber + 1))) << error.message;
}

TEST_F(Opening, AStoreFromBeforeTheLogOfCommitsIsOpenedAndChanged) {
  const Key key = key_of("old");
  std::string encoded;
  format::encode_key(key, encoded);
  std::string item;
  format::encode_item(encoded, {.number = 41, .version = {1}}, item);
  const std::string format_key = std::string(1, format::kMetaTag) + "format";
  std::filesystem::create_directory(options_.directory);
  {
    const auto db = open_bare();  // As format 1 was: everything in RocksDB's own log.
    ASSERT_TRUE(db->Put({}, format_key, format::encode_format_number(1)).ok());
    ASSERT_TRUE(db->Put({}, encoded, item).ok());
  }
  for (int i = 0; i < 3; ++i) {
    open();
    EXPECT_TRUE(commit(add(key, 1)));
    EXPECT_EQ(store_->get(key).value()->value, Value(std::int64_t{42 + i}));
    close();
  }
  std::string number;
  ASSERT_TRUE(open_bare()->Get({}, format_key, &number).ok());
  EXPECT_EQ(format::decode_format_number(number).value(), 2U);
}

TEST_F(Opening, AnotherProgramsDatabaseIsRefused) {
  std::filesystem::create_directory(options_.directory);
  ASSERT_TRUE(open_bare()->Put({}, "hello", "world").ok());
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::invalid);
  EXPECT_TRUE(mentions(error, "something else")) << error.message;
  std::string value;
  EXPECT_TRUE(open_bare()->Get({}, "hello", &value).ok());
}

TEST_F(Opening, ADirectoryOfOtherFilesIsRefusedUntouched) {
  std::filesystem::create_directory(options_.directory);
  std::ofstream(options_.directory / "letter.txt") << "Dear all";
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::invalid);
  EXPECT_TRUE(mentions(error, "holds no store")) << error.message;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(options_.directory), {}), 1);
}

TEST_F(Opening, AnOpeningThatWasCutShortIsBegunAgain) {
  std::filesystem::create_directory(options_.directory);
  std::ofstream(options_.directory / "LOCK");
  std::ofstream(options_.directory / "LOG") << "started";
  open();
  close();
  options_.directory = dir_.path() / "without-record";
  open_bare();
  open();
  EXPECT_TRUE(commit(put(key_of("home"), "value", absent())));
}

TEST_F(Opening, AReadOnlyDirectoryIsUnavailableAndSaysSo) {
  std::filesystem::permissions(dir_.path(), std::filesystem::perms(0755));
  open();
  close();
  std::filesystem::permissions(options_.directory, std::filesystem::perms(0555));
  testing::ChildProcess other = child("open-as-nobody");
  EXPECT_EQ(other.read_line(), "unavailable");
  const auto message = other.read_line();
  ASSERT_TRUE(message);
  EXPECT_NE(message->find("cannot be written"), std::string::npos) << *message;
  EXPECT_EQ(other.wait(), 0);
}

TEST_F(Opening, APathThatCannotBeADirectoryIsUnavailable) {
  std::ofstream(dir_.path() / "file") << "in the way";
  options_.directory = dir_.path() / "file" / "store";
  EXPECT_EQ(refusal().code, ErrorCode::unavailable);
  options_.directory = "/proc/once-cannot-be-here";
  EXPECT_EQ(refusal().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace once
