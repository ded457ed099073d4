// What needs no wire: names, objects, and lists of names.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "stores/s3/listing.h"
#include "stores/s3/names.h"
#include "stores/s3/object.h"

namespace once::s3 {
namespace {

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

TEST(S3Names, AreReadableWhereTheyCanBe) {
  EXPECT_EQ(object_name({{"claim/ns/job-42.x", ""}, kLast}),
            "!i/claim/ns/job-42.x/!s/0000000000000000");
  EXPECT_EQ(object_name({{"log/ns/a b", "c/1"}, 0}), "!i/log/ns/a!20b/!p/c/1/!s/7fffffffffffffff");
  EXPECT_EQ(object_name({{"h", "!+%"}, 0}), "!i/h/!p/!21!2b!25/!s/7fffffffffffffff");
}

TEST(S3Names, HaveNoPartsOfWhichAServerMakesAnotherPath) {
  for (const std::string home : {"/", "//", "a//b", "/a", "a/", ".", "..", "a/../b", "./a", "a/.",
                                 "...", "a/..", "\xff", "\n", ""}) {
    for (const std::string part : {"", "/", "..", "a/./b"}) {
      const std::string name = object_name({{"h" + home, part}, 1});
      EXPECT_EQ(name.find("//"), std::string::npos) << name;
      std::string_view rest = name;
      while (!rest.empty()) {
        const std::string_view segment = rest.substr(0, rest.find('/'));
        EXPECT_NE(segment, ".") << name;
        EXPECT_NE(segment, "..") << name;
        rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
      }
    }
  }
}

TEST(S3Names, H28_TheNewestOfAPartitionComesFirst) {
  std::string previous;
  for (const std::int64_t sort : {kLast, kLast - 1, std::int64_t{1} << 40, std::int64_t{256},
                                  std::int64_t{16}, std::int64_t{1}, std::int64_t{0}}) {
    const std::string name = object_name({{"h", "p"}, sort});
    EXPECT_LT(previous, name);
    EXPECT_EQ(sort_in(name), sort);
    previous = name;
  }
}

TEST(S3Names, OfDifferentPartitionsNeverBeginWithEachOther) {
  std::set<std::string> names;
  std::size_t count = 0;
  for (const std::string home : {"a", "a/", "a/!s", "a/!p/b", "a!s", "ab", "a/b", "a.", "a/."}) {
    for (const std::string part : {"", "b", "!s", "/", "b/!s/0000000000000000"}) {
      names.insert(partition_name({home, part}));
      ++count;
    }
  }
  ASSERT_EQ(names.size(), count);
  for (auto name = names.begin(); std::next(name) != names.end(); ++name) {
    EXPECT_FALSE(std::next(name)->starts_with(*name)) << *name << " " << *std::next(name);
  }
}

TEST(S3Names, LongOnesAreHashedAndStayWithinS3sBound) {
  const std::string longest = object_name({{std::string(4'000, '\xff'), "p"}, 7});
  EXPECT_TRUE(longest.starts_with("!h/"));
  EXPECT_LE(longest.size() + kMaxPrefixBytes, 1'024U);
  EXPECT_NE(longest, object_name({{std::string(4'000, '\xff'), "q"}, 7}));
  const std::string plain = object_name({{std::string(kMaxPlainBytes, 'x'), ""}, 7});
  EXPECT_TRUE(plain.starts_with("!i/"));
  EXPECT_LE(plain.size() + kMaxPrefixBytes, 1'024U);
}

TEST(S3Names, AHomesPrefixCoversAllHomesThatBeginWithIt) {
  for (const std::string prefix : {"", "a", "a/", "a/.", "a/..", "a//", ".", "/", "a b/"}) {
    for (const std::string rest : {"", "x", "/", ".", "/x", "..", "\xff"}) {
      if ((prefix + rest).empty()) continue;
      EXPECT_TRUE(partition_name({prefix + rest, ""}).starts_with(home_prefix_name(prefix)))
          << prefix << " + " << rest;
    }
  }
}

TEST(S3Names, WhatIsNoSortIsNone) {
  for (const char* const name :
       {"", "0000000000000000", "!i/h/!s/000000000000000", "!i/h/!s/00000000000000000",
        "!i/h/!s/000000000000000g", "!i/h/!s/ffffffffffffffff", "!i/h/!s/000000000000000A"}) {
    EXPECT_EQ(sort_in(name), std::nullopt) << name;
  }
}

Object some_object() {
  return {.key = {{"home", std::string("p\0\xff", 3)}, 5},
          .item = {Bytes("value"), Version{~0ULL}, Time(Duration(77))},
          .before = {Version{3}, Version{1}}};
}

TEST(S3Object, ComesBackAsItWas) {
  Object object = some_object();
  for (const Value& value : {Value(Bytes()), Value(std::int64_t{-1}), Value(Bytes("\0x", 2))}) {
    object.item.value = value;
    const Result<Object> read = read_object(object_bytes(object));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->key, object.key);
    EXPECT_EQ(read->item, object.item);
    EXPECT_EQ(read->before, object.before);
    EXPECT_FALSE(read->tombstone);
  }
  const Result<Object> erased = read_object(object_bytes(tombstone({{"h", ""}, 0}, {9}, Time())));
  ASSERT_TRUE(erased.has_value());
  EXPECT_TRUE(erased->tombstone);
  EXPECT_FALSE(lives(*erased, Time()));
}

TEST(S3Object, AnyDamageIsCorrupt) {
  const std::string sound = object_bytes(some_object());
  for (std::size_t i = 0; i < sound.size(); ++i) {
    std::string damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(read_object(damaged).has_value()) << i;
    EXPECT_FALSE(read_object(sound.substr(0, i)).has_value()) << i;
  }
  EXPECT_FALSE(read_object(sound + "x").has_value());
}

TEST(S3Object, RemembersAsManyVersionsAsFit) {
  std::vector<Version> before;
  for (std::uint64_t i = 1; i <= 40; ++i) before = after(Version{i}, before);
  ASSERT_EQ(before.size(), kMaxBefore);
  EXPECT_EQ(before.front(), Version{40});
  EXPECT_EQ(before.back(), Version{40 - kMaxBefore + 1});
}

TEST(S3Listing, NamesAreReadAsAmazonAndOthersWriteThem) {
  const Result<NamePage> page = read_names(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Name>b</Name><Prefix>a+b%2F</Prefix>"
      "<IsTruncated>true</IsTruncated><Contents><Key>a+b%2Fi/x%21</Key><Size>12</Size></Contents>"
      "<Contents><Size>3</Size><Key>a%20b/i%2Fy&apos;&amp;amp;</Key></Contents></ListBucketResult>",
      "a b/");
  ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_TRUE(page->more);
  ASSERT_EQ(page->names.size(), 2U);
  EXPECT_EQ(page->names[0].name, "i/x!");
  EXPECT_EQ(page->names[0].size, 12U);
  EXPECT_EQ(page->names[1].name, "i/y'&amp;");
}

TEST(S3Listing, WhatIsNoListIsCorrupt) {
  for (const char* const xml :
       {"", "<html>", "<ListBucketResult>", "<ListBucketResult><Contents><Key>a</Key></Contents>",
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>%zz</Key></Contents>",
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>other</Key></"
        "Contents>"}) {
    EXPECT_FALSE(read_names(xml, "p/").has_value()) << xml;
  }
}

}  // namespace
}  // namespace once::s3
