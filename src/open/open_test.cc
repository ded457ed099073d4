#include "once/open.h"

#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace once {
namespace {

std::string complaint(std::string_view address) {
  const auto store = open_store(address);
  EXPECT_FALSE(store.has_value()) << address;
  return store ? "" : std::string(name_of(store.error().code)) + ": " + store.error().message;
}

TEST(Open, MemoryIsAnAddress) {
  auto once = open("memory:");
  ASSERT_TRUE(once.has_value());
  EXPECT_TRUE(once->commit(Effects().add("sum", 1)).has_value());
}

TEST(Open, WhatIsNoStoreIsSaidSo) {
  EXPECT_EQ(complaint("telepathy:there"),
            "unsupported: no store \"telepathy:\"; there are memory: and rocksdb:, or a directory");
  EXPECT_EQ(complaint(""), "invalid: a store's address is empty");
  EXPECT_EQ(complaint("memory:here"), "invalid: memory: takes neither a place nor options");
}

TEST(Open, AnAddressTellsItsDirectory) {
  EXPECT_EQ(directory_of("./state"), "./state");
  EXPECT_EQ(directory_of("rocksdb:/var/state?durability=relaxed"), "/var/state");
  EXPECT_EQ(directory_of("memory:"), std::nullopt);
  EXPECT_EQ(directory_of("http://there"), std::nullopt);
  EXPECT_EQ(directory_of(""), std::nullopt);
}

#ifdef ONCE_HAS_ROCKSDB
TEST(Open, ADirectoryIsAnAddressWithOrWithoutItsScheme) {
  const testing::TempDir dir;
  const std::string path = dir.path() / "state";
  for (const std::string& address : {path, "rocksdb:" + path}) {
    auto once = open(address);
    ASSERT_TRUE(once.has_value()) << once.error().message;
    const auto ran = once->run("job", {}, [](Attempt&) -> Result<Effects> { return Effects(); });
    ASSERT_TRUE(ran.has_value());
    EXPECT_EQ(ran->replayed, address != path);
  }
}

TEST(Open, DurabilityIsAnOption) {
  const testing::TempDir dir;
  const std::string address = "rocksdb:" + (dir.path() / "state").string() + "?durability=";
  ASSERT_TRUE(open_store(address + "relaxed").has_value());
  EXPECT_EQ(complaint(address + "none"),
            "invalid: rocksdb has one option: durability=synced or relaxed");
}
#endif

}  // namespace
}  // namespace once
