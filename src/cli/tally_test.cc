#include "cli/cli_fixture.h"

namespace once::cli {
namespace {

using TallyVerbs = Cli;

TEST_F(TallyVerbs, NumbersAddUp) {
  EXPECT_EQ(once("tally add sum 5").out, "5\n");
  EXPECT_EQ(once("tally add sum -7").out, "-2\n");
  EXPECT_EQ(once("tally add real 0.5").out, "0.5\n");
  EXPECT_EQ(once("tally add real 1 --real").out, "1.5\n");
  EXPECT_EQ(once("tally add real -.5").exit_code, 64) << "not a number of JSON";
  EXPECT_EQ(once("tally count n").out, "1\n");
  EXPECT_EQ(once("tally count n 4").out, "5\n");
  EXPECT_EQ(once("tally max high 3").out, "3\n");
  EXPECT_EQ(once("tally max high -3").out, "3\n");
  EXPECT_EQ(once("tally min low -3").out, "-3\n");
  EXPECT_EQ(once("tally add sum five").exit_code, 64);
  EXPECT_EQ(once("tally add sum '5,\"kind\":\"max\"'").exit_code, 64);
}

TEST_F(TallyVerbs, ATallyStaysOfItsKind) {
  once("tally add t 5");
  EXPECT_EQ(once("tally max t 5").exit_code, 1);
  EXPECT_EQ(once("tally add t 0.5").exit_code, 1);
  EXPECT_EQ(once("tally add t 9223372036854775807").exit_code, 64) << "overflow";
  EXPECT_EQ(once("tally read t").out, "5\n");
}

TEST_F(TallyVerbs, AnIdCountsOnce) {
  once("tally add t 5 --id x");
  EXPECT_EQ(once("tally add t 5 --id x").out, "5\n");
  EXPECT_EQ(once("tally add t 6 --id x").exit_code, 1);
  const std::string lines = "yes x | head -n 2500 | once tally top many --id y";
  EXPECT_EQ(shell(lines).exit_code, 0);
  EXPECT_EQ(shell(lines).exit_code, 0);
  EXPECT_TRUE(holds(once("tally read many --json").out, R"({"item":"x","count":2500,)"));
}

TEST_F(TallyVerbs, SketchesTakeWordsAndLines) {
  EXPECT_EQ(once("tally distinct d a b a").out, "2\n");
  EXPECT_EQ(shell("printf 'c\\nd\\n' | once tally distinct d").out, "4\n");
  EXPECT_EQ(once("tally top t x y x").out, "ITEM  COUNT  ERROR\nx     2      0\ny     1      0\n");
  EXPECT_EQ(once("tally top t y --count 5 --json").out,
            R"({"kind":"top","value":[{"item":"y","count":6,"error":0},)"
            R"({"item":"x","count":2,"error":0}]})"
            "\n");
  EXPECT_EQ(once("tally bloom b x --capacity 100 --rate 0.001").out, "true\n");
  EXPECT_EQ(once("tally read b --item x").out, "true\n");
  EXPECT_EQ(once("tally read b --item z").out, "false\n");
  EXPECT_EQ(once("tally bloom b x --capacity many").exit_code, 64);
}

TEST_F(TallyVerbs, WindowsAreReadByTheirStart) {
  once("tally add t 1 --window day --at 2026-01-01T10:00:00Z --ttl 3000d");
  once("tally add t 2 --window day --at 2026-01-02T10:00:00Z --ttl 3000d");
  EXPECT_EQ(once("tally read t").out, "3\n");
  EXPECT_EQ(once("tally read t --from 2026-01-02T00:00:00Z").out, "2\n");
  EXPECT_EQ(once("tally read t --to 2026-01-02T00:00:00Z").out, "1\n");
  EXPECT_EQ(once("tally read t --from yesterday").exit_code, 64);
}

TEST_F(TallyVerbs, SeveralAreReadAtOnce) {
  shell("once tally add a 1; once tally max b 2");
  EXPECT_EQ(once("tally read a none b").out,
            "KEY   KIND  VALUE\na     sum   1\nnone  -     -\nb     max   2\n");
  EXPECT_EQ(once("tally read none").exit_code, 1);
  EXPECT_EQ(once("tally read a b --item x").exit_code, 64);
  EXPECT_EQ(once("hot").out, "");
  EXPECT_EQ(once("hot --json").out, "{\"keys\":[]}\n");
}

}  // namespace
}  // namespace once::cli
