#include "server/journal.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/manual_clock.h"
#include "wire/json.h"

namespace once::server {
namespace {

using namespace std::chrono_literals;
using Format = JournalOptions::Format;

class JournalTest : public ::testing::Test {
 protected:
  JournalOptions options(Format format) {
    return {.format = format, .least = Level::info, .lines_a_second = 3, .write = writer()};
  }
  std::function<bool(std::string_view)> writer() {
    return [this](std::string_view line) {
      if (taken_) lines_.emplace_back(line);
      return taken_;
    };
  }
  static bool is_json(std::string_view line) { return api::parse_json(line).has_value(); }

  testing::ManualClock clock_;
  std::vector<std::string> lines_;
  bool taken_ = true;
};

TEST_F(JournalTest, ALineOfTextIsReadByPeople) {
  Journal journal(options(Format::text), clock_);
  journal.line(Level::info, "start")
      .text("url", "http://127.0.0.1:1")
      .text("store", "rocksdb /a b")
      .integer("n", -3)
      .milliseconds("took_ms", 1'500us);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0].substr(25),
            "info start url=http://127.0.0.1:1 store=\"rocksdb /a b\" n=-3 took_ms=1.500\n");
}

TEST_F(JournalTest, ALineOfJsonIsOneObject) {
  Journal journal(options(Format::json), clock_);
  journal.line(Level::warning, "odd").text("key", "a\"b\nc").time("at", clock_.now());
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(is_json(lines_[0])) << lines_[0];
  EXPECT_NE(lines_[0].find(R"("level":"warning","event":"odd","key":"a\"b\u000ac","at":")"),
            std::string::npos)
      << lines_[0];
}

TEST_F(JournalTest, NobodyCanForgeALine) {
  for (const Format format : {Format::text, Format::json}) {
    lines_.clear();
    Journal journal(options(format), clock_);
    journal.line(Level::info, "x").text("key", "a\n2026 error forged").text("odd", "\xff\n");
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(lines_[0].find('\n'), lines_[0].size() - 1) << lines_[0];
  }
}

TEST_F(JournalTest, ALineIsNeverLongerThanAPipeTakesAtOnce) {
  Journal journal(options(Format::json), clock_);
  {
    Journal::Line line = journal.line(Level::info, "x");
    for (int i = 0; i < 100; ++i) line.text("key", std::string(10'000, '\x01'));
  }
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_LE(lines_[0].size(), 4'096U);
  EXPECT_TRUE(is_json(lines_[0]));
}

TEST_F(JournalTest, ATextIsNotCutWithinACharacter) {
  Journal journal(options(Format::json), clock_);
  std::string text = "a";
  for (int i = 0; i < 300; ++i) text += "\xc3\xa9";
  journal.line(Level::info, "x").text("key", text);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(is_json(lines_[0]));
  EXPECT_EQ(lines_[0].find("not UTF-8"), std::string::npos);
}

TEST_F(JournalTest, WhatIsBelowTheLevelIsNotWritten) {
  Journal journal({.least = Level::error, .write = writer()}, clock_);
  journal.line(Level::warning, "x").text("key", "a");
  EXPECT_TRUE(lines_.empty());
  EXPECT_FALSE(journal.takes(Level::warning));
}

TEST_F(JournalTest, AFloodOfLinesIsCutAndCounted) {
  Journal journal(options(Format::text), clock_);
  for (int i = 0; i < 10; ++i) journal.line(Level::info, "x");
  EXPECT_EQ(lines_.size(), 3U);
  journal.line(Level::error, "y");  // It does not drown what matters more.
  EXPECT_EQ(lines_.size(), 4U);
  clock_.advance(1s);
  journal.line(Level::info, "x");
  ASSERT_EQ(lines_.size(), 6U);
  EXPECT_NE(lines_[4].find("info dropped lines=7\n"), std::string::npos) << lines_[4];
}

TEST_F(JournalTest, WhatNobodyTakesIsCountedToo) {
  Journal journal(options(Format::json), clock_);
  taken_ = false;
  journal.line(Level::info, "x");
  taken_ = true;
  journal.line(Level::info, "x");
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_NE(lines_[0].find(R"("event":"dropped","lines":1})"), std::string::npos) << lines_[0];
  EXPECT_TRUE(is_json(lines_[0]));
}

}  // namespace
}  // namespace once::server
