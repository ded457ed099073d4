// The log of commits by itself: what was synced is read again, and damage is told from a torn end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rocksdb/file_system.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "stores/rocksdb/commit_log.h"
#include "stores/rocksdb/commit_replay.h"
#include "stores/rocksdb/segment_file.h"
#include "stores/rocksdb/segments.h"
#include "testing/temp_dir.h"

namespace once {
namespace {

class ReplayTest : public ::testing::Test {
 protected:
  rocksdb::Env& env() { return *rocksdb::Env::Default(); }
  std::string directory() { return dir_.path().string(); }
  std::filesystem::path segment(std::uint64_t number) { return dir_.path() / segment_name(number); }

  // What is read; the rest is in `replayed_` or `error_`.
  std::vector<std::string> replay() {
    std::vector<std::string> batches;
    auto replayed = replay_commits(env(), directory(), [&](std::string_view batch) -> Result<void> {
      batches.emplace_back(batch);
      return {};
    });
    error_ = replayed ? std::nullopt : std::optional(replayed.error().code);
    replayed_ = replayed ? std::move(*replayed) : Replayed{};
    return batches;
  }

  // Goes on behind what is there, as an opening does.
  std::unique_ptr<Segments> resume(AppendBy way = AppendBy::call) {
    replay();
    auto segments = std::make_unique<Segments>(env(), directory(), way);
    EXPECT_TRUE(segments->start(replayed_, rocksdb::SequenceNumber{7}).ok());
    return segments;
  }

  static void append(Segments& segments, const std::string& batch, bool synced = true,
                     GroupNumber group = 1) {
    std::string record;
    begin_record(record);
    add_batch(batch, record);
    ASSERT_TRUE(segments.append(record, group).ok());
    if (synced) {
      ASSERT_TRUE(segments.sync().ok());
    }
  }

  static std::string contents(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void overwrite(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }

  // Ends of the records of a segment, each where the next begins.
  static std::vector<std::size_t> ends_of(const std::string& bytes) {
    const SegmentHeader header = decode_segment_header(bytes).value();
    std::vector<std::size_t> ends = {kSegmentHeaderBytes};
    while (const auto record = record_at(bytes, ends.back(), header.nonce)) {
      ends.push_back(ends.back() + record->bytes);
    }
    return ends;
  }

  testing::TempDir dir_;
  Replayed replayed_;
  std::optional<ErrorCode> error_;
};

using Batches = std::vector<std::string>;

TEST_F(ReplayTest, WhatWasAppendedIsReadInOrderAsOftenAsAsked) {
  const auto segments = resume();
  for (const char* batch : {"one", "two", "three"}) append(*segments, batch);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(replay(), (Batches{"one", "two", "three"}));
    EXPECT_EQ(replayed_.next_sequence, 4U);
    EXPECT_TRUE(replayed_.end_is_free);
  }
  const auto next = resume();
  append(*next, "four");
  EXPECT_EQ(replay(), (Batches{"one", "two", "three", "four"}));
  EXPECT_EQ(replayed_.segments.size(), 1U);
}

TEST_F(ReplayTest, ARecordTornAtAnyByteIsDroppedAndOverwritten) {
  const auto segments = resume();
  for (const char* batch : {"one", "two", "three"}) append(*segments, batch);
  const std::string whole = contents(segment(1));
  const std::vector<std::size_t> ends = ends_of(whole);
  ASSERT_EQ(ends.size(), 4U);
  // The last bytes are padding.
  const std::size_t written = ends[2] + kRecordHeaderBytes + 4 + 5;
  for (std::size_t from = ends[2]; from < written; ++from) {
    std::string torn = whole;
    for (std::size_t i = from; i < ends[3]; ++i) torn[i] = '\0';
    overwrite(segment(1), torn);
    ASSERT_EQ(replay(), (Batches{"one", "two"})) << from;
    ASSERT_TRUE(replayed_.end_is_free);
    // And the other way round: its beginning is missing.
    torn = whole;
    for (std::size_t i = ends[2]; i <= from; ++i) torn[i] = '\0';
    overwrite(segment(1), torn);
    ASSERT_EQ(replay(), (Batches{"one", "two"})) << from;
    ASSERT_TRUE(replayed_.end_is_free);
    std::filesystem::resize_file(segment(1), from);
    ASSERT_EQ(replay(), (Batches{"one", "two"})) << from;
  }
  overwrite(segment(1),
            whole.substr(0, written - 3) + std::string(whole.size() - written + 3, 'x'));
  append(*resume(), "new");
  EXPECT_EQ(replay(), (Batches{"one", "two", "new"}));
}

TEST_F(ReplayTest, AFlippedByteOfAnyRecordButTheLastIsCorrupt) {
  const auto segments = resume();
  for (const char* batch : {"first", "second", "the third"}) append(*segments, batch);
  const std::string whole = contents(segment(1));
  const std::vector<std::size_t> ends = ends_of(whole);
  for (std::size_t at = ends[0]; at < ends[3]; ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    overwrite(segment(1), flipped);
    const Batches read = replay();
    if (at < ends[2]) {
      const bool padding = read.size() == 3;  // Nobody reads it.
      ASSERT_TRUE(padding || error_ == ErrorCode::corrupt) << at;
    } else {
      ASSERT_FALSE(error_) << at;
      ASSERT_EQ(read.size(), at < ends[2] + kRecordHeaderBytes + 4 + 9 ? 2U : 3U) << at;
    }
  }
}

TEST_F(ReplayTest, DamageIsToldByTheHeaderOfALaterRecordThatIsTorn) {
  const auto segments = resume();
  for (const char* batch : {"one", "two", "three"}) append(*segments, batch);
  std::string bytes = contents(segment(1));
  const std::vector<std::size_t> ends = ends_of(bytes);
  bytes[ends[1]] ^= 1;
  bytes[ends[2] + kRecordHeaderBytes] ^= 1;
  overwrite(segment(1), bytes);
  replay();
  EXPECT_EQ(error_, ErrorCode::corrupt);
}

TEST_F(ReplayTest, AHoleInWhatWasNotSyncedEndsTheLogAndNothingBehindItComesBack) {
  {
    const auto segments = resume();
    append(*segments, "one", true);
    for (const char* batch : {"two", "three", "four"}) append(*segments, batch, false);
    std::string bytes = contents(segment(1));
    bytes[ends_of(bytes)[1] + kRecordHeaderBytes] ^= 1;
    overwrite(segment(1), bytes);
  }
  EXPECT_EQ(replay(), (Batches{"one"}));
  EXPECT_FALSE(replayed_.end_is_free);
  // As long as what it would uncover if it were written in its place.
  append(*resume(), "TWO");
  EXPECT_EQ(replay(), (Batches{"one", "TWO"}));
  append(*resume(), "THREE");
  EXPECT_EQ(replay(), (Batches{"one", "TWO", "THREE"}));
}

TEST_F(ReplayTest, OnceItWasSyncedTheSameHoleIsDamage) {
  const auto segments = resume();
  for (const char* batch : {"one", "two", "three"}) append(*segments, batch, false);
  ASSERT_TRUE(segments->sync().ok());
  append(*segments, "four", false);
  std::string bytes = contents(segment(1));
  bytes[ends_of(bytes)[1] + kRecordHeaderBytes] ^= 1;
  overwrite(segment(1), bytes);
  replay();
  EXPECT_EQ(error_, ErrorCode::corrupt);
}

class Several : public ReplayTest {
 protected:
  // Three segments and what is in them; the last record is small.
  Batches fill() {
    const auto segments = resume();
    Batches batches;
    for (char c = 'a'; c <= 'h'; ++c) {
      batches.emplace_back(60'000, c);
      append(*segments, batches.back());
    }
    batches.emplace_back("last");
    append(*segments, batches.back());
    return batches;
  }
};

TEST_F(Several, AreReadOneAfterTheOther) {
  const Batches batches = fill();
  EXPECT_EQ(replay(), batches);
  EXPECT_EQ(replayed_.segments.size(), 3U);
  append(*resume(), "more");
  EXPECT_EQ(replay().back(), "more");
  EXPECT_EQ(replayed_.next_sequence, 11U);
}

TEST_F(Several, WithoutOneInTheMiddleAreCorrupt) {
  fill();
  std::filesystem::remove(segment(2));
  replay();
  EXPECT_EQ(error_, ErrorCode::corrupt);
}

TEST_F(Several, ADamagedEndOfOneBeforeTheLastIsCorrupt) {
  fill();
  std::string bytes = contents(segment(1));
  bytes[ends_of(bytes).back() - 100] ^= 1;
  overwrite(segment(1), bytes);
  replay();
  EXPECT_EQ(error_, ErrorCode::corrupt);
}

TEST_F(Several, ADamagedBeginningOfTheFirstIsCorrupt) {
  fill();
  std::string bytes = contents(segment(1));
  bytes[kSegmentHeaderBytes] ^= 1;
  overwrite(segment(1), bytes);
  replay();
  EXPECT_EQ(error_, ErrorCode::corrupt);
}

TEST_F(Several, ABadHeaderIsCorruptAndANewerFormatUnsupported) {
  fill();
  const std::string whole = contents(segment(2));
  for (std::size_t at = 0; at < 32; ++at) {
    std::string bytes = whole;
    bytes[at] ^= 1;
    overwrite(segment(2), bytes);
    replay();
    ASSERT_EQ(error_, ErrorCode::corrupt) << at;
  }
  overwrite(segment(2), "");
  replay();
  EXPECT_EQ(error_, ErrorCode::corrupt);
  overwrite(segment(2), whole);
  std::filesystem::rename(segment(3), segment(4));
  replay();
  EXPECT_EQ(error_, ErrorCode::corrupt);
}

TEST_F(Several, OneThatWasMadeAndNotUsedIsNoDamage) {
  const Batches batches = fill();
  ASSERT_TRUE(make_segment(env(), segment(4).string(), {.number = 4, .nonce = 5}, 65'536).ok());
  EXPECT_EQ(replay(), batches);
  EXPECT_EQ(replayed_.unused, std::vector<std::uint64_t>{4});
  append(*resume(), "more");
  EXPECT_FALSE(std::filesystem::exists(segment(4)));
  EXPECT_EQ(replay().back(), "more");
}

TEST_F(Several, ATornFirstRecordOfTheLastIsDropped) {
  Batches batches = fill();
  ASSERT_TRUE(make_segment(env(), segment(4).string(), {.number = 4, .nonce = 5}, 65'536).ok());
  std::string bytes = contents(segment(4));
  bytes.replace(kSegmentHeaderBytes, 9, std::string("\1rubbish", 9));
  overwrite(segment(4), bytes);
  EXPECT_EQ(replay(), batches);
  append(*resume(), "more");
  batches.emplace_back("more");
  EXPECT_EQ(replay(), batches);
}

TEST_F(ReplayTest, TheDatabaseWritesNothingToItsFilesThatTheLogLacks) {
  CommitLog log(env(), directory(), AppendBy::call);
  ASSERT_TRUE(log.start({}, std::nullopt).ok());
  log.enqueue("in the memtable already");
  FlushWatch watch;
  watch.watch_for(log);
  EXPECT_EQ(replay(), Batches{});
  watch.OnFlushBegin(nullptr, {});
  EXPECT_EQ(replay(), Batches{"in the memtable already"});
}

TEST_F(ReplayTest, WhatAFileHeldBeforeItWasUsedAgainIsNeverRead) {
  const auto segments = resume();
  GroupNumber group = 0;
  Batches live;
  // Larger than half of the largest, so that every append begins a segment.
  for (char c = 'a'; c <= 'n'; ++c) {
    append(*segments, std::string(9U << 20, c), true, ++group);
    while (segments->wants_upkeep()) segments->upkeep();
    if (c % 5 != 0) continue;
    segments->applied(group - 1, group);
    segments->flushed(group);
    while (segments->wants_upkeep()) segments->upkeep();
    live = replay();
    ASSERT_FALSE(error_);
    ASSERT_EQ(live.size(), 1U);
    ASSERT_EQ(live[0], std::string(9U << 20, c));
  }
  ASSERT_EQ(live[0][0], 'n');
  append(*segments, "small", true, ++group);
  EXPECT_EQ(replay(), (Batches{live[0], "small"}));
}

TEST_F(ReplayTest, WhatIsStoredInThePagesOfASegmentIsReadWithoutASync) {
  const auto segments = resume(AppendBy::pages);
  Batches batches;
  for (char c = 'a'; c <= 'z'; ++c) {
    // Some records begin a segment, and some cross pages.
    batches.emplace_back(c % 5 == 0 ? 60'000U : 3'000U, c);
    append(*segments, batches.back(), false, static_cast<GroupNumber>(c));
    while (segments->wants_upkeep()) segments->upkeep();
    ASSERT_EQ(replay(), batches) << c;
  }
}

// Nothing but a page fault tells of a page that is not there; so it is asked for before.
TEST_F(ReplayTest, AFileThatIsShorterThanItsSegmentIsNotMapped) {
  const std::string path = directory() + "/short";
  ASSERT_TRUE(make_segment(env(), path, {}, 65'536).ok());
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(MappedPages::map(file, 2 * 65'536), nullptr);
  if (const auto pages = MappedPages::map(file, 65'536)) {
    pages->store(5'000, "in the file at once");
    EXPECT_EQ(contents(path).substr(5'000, 19), "in the file at once");
  }
  ::close(file);
  std::filesystem::remove(path);
}

// Calls the test before and after whatever changes the directory: there a process may be killed.
class SteppingFile final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  SteppingFile(std::unique_ptr<rocksdb::FSRandomRWFile> file, const std::function<void()>& step)
      : FSRandomRWFileOwnerWrapper(std::move(file)), step_(step) {}
  rocksdb::IOStatus Write(std::uint64_t offset, const rocksdb::Slice& data,
                          const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* dbg) override {
    const rocksdb::Slice half(data.data(), data.size() / 2);
    rocksdb::IOStatus status = FSRandomRWFileWrapper::Write(offset, half, options, dbg);
    step_();
    if (status.ok()) status = FSRandomRWFileWrapper::Write(offset, data, options, dbg);
    step_();
    return status;
  }

 private:
  const std::function<void()>& step_;
};

class SteppingFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit SteppingFiles(std::function<void()> step)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), step_(std::move(step)) {}
  const char* Name() const override { return "once.stepping"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, dbg);
    step_();
    return status;
  }
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewRandomRWFile(name, options, file, dbg);
    if (status.ok()) *file = std::make_unique<SteppingFile>(std::move(*file), step_);
    return status;
  }
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    step_();
    rocksdb::IOStatus status = FileSystemWrapper::RenameFile(from, to, options, dbg);
    step_();
    return status;
  }
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus status = FileSystemWrapper::DeleteFile(name, options, dbg);
    step_();
    return status;
  }

 private:
  const std::function<void()> step_;
};

TEST_F(ReplayTest, AKillAtAnyStepLeavesAllThatWasSyncedAndNotReleased) {
  Batches all;
  std::size_t synced = 0;
  std::size_t needed = 0;  // What is before may be gone.
  int steps = 0;
  const auto check = [&] {
    ++steps;
    const Batches read = replay();
    ASSERT_FALSE(error_);
    ASSERT_GE(read.size(), synced - needed);
    ASSERT_LE(read.size(), all.size());
    for (std::size_t end : {synced, all.size()}) {
      if (read.size() > end) continue;
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(end - read.size());
      if (std::equal(read.begin(), read.end(), first)) return;
    }
    FAIL() << "what is read is not an end of what was appended";
  };
  const auto stepping = rocksdb::NewCompositeEnv(std::make_shared<SteppingFiles>(check));
  for (int opened = 0; opened < 4; ++opened) {
    replay();
    Segments segments(*stepping, directory(), AppendBy::call);
    ASSERT_TRUE(segments.start(replayed_, rocksdb::SequenceNumber{all.size()}).ok());
    GroupNumber group = 0;
    for (int i = 0; i < 12; ++i) {
      all.emplace_back(50'000 + all.size(), static_cast<char>('a' + i));
      append(segments, all.back(), true, ++group);
      synced = all.size();
      if (i % 4 == 3) {
        needed = all.size() - 2;
        segments.applied(group - 2, needed);
        segments.flushed(needed);
      }
      while (segments.wants_upkeep()) segments.upkeep();
    }
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_GT(steps, 100);
}

TEST_F(Several, OnesAreReleasedOnlyWhenTheDatabaseHasThemInItsFiles) {
  resume();
  const auto segments = resume();
  for (GroupNumber group = 1; group <= 8; ++group) {
    append(*segments, std::string(60'000, 'x'), true, group);
  }
  const std::size_t all = replay().size();
  EXPECT_EQ(all, 8U);
  segments->flushed(1'000);  // But nobody has said that they are applied.
  EXPECT_EQ(replay().size(), all);
  while (segments->wants_upkeep()) segments->upkeep();
  EXPECT_EQ(replay().size(), all);
  segments->applied(1, 1'001);  // The first segment is in the memtable only.
  while (segments->wants_upkeep()) segments->upkeep();
  EXPECT_EQ(replay().size(), all);
  segments->flushed(1'001);
  while (segments->wants_upkeep()) segments->upkeep();
  EXPECT_EQ(replay().size(), all - 1);
}

}  // namespace
}  // namespace once
