#include "cli/outcome.h"

#include <gtest/gtest.h>

#include "wire/json.h"

namespace once::cli {
namespace {

process::Finished finished_with(const std::string& output) {
  process::Captured captured;
  captured.add(output);
  return {.status = 0, .outputs = {captured, captured}};
}

// The smallest value that a store takes is 396 KiB, DynamoDB's.
TEST(OutcomeOfACommand, H16_TakesNoMoreThanHalfAsMuchAgainWhateverWasWritten) {
  for (const char c : {'\0', '\x1f', '"', '\\', '\n', 'a', '\xff'}) {
    const std::string json = outcome_json(finished_with(std::string(100'000, c)));
    EXPECT_LT(json.size(), 2 * process::Keep::kUsual * 3 / 2) << static_cast<int>(c);
    EXPECT_NE(json.find("\"stderr_cut\":true"), std::string::npos);
  }
}

TEST(OutcomeOfACommand, WhatIsShorterThanItWasIsMarkedAndStillText) {
  EXPECT_EQ(outcome_json(finished_with("a\u00e9"), 2),
            R"({"exit":0,"stdout":"a","stdout_cut":true,"stderr":"a","stderr_cut":true})");
  EXPECT_EQ(outcome_json(finished_with("ab"), 2), R"({"exit":0,"stdout":"ab","stderr":"ab"})");
  EXPECT_EQ(outcome_json(finished_with("ab"), 0),
            R"({"exit":0,"stdout":"","stdout_cut":true,"stderr":"","stderr_cut":true})");
}

// The API stores what it makes of a result's JSON, the library a result's bytes.
TEST(OutcomeOfACommand, IsTheLineThatAServerWouldMakeOfIt) {
  for (int c = 0; c < 128; ++c) {
    const std::string json =
        outcome_json(finished_with("some text \u00e9 and " + std::string(1, static_cast<char>(c))));
    EXPECT_EQ(wire::to_line(wire::parse_json(json).value()), json);
  }
}

}  // namespace
}  // namespace once::cli
