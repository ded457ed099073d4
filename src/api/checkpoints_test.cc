#include "api/checkpoints.h"

#include <gtest/gtest.h>

#include <future>

#include "testing/temp_dir.h"

namespace once::api {
namespace {

constexpr Time kNow{Duration(1'794'816'000'123)};

void await(const std::shared_ptr<const Checkpoints::Job>& job) {
  while (!job->done.load(std::memory_order_acquire)) std::this_thread::yield();
}

TEST(Checkpoints, OneIsMadeAtATimeAndNamedAfterTheTime) {
  const testing::TempDir store;
  std::promise<void> gate;
  std::atomic<int> made = 0;
  Checkpoints checkpoints(store.path(), [&](const std::filesystem::path& to) {
    gate.get_future().wait();
    ++made;
    EXPECT_TRUE(std::filesystem::exists(to.parent_path()));
    return Result<void>();
  });
  const auto first = checkpoints.begin(kNow);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->directory, store.path() / "checkpoints" / "20261116T080000.123Z");
  EXPECT_EQ(checkpoints.begin(kNow), nullptr);
  gate.set_value();
  await(first);
  EXPECT_TRUE(first->outcome);
  gate = {};
  gate.set_value();
  const auto second = checkpoints.begin(kNow + Duration(1));
  ASSERT_NE(second, nullptr);
  await(second);
  EXPECT_EQ(made, 2);
}

TEST(Checkpoints, AFailureIsToldAndTheNextMayBeMade) {
  const testing::TempDir store;
  Checkpoints checkpoints(store.path(), [](const std::filesystem::path&) -> Result<void> {
    return failure(ErrorCode::unavailable, "no room");
  });
  for (int i = 0; i < 2; ++i) {
    const auto job = checkpoints.begin(kNow + Duration(i));
    ASSERT_NE(job, nullptr);
    await(job);
    ASSERT_FALSE(job->outcome);
    EXPECT_EQ(job->outcome.error().message, "no room");
  }
}

TEST(Checkpoints, AreInADirectoryOfTheirOwnersAlone) {
  const testing::TempDir store;
  Checkpoints checkpoints(store.path(),
                          [](const std::filesystem::path&) { return Result<void>(); });
  await(checkpoints.begin(kNow));
  EXPECT_EQ(std::filesystem::status(store.path() / "checkpoints").permissions(),
            std::filesystem::perms::owner_all);
}

TEST(Checkpoints, AreNotMadeBehindASymbolicLink) {
  const testing::TempDir store;
  const testing::TempDir elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.path(), store.path() / "checkpoints");
  Checkpoints checkpoints(store.path(),
                          [](const std::filesystem::path&) { return Result<void>(); });
  const auto job = checkpoints.begin(kNow);
  await(job);
  EXPECT_FALSE(job->outcome);
}

}  // namespace
}  // namespace once::api
