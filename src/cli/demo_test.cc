// The demo from outside. What its audit counts is tested beside it, in src/demo/.
#include "cli/cli_fixture.h"
#include "wire/json.h"

namespace once::cli {
namespace {

using Demo = Cli;

std::int64_t number_at(const std::string& text, const std::string& pointer) {
  const Result<api::Json> body = api::parse_json(text);
  std::int64_t value = -1;
  if (!body || body->at_pointer(pointer).get(value) != simdjson::SUCCESS) {
    ADD_FAILURE() << pointer << " is not in " << text;
  }
  return value;
}

TEST_F(Demo, OnceIsFlawlessAndEveryKillHappensWhateverTheSeed) {
  for (const char* seed : {"1", "2", "3"}) {
    const Outcome outcome =
        once("demo --orders 60 --workers 8 --kills 12 --json --seed " + std::string(seed));
    ASSERT_EQ(outcome.exit_code, 0) << seed << outcome.out << outcome.err;
    EXPECT_EQ(outcome.err, "");
    for (const char* fault : {"lost", "applied_again", "gaps", "cents_off"}) {
      EXPECT_EQ(number_at(outcome.out, std::string("/once/") + fault), 0) << seed << fault;
    }
    EXPECT_EQ(number_at(outcome.out, "/once/applied"), 60);
    EXPECT_EQ(number_at(outcome.out, "/once/killed"), 12);
    EXPECT_EQ(number_at(outcome.out, "/naive/killed"), 12);
    EXPECT_GE(number_at(outcome.out, "/once/timed_out"), 12);
    EXPECT_EQ(number_at(outcome.out, "/naive/applied") + number_at(outcome.out, "/naive/lost"), 60);
  }
}

// One worker at a time and nobody killed: the naive code is right as it stands.
TEST_F(Demo, TheNaiveSideIsFlawlessWithoutRacesAndKills) {
  const Outcome outcome = once("demo --orders 30 --workers 1 --kills 0 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* fault : {"lost", "applied_again", "gaps", "cents_off"}) {
    EXPECT_EQ(number_at(outcome.out, std::string("/naive/") + fault), 0) << fault;
  }
}

// No race: what is wrong then is what killed workers left behind them.
TEST_F(Demo, WhatKilledWorkersLeaveBehindIsCountedOnTheNaiveSideOnly) {
  const Outcome outcome = once("demo --orders 30 --workers 1 --kills 30 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_GT(number_at(outcome.out, "/naive/applied_again"), 0);
  EXPECT_GT(number_at(outcome.out, "/naive/gaps"), 0);
  EXPECT_GT(number_at(outcome.out, "/once/taken_over"), 0);
}

TEST_F(Demo, PrintsATableWithoutATerminalAndLeavesNothingBehind) {
  const Outcome outcome = shell(
      "mkdir tmp && TMPDIR=$PWD/tmp once demo --orders 20 --seed 4 && ls -A tmp && test ! -e "
      "store");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(holds(outcome.out, "20 orders in ")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, "orders lost ")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, "two workers took the same index")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("once: every order took effect once\n")) << outcome.out;
  EXPECT_FALSE(holds(outcome.out, "\x1b")) << outcome.out;
}

TEST_F(Demo, ASignalEndsItAndLeavesNothingBehind) {
  const Outcome outcome = shell(
      "mkdir tmp; TMPDIR=$PWD/tmp once demo --orders 20000 & pid=$!\n"
      "until [ -e tmp/once-demo-*/once ] || ! kill -0 $pid; do :; done\n"
      "kill -TERM $pid; wait $pid; echo $?; ls -A tmp");
  EXPECT_EQ(outcome.out, "143\n") << outcome.err;
}

TEST_F(Demo, RefusesSizesBeyondItsBounds) {
  for (const char* wrong :
       {"--orders 0", "--orders 20001", "--workers 0", "--workers 65", "--kills -1",
        "--orders 5 --kills 6", "--seed -1", "--seed x", "more"}) {
    const Outcome outcome = once(std::string("demo ") + wrong);
    EXPECT_EQ(outcome.exit_code, 64) << wrong;
    EXPECT_EQ(outcome.out, "") << wrong;
    EXPECT_FALSE(outcome.err.empty()) << wrong;
  }
}

}  // namespace
}  // namespace once::cli
