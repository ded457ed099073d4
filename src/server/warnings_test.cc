#include "server/warnings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace once::server {
namespace {

using Names = std::set<std::string>;

// A server that has nothing to be warned of.
StartupFacts quiet() {
  return {.store = "/var/lib/once",
          .listen = "127.0.0.1:7600",
          .max_connections = 10'000,
          .descriptors = 65'536,
          .room = 10ULL << 30U};
}

Names names_for(const StartupFacts& facts) {
  Names names;
  for (const Warning& warning : warnings_for(facts)) names.emplace(warning.name);
  return names;
}

TEST(Warnings, AnOrdinaryStartHasNone) { EXPECT_EQ(names_for(quiet()), Names{}); }

TEST(Warnings, EachHasItsReason) {
  const auto with = [](auto change) {
    StartupFacts now = quiet();
    change(now);
    return names_for(now);
  };
  EXPECT_EQ(with([](StartupFacts& now) { now.listen = "0.0.0.0:7600"; }),
            (Names{"open_to_all", "plain_http"}));
  EXPECT_EQ(with([](StartupFacts& now) {
              now.listen = "0.0.0.0:7600";
              now.has_tokens = true;
            }),
            Names{"plain_http"});
  EXPECT_EQ(with([](StartupFacts& now) { now.no_token_left = true; }), Names{"no_token_left"});
  EXPECT_EQ(with([](StartupFacts& now) { now.store = "memory:"; }), Names{"memory"});
  EXPECT_EQ(with([](StartupFacts& now) { now.store = "rocksdb:/x?durability=relaxed"; }),
            Names{"relaxed"});
  EXPECT_EQ(with([](StartupFacts& now) { now.if_store_down_proceed = true; }),
            Names{"proceeds_without_store"});
  EXPECT_EQ(with([](StartupFacts& now) { now.after_unknown_retry = true; }),
            Names{"after_unknown_retry"});
  EXPECT_EQ(with([](StartupFacts& now) { now.descriptors = 10'000; }), Names{"few_descriptors"});
  EXPECT_EQ(with([](StartupFacts& now) { now.room = 1U << 20U; }), Names{"little_room"});
}

TEST(Warnings, DoctorHasThoseThatItDoesNotJudgeItself) {
  StartupFacts now = quiet();
  now.store = "memory:";
  now.if_store_down_proceed = true;
  const std::vector<api::Finding> found = findings_for(now);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].check, "proceeds_without_store");
  EXPECT_EQ(found[0].level, api::Finding::Level::warning);
  EXPECT_FALSE(found[0].remedy.empty());
}

TEST(Warnings, TheOperatingSystemIsAskedForRoomAndDescriptors) {
  const StartupFacts here = collect_facts({.store = "/tmp"});
  EXPECT_GT(here.descriptors, 0U);
  EXPECT_TRUE(here.room.has_value());
  EXPECT_FALSE(collect_facts({.store = "memory:"}).room.has_value());
}

// The rows of the table below "## Warnings at the start".
Names documented() {
  std::ifstream file(ONCE_SOURCE_DIR "/docs/operations.md");
  Names names;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## Warnings at the start";
    if (inside && line.starts_with("| `")) names.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

TEST(Warnings, TheOperatorsManualExplainsEachAndNoOther) {
  Names there;
  for (const Warning& warning : all_warnings()) there.emplace(warning.name);
  EXPECT_EQ(documented(), there);
}

}  // namespace
}  // namespace once::server
