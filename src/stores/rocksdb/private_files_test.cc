// What other users of the machine can read of a store: nothing.
#include "stores/rocksdb/private_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "stores/rocksdb/store_fixture.h"

namespace once {
namespace {

namespace fs = std::filesystem;

constexpr auto kDirectoryMode = fs::perms::owner_all;
constexpr auto kFileMode = fs::perms::owner_read | fs::perms::owner_write;

// Each file and directory at or below `path` that others have a permission on.
std::vector<fs::path> open_to_others(const fs::path& path) {
  std::vector<fs::path> found;
  const auto look = [&](const fs::path& at) {
    const fs::file_status status = fs::symlink_status(at);
    const fs::perms wanted = fs::is_directory(status) ? kDirectoryMode : kFileMode;
    if (status.permissions() != wanted) found.push_back(at);
  };
  look(path);
  for (const auto& entry : fs::recursive_directory_iterator(path)) look(entry.path());
  return found;
}

class PrivateStore : public RocksDbTest {
 protected:
  // Whatever the user's own default is.
  PrivateStore() : mask_(::umask(0)) {}
  ~PrivateStore() override { ::umask(mask_); }

  void open_to_all() const {
    fs::permissions(options_.directory, fs::perms(0755));
    for (const auto& entry : fs::recursive_directory_iterator(options_.directory)) {
      fs::permissions(entry, fs::perms(entry.is_directory() ? 0755 : 0644));
    }
  }

  Error refusal() {
    const auto opened = try_open();
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }

  bool needs_root() const { return ::geteuid() != 0; }

 private:
  const mode_t mask_;
};

TEST_F(PrivateStore, HasNothingThatAnotherUserCanRead) {
  options_.memtable_bytes = 256U << 10;  // Files of every kind are made.
  open();
  for (int i = 0; i < 100; ++i) {
    commit(put(key_of("home", i), Bytes(20'000, 'x'), absent()));
  }
  EXPECT_EQ(open_to_others(options_.directory), std::vector<fs::path>());
  EXPECT_FALSE(files(".sst").empty());
  close();
  open();
  EXPECT_EQ(open_to_others(options_.directory), std::vector<fs::path>());
}

TEST_F(PrivateStore, TheDirectoriesAboveItAreLeftToTheUser) {
  options_.directory = dir_.path() / "a" / "b" / "store/";
  open();
  EXPECT_EQ(fs::status(dir_.path() / "a" / "b").permissions(), fs::perms(0777));
  EXPECT_EQ(fs::status(dir_.path() / "a" / "b" / "store").permissions(), kDirectoryMode);
}

TEST_F(PrivateStore, ACheckpointOfItIsPrivateToo) {
  open();
  commit(put(key_of("home"), "value", absent()));
  ASSERT_TRUE(checkpoint_rocksdb(*store_, dir_.path() / "copy"));
  EXPECT_EQ(open_to_others(dir_.path() / "copy"), std::vector<fs::path>());
}

TEST_F(PrivateStore, OneThatWasOpenToAllIsClosedWhenItIsOpened) {
  open();
  commit(put(key_of("home"), "value", absent()));
  fs::create_directory(options_.directory / "checkpoints");
  ASSERT_TRUE(checkpoint_rocksdb(*store_, options_.directory / "checkpoints" / "one"));
  close();
  open_to_all();
  open();
  EXPECT_EQ(open_to_others(options_.directory), std::vector<fs::path>());
  EXPECT_TRUE(has(key_of("home")));
}

TEST_F(PrivateStore, ADirectoryOfSomethingElseKeepsItsPermissions) {
  fs::create_directory(options_.directory);
  std::ofstream(options_.directory / "letter.txt") << "Dear all";
  EXPECT_EQ(refusal().code, ErrorCode::invalid);
  EXPECT_EQ(fs::status(options_.directory).permissions(), fs::perms(0777));
  EXPECT_EQ(fs::status(options_.directory / "letter.txt").permissions(), fs::perms(0666));
}

TEST_F(PrivateStore, AFileOfAnotherUserIsRefusedWithASentence) {
  if (needs_root()) return;
  open();
  close();
  const fs::path planted = options_.directory / "planted";
  std::ofstream(planted) << "x";
  ASSERT_EQ(::chown(planted.c_str(), 12'345, 12'345), 0);
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_NE(error.message.find("planted"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("another user (uid 12345)"), std::string::npos) << error.message;
}

TEST_F(PrivateStore, ADirectoryOfAnotherUserIsRefusedWithASentence) {
  if (needs_root()) return;
  open();
  close();
  fs::permissions(dir_.path(), fs::perms(0755));
  fs::permissions(options_.directory, fs::perms(0777));
  testing::ChildProcess other(ROCKSDB_STORE_CHILD, {"open-as-nobody", options_.directory.string()});
  EXPECT_EQ(other.read_line(), "unavailable");
  const std::string message = other.read_line().value_or("");
  EXPECT_NE(message.find("belongs to another user (uid 0)"), std::string::npos) << message;
  EXPECT_EQ(other.wait(), 0);
}

// As a service's directory is to root's commands.
TEST_F(PrivateStore, RootOpensTheDirectoryOfAnyUser) {
  if (needs_root()) return;
  open();
  commit(put(key_of("home"), "value", absent()));
  close();
  ASSERT_EQ(::chown(options_.directory.c_str(), 12'345, 12'345), 0);
  for (const auto& entry : fs::directory_iterator(options_.directory)) {
    ASSERT_EQ(::chown(entry.path().c_str(), 12'345, 12'345), 0);
  }
  open();
  EXPECT_TRUE(has(key_of("home")));
}

TEST_F(PrivateStore, NoSymbolicLinkInItIsFollowed) {
  open();
  close();
  const fs::path victim = dir_.path() / "victim";
  std::ofstream(victim) << "precious";
  fs::permissions(victim, fs::perms(0644));
  for (const std::string name : {"LOG", "LOCK", "commits.spare.0000000000", "checkpoints", "any"}) {
    fs::remove_all(options_.directory / name);
    fs::create_symlink(victim, options_.directory / name);
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::invalid) << name << ": " << error.message;
    fs::remove(options_.directory / name);
  }
  EXPECT_EQ(fs::file_size(victim), 8U);
  EXPECT_EQ(fs::status(victim).permissions(), fs::perms(0644));
  open();
}

TEST_F(PrivateStore, NothingIsWrittenThroughASymbolicLinkThatAppearsLater) {
  const auto env = private_files(*rocksdb::Env::Default());
  fs::create_symlink(dir_.path() / "victim", dir_.path() / "link");
  std::unique_ptr<rocksdb::WritableFile> file;
  EXPECT_FALSE(env->NewWritableFile((dir_.path() / "link").string(), &file, {}).ok());
  EXPECT_FALSE(fs::exists(dir_.path() / "victim"));
}

TEST_F(PrivateStore, ALinkToTheDirectoryIsFollowedIfNoOtherUserMadeIt) {
  open();
  commit(put(key_of("home"), "value", absent()));
  close();
  const fs::path link = dir_.path() / "link";
  fs::create_directory_symlink(options_.directory, link);
  const fs::path store = std::exchange(options_.directory, link);
  open();
  EXPECT_TRUE(has(key_of("home")));
  close();
  EXPECT_EQ(open_to_others(store), std::vector<fs::path>());
  if (needs_root()) return;
  ASSERT_EQ(::lchown(link.c_str(), 12'345, 12'345), 0);
  EXPECT_EQ(refusal().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace once
