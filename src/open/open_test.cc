#include "once/open.h"

#include <gtest/gtest.h>

#include "testing/needs_store.h"
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
  const bool embedded =
      store_kind("rocksdb") != nullptr;  // ThreadSanitizer's lane is built without it.
  EXPECT_EQ(complaint("telepathy:there"),
            embedded
                ? "unsupported: no store \"telepathy:\"; there are memory:, rocksdb:, dynamodb:, "
                  "redis:, postgres: and s3:, or a directory"
                : "unsupported: no store \"telepathy:\"; there are memory:, dynamodb:, redis:, "
                  "postgres: and s3:");
  EXPECT_EQ(complaint(""), "invalid: a store's address is empty");
  EXPECT_EQ(complaint("memory:here"), "invalid: memory: takes no place, and one option: max_bytes");
}

TEST(Open, MemoryMayBeBounded) {
  for (const std::string size : {"1000000", "1GB", "512MiB"}) {
    EXPECT_TRUE(open_store("memory:?max_bytes=" + size)) << size;
  }
  for (const std::string size : {"", "1", "999999", "1G", "-1GB", "1GBB", "99999999999GB"}) {
    EXPECT_EQ(complaint("memory:?max_bytes=" + size),
              "invalid: max_bytes is a size such as 1GB or 512MiB, from 1MB on");
  }
  EXPECT_EQ(complaint("memory:?bytes=1GB"),
            "invalid: memory: takes no place, and one option: max_bytes");
}

// Of what expires, the least recently used goes; what does not expire stays.
TEST(Open, BoundedMemoryDropsWhatExpires) {
  auto once = open("memory:?max_bytes=1MB");
  ASSERT_TRUE(once.has_value());
  const documents::Content lasting{.bytes = "kept", .type = "text/plain"};
  ASSERT_TRUE(once->documents().put("d", lasting, documents::IfAbsent{}).has_value());
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> ids;
    for (int j = 0; j < 1'000; ++j) ids.push_back(std::to_string(i) + "-" + std::to_string(j));
    ASSERT_TRUE(once->claims().seen(ids, std::chrono::hours(1), "").has_value());
  }
  EXPECT_TRUE(once->documents().get("d").value().has_value());
  const std::vector<std::string> first = {"0-0"};
  EXPECT_TRUE(once->claims().seen(first, std::chrono::hours(1), "").value()[0]);
}

TEST(Open, AnAddressTellsItsDirectory) {
  EXPECT_EQ(directory_of("./state"), "./state");
  EXPECT_EQ(directory_of("./state?durability=relaxed"), "./state");
  EXPECT_EQ(directory_of("./what?"), "./what?");
  EXPECT_EQ(directory_of("rocksdb:/var/state?durability=relaxed"), "/var/state");
  EXPECT_EQ(directory_of("memory:"), std::nullopt);
  EXPECT_EQ(directory_of("http://there"), std::nullopt);
  EXPECT_EQ(directory_of(""), std::nullopt);
}

TEST(Open, ADirectoryIsAnAddressWithOrWithoutItsScheme) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
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
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const testing::TempDir dir;
  const std::string address = "rocksdb:" + (dir.path() / "state").string() + "?durability=";
  ASSERT_TRUE(open_store(address + "relaxed").has_value());
  EXPECT_EQ(complaint(address + "none"),
            "invalid: rocksdb has one option: durability=synced or relaxed");
}

TEST(Open, ATablesAddressIsCheckedBeforeAnythingIsSent) {
  ONCE_NEEDS_STORE_KIND("dynamodb");
  EXPECT_EQ(complaint("dynamodb:jobs"),
            "invalid: a table's address is dynamodb://TABLE?region=REGION");
  EXPECT_EQ(complaint("dynamodb://"),
            "invalid: a table's address is dynamodb://TABLE?region=REGION");
  EXPECT_EQ(complaint("dynamodb://jobs/more?region=eu-west-1"),
            "invalid: a table's address is dynamodb://TABLE?region=REGION");
  const std::string options =
      "invalid: dynamodb has the options region, endpoint, timeout (in seconds) and connections "
      "(1 to 1000), not ";
  EXPECT_EQ(complaint("dynamodb://jobs?colour=red"), options + "\"colour=red\"");
  EXPECT_EQ(complaint("dynamodb://jobs?timeout=0"), options + "\"timeout=0\"");
  EXPECT_EQ(complaint("dynamodb://jobs?connections=2x"), options + "\"connections=2x\"");
  EXPECT_EQ(complaint("dynamodb://jobs?timeout=61&region=r"),
            "invalid: dynamodb: a timeout has 1 to 60 seconds");
  EXPECT_EQ(complaint("dynamodb://jobs?region"),
            "invalid: an option of an address is NAME=VALUE, not \"region\"");
  EXPECT_EQ(complaint("dynamodb://jobs?region=%zz"),
            "invalid: an option of an address is NAME=VALUE, not \"region=%zz\"");
  EXPECT_EQ(complaint("dynamodb://jobs?region=a&region=b"),
            "invalid: option \"region\" is given twice in an address");
  EXPECT_EQ(create_table("memory:").error().code, ErrorCode::unsupported);
  EXPECT_EQ(check_table("./here").error().code, ErrorCode::unsupported);
}

TEST(Open, AnAddressOfRedisIsCheckedBeforeAnythingIsSent) {
  ONCE_NEEDS_STORE_KIND("redis");
  const std::string form =
      "invalid: an address of Redis is redis://HOST:PORT/DATABASE, or "
      "redis://USER:PASSWORD@HOST:PORT/DATABASE with what is not a letter or digit as %XX";
  for (const char* const bad :
       {"redis:", "redis://", "redis:here", "redis://host:0", "redis://host:65536/0",
        "redis://host:1/x", "redis://host/-1", "redis://user@host:1/0", "redis://user:@host:1/0",
        "redis://:secr%zt@host/0", "redis://[::1/0"}) {
    EXPECT_EQ(complaint(bad), form) << bad;
  }
  const std::string options =
      "invalid: redis has the options timeout (in seconds) and connections (1 to 1000), and rediss "
      "also ca (a file), not ";
  EXPECT_EQ(complaint("redis://host?colour=red"), options + "\"colour=red\"");
  EXPECT_EQ(complaint("redis://host?ca=file"), options + "\"ca=file\"");
  EXPECT_EQ(complaint("redis://host?connections=0"), options + "\"connections=0\"");
  EXPECT_EQ(complaint("redis://host?timeout=61"), "invalid: redis: a timeout has 1 to 60 seconds");
}

TEST(Open, AServerThatIsNotThereIsUnavailableAndNoPasswordIsTold) {
  ONCE_NEEDS_STORE_KIND("redis");
  const std::string said = complaint("redis://:s3cret@127.0.0.1:1/0?timeout=1");
  EXPECT_EQ(said, "unavailable: redis: 127.0.0.1:1: cannot connect: Connection refused");
}

TEST(Open, AnAddressOfS3IsCheckedBeforeAnythingIsSent) {
  ONCE_NEEDS_STORE_KIND("s3");
  const std::string form =
      "invalid: an address of S3 is s3://BUCKET/PREFIX?region=REGION, with a % in the prefix as "
      "%25 and a ? as %3F";
  for (const char* const bad : {"s3:", "s3://", "s3:jobs", "s3:///prefix", "s3://jobs/a%zz"}) {
    EXPECT_EQ(complaint(bad), form) << bad;
  }
  const std::string options =
      "invalid: s3 has the options region, endpoint, style (path or host), etag (quoted or bare), "
      "timeout (in seconds), connections (1 to 1000) and documents (items or plain), not ";
  for (const char* const bad : {"colour=red", "style=odd", "etag=weak", "timeout=0",
                                "connections=1001", "documents=bare"}) {
    EXPECT_EQ(complaint(std::string("s3://jobs?").append(bad)),
              options + "\"" + std::string(bad) + "\"");
  }
  EXPECT_EQ(complaint("s3://jobs?timeout=61&region=r"),
            "invalid: s3: a timeout has 1 to 60 seconds");
  for (const char* const bad : {"s3://a", "s3://b%20d", "s3://b..d", "s3://a@b"}) {
    EXPECT_TRUE(complaint(bad).starts_with("invalid: s3: a bucket's name has 3 to 63 of")) << bad;
  }
  for (const char* const bad :
       {"s3://jobs//", "s3://jobs/a/../b", "s3://jobs/.", "s3://jobs/%0a", "s3://jobs/a/!i"}) {
    EXPECT_TRUE(complaint(bad).starts_with("invalid: s3: a prefix has at most 256 bytes")) << bad;
  }
  EXPECT_EQ(complaint("s3://jobs?region=r&endpoint=ftp://here"),
            "invalid: an endpoint is http or https://host[:port], not 'ftp://here'");
}

TEST(Open, AnS3ThatIsNotThereIsUnavailable) {
  ONCE_NEEDS_STORE_KIND("s3");
  EXPECT_TRUE(complaint("s3://jobs/p?timeout=1&endpoint=http://127.0.0.1:1")
                  .starts_with("unavailable: s3: "));
}

}  // namespace
}  // namespace once
