// A directory that servers and programs share, call by call.
#include "directory/directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "directory/owner.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/open.h"
#include "testing/code_of.h"
#include "testing/in_process_server.h"
#include "testing/temp_dir.h"

namespace once::directory {
namespace {

using namespace std::chrono_literals;
using testing::code_of;

class SharedDirectory : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open(Duration wait_for_turn = 0s) const {
    return open_store(path_.string(), {.wait_for_turn = wait_for_turn});
  }
  std::unique_ptr<Backend> share() const {
    return share_directory(
        {.directory = path_, .open = [this](Duration wait) { return open(wait); }});
  }

  const testing::TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "state";
};

// A server that has the directory, and says so there.
class Owning {
 public:
  Owning(std::unique_ptr<Store> store, const std::filesystem::path& directory)
      : store_(std::move(store)),
        server_(*store_, {.instance = "i", .secret = "s"}),
        file_(AddressFile::write(directory, {server_.url(), "i", "s"}).value()) {}

 private:
  const std::unique_ptr<Store> store_;
  testing::InProcessServer server_;
  AddressFile file_;
};

TEST_F(SharedDirectory, TheStoreIsOpenForTheLengthOfACallOnly) {
  const auto shared = share();
  EXPECT_TRUE(shared->log().append("s", {{"e"}}).has_value());
  EXPECT_TRUE(open().has_value());
  EXPECT_EQ(shared->log().ends("s").value().next, 2);
  EXPECT_EQ(shared->store(), nullptr);
}

TEST_F(SharedDirectory, EachCallGoesToWhoHasTheDirectoryThen) {
  const auto shared = share();
  EXPECT_TRUE(shared->tallies().merge("t", {.input = 1}).has_value());
  {
    const Owning server(open().value(), path_);
    EXPECT_TRUE(shared->tallies().merge("t", {.input = 10}).has_value());
    EXPECT_EQ(code_of(open()), ErrorCode::unavailable);
  }
  EXPECT_TRUE(shared->tallies().merge("t", {.input = 100}).has_value());
  EXPECT_EQ(std::get<std::int64_t>(shared->tallies().read("t").value()->value), 111);
}

TEST_F(SharedDirectory, AnAddressThatNobodyAnswersAtIsStale) {
  EXPECT_TRUE(open().has_value());
  const auto left = AddressFile::write(path_, {"http://127.0.0.1:1", "i", "s"});
  EXPECT_TRUE(share()->documents().put("d", {"x"}, documents::IfAbsent{}).has_value());
}

TEST_F(SharedDirectory, TheAddressIsForTheOwnerOfTheDirectoryAlone) {
  EXPECT_TRUE(open().has_value());
  // A link that was put where the file is prepared.
  std::filesystem::create_symlink(dir_.path() / "victim", path_ / "server.new");
  const auto file = AddressFile::write(path_, {"http://127.0.0.1:1", "i", "s"});
  ASSERT_TRUE(file.has_value());
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "victim"));
  EXPECT_EQ(std::filesystem::symlink_status(path_ / "server").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(AddressFile::read(path_).value().instance, "i");
}

TEST_F(SharedDirectory, AnAddressThatAnotherUserLeftIsNotRead) {
  EXPECT_TRUE(open().has_value());
  const auto elsewhere = dir_.path() / "elsewhere";
  std::ofstream(elsewhere) << "http://127.0.0.1:1\ni\ns\n";
  std::filesystem::create_symlink(elsewhere, path_ / "server");
  EXPECT_FALSE(AddressFile::read(path_).has_value());
  std::filesystem::remove(path_ / "server");
  const auto file = AddressFile::write(path_, {"http://127.0.0.1:1", "i", "s"});
  ASSERT_TRUE(AddressFile::read(path_).has_value());
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown((path_ / "server").c_str(), 12'345, 12'345), 0);
  EXPECT_FALSE(AddressFile::read(path_).has_value());
}

TEST_F(SharedDirectory, AnotherInstanceAtTheAddressIsNotAsked) {
  EXPECT_TRUE(open().has_value());
  const auto memory = open_memory();
  const testing::InProcessServer stranger(*memory, {.instance = "i", .secret = "another"});
  const auto left = AddressFile::write(path_, {stranger.url(), "i", "s"});
  EXPECT_TRUE(share()->log().append("s", {{"e"}}).has_value());
  EXPECT_EQ(LocalLog(*memory).ends("s").value().next, 1);
}

// It knows all but what is in the directory.
TEST_F(SharedDirectory, AnImpostorAtTheAddressIsAskedForNothingWhileAnotherHasTheDirectory) {
  const auto held = open();
  const auto memory = open_memory();
  const testing::InProcessServer impostor(*memory, {.instance = "i", .secret = "guessed"});
  const auto left = AddressFile::write(path_, {impostor.url(), "i", "s"});
  EXPECT_EQ(code_of(share()->log().append("s", {{"e"}}, {}, 50ms)), ErrorCode::unavailable);
  EXPECT_EQ(LocalLog(*memory).ends("s").value().next, 1);
}

// As one does that passes on what it is asked.
TEST_F(SharedDirectory, AProofIsGoodForTheAddressOfItsServerOnly) {
  const auto held = open();
  const auto memory = open_memory();
  const testing::InProcessServer real(*memory, {.instance = "i", .secret = "s"});
  const auto left = AddressFile::write(path_, {real.url(), "i", "s"});
  EXPECT_TRUE(running_server(path_).has_value());
  const auto other = AddressFile::write(
      path_, {"http://localhost" + real.url().substr(real.url().rfind(':')), "i", "s"});
  EXPECT_FALSE(running_server(path_).has_value());
}

TEST_F(SharedDirectory, WhoWaitsForAClaimLetsItsHolderCompleteIt) {
  const auto shared = share();
  const auto mine = std::get<Claimed>(shared->claims().take("job", {}).value());
  Result<ClaimOutcome> theirs = Mismatch{};
  std::thread waiting([&] { theirs = shared->claims().take("job", {.owner = "b"}, 1min); });
  EXPECT_TRUE(shared->claims().complete("job", mine.ticket, "r").has_value());
  waiting.join();
  EXPECT_EQ(std::get<Done>(theirs.value()).result, "r");
}

TEST_F(SharedDirectory, WorkIsRunOnceAndOthersGetAtTheStoreMeanwhile) {
  Once once(share());
  const auto ran = once.run("job", {}, [&](Attempt&) -> Result<Effects> {
    EXPECT_TRUE(open().has_value());
    return Effects().result("r").add("sum", 1);
  });
  ASSERT_TRUE(ran.has_value()) << ran.error().error.message;
  const auto again = once.run("job", {}, [](Attempt&) -> Result<Effects> { return Effects(); });
  EXPECT_TRUE(again.has_value() && again->replayed);
}

TEST_F(SharedDirectory, AStoreThatAnotherHasOpenIsUnavailableWithinTheCallsTime) {
  const auto held = open();
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(code_of(share()->claims().take("job", {}, 0s, 50ms)), ErrorCode::unavailable);
}

}  // namespace
}  // namespace once::directory
