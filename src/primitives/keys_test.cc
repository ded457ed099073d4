#include "primitives/keys.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace once {
namespace {

TEST(Keys, ANameIsUtf8WithoutControlCharacters) {
  for (const char* name : {"a", "a/b c", "ü", "日本", "😀", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(keys::check_name(name).has_value()) << name;
  }
  const char* const bad[] = {"",         "\x1f",         "\x7f",         "\xc2\x80",
                             "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                             "\xc3",     "a\xff",        "\x80",         "\xf0\x80\x80\x80"};
  for (const char* name : bad) EXPECT_FALSE(keys::check_name(name).has_value()) << name;
}

TEST(Keys, EveryByteOfANameCounts) {
  for (std::size_t length = 1; length <= 17; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 0x80; ++byte) {
        std::string name(length, '~');
        name[at] = static_cast<char>(byte);
        EXPECT_EQ(keys::check_name(name).has_value(), byte >= 0x20 && byte != 0x7f) << name;
      }
      EXPECT_FALSE(keys::check_name(std::string(length, ' ').replace(at, 1, "\xff")).has_value());
    }
  }
}

TEST(Keys, ANameComesBackFromItsHomeWhateverItContains) {
  const Key key = keys::claim("team-1", "a/b//c");
  EXPECT_EQ(keys::name_in(key.partition.home), "a/b//c");
  EXPECT_TRUE(key.partition.home.starts_with(keys::claim_prefix("team-1")));
}

TEST(Keys, NamespacesDoNotReachIntoEachOther) {
  EXPECT_FALSE(keys::claim("team", "x").partition.home.starts_with(keys::claim_prefix("tea")));
  EXPECT_FALSE(keys::check_namespace("a/b").has_value());
  EXPECT_FALSE(keys::check_namespace("").has_value());
  EXPECT_FALSE(keys::check_namespace(std::string(65, 'n')).has_value());
}

TEST(Keys, EveryHomeOfANamespaceBeginsWithOneOfItsPrefixes) {
  const std::vector<std::string> prefixes = keys::prefixes("n");
  for (const std::string& home :
       {keys::claim("n", "x").partition.home, keys::log_home("n", "x"),
        keys::document("n", "x").partition.home, keys::tally("n", "x").partition.home,
        keys::commit_id("n", "x").partition.home}) {
    EXPECT_TRUE(std::ranges::any_of(prefixes, [&](const std::string& prefix) {
      return home.starts_with(prefix);
    })) << home;
    EXPECT_TRUE(keys::is_home(home)) << home;
  }
  EXPECT_TRUE(keys::is_home(keys::token("x").partition.home));
  for (const char* home : {"", "claim", "claim/", "claim/n", "claim/n/", "claim//x", "claim/a b/x",
                           "clam/n/x", "token/", "/n/x"}) {
    EXPECT_FALSE(keys::is_home(home)) << home;
  }
}

}  // namespace
}  // namespace once
