#include <algorithm>

#include "cli/cli_fixture.h"
#include "testing/child_process.h"

namespace once::cli {
namespace {

using LogVerbs = Cli;

// The data of what `once log read` prints for people: after index and time.
std::string data_of(const std::string& events) {
  std::string data;
  std::istringstream lines(events);
  for (std::string line; std::getline(lines, line);) data += line.substr(34) + "|";
  return data;
}

TEST_F(LogVerbs, WordsAndLinesAreAppendedInOrder) {
  EXPECT_EQ(once("log append s one '{\"n\": 2}'").out, "appended 1 to 2\n");
  EXPECT_EQ(shell("printf '3\\n\\nlast line' | once log append s").out, "appended 3 to 4\n");
  EXPECT_EQ(data_of(once("log read s").out), "one|{\"n\":2}|3|last line|");
  EXPECT_EQ(once("log append s five --json").out, "{\"first\":5,\"last\":5}\n");
  EXPECT_EQ(shell("once log append s </dev/null").exit_code, 0);
}

TEST_F(LogVerbs, TextStaysText) {
  EXPECT_EQ(shell("printf '1\\n\\ntrue\\r\\n' | once log append s --text").out,
            "appended 1 to 3\n");
  const Outcome page = once("log read s --json");
  EXPECT_TRUE(holds(page.out, R"("data":"1"})")) << page.out;
  EXPECT_TRUE(holds(page.out, R"("data":""})")) << page.out;
  EXPECT_TRUE(holds(page.out, R"("data":"true"})")) << page.out;
}

TEST_F(LogVerbs, ReadingStartsAnywhereInBothOrders) {
  once("log append s a b c d");
  EXPECT_EQ(data_of(once("log read s --from 2 --limit 2").out), "b|c|");
  EXPECT_EQ(data_of(once("log read s --order desc --limit 2").out), "d|c|");
  EXPECT_EQ(once("log read s --field next").out, "5\n");
  EXPECT_EQ(once("log read unknown").out, "");
  EXPECT_EQ(once("log read s --order up").exit_code, 64);
  EXPECT_EQ(once("log read s --from x").exit_code, 64);
}

TEST_F(LogVerbs, ABatchIsAppendedOnce) {
  EXPECT_EQ(once("log append s a b --batch x").out, "appended 1 to 2\n");
  EXPECT_EQ(once("log append s a b --batch x").out, "appended 1 to 2, as before\n");
  EXPECT_EQ(once("log append s a c --batch x").exit_code, 1);
  EXPECT_EQ(shell("seq 5000 | once log append s --batch y").out, "appended 3 to 5002\n");
  EXPECT_EQ(shell("seq 5000 | once log append s --batch y").out, "appended 3 to 5002, as before\n");
  EXPECT_EQ(shell("seq 10001 | once log append s --batch z").exit_code, 1);
  EXPECT_EQ(shell("seq 30000 | once log append s --batch z").exit_code, 1);
  EXPECT_EQ(once("log read s --field next --from 6000").out, "5003\n");
}

TEST_F(LogVerbs, AnotherIndexThanExpectedIsRefused) {
  EXPECT_EQ(once("log append s a --expect 1").exit_code, 0);
  const Outcome outcome = once("log append s a --expect 1");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(holds(outcome.err, "(next: 2)")) << outcome.err;
  EXPECT_EQ(once("log append s a --expect one").exit_code, 64);
}

TEST_F(LogVerbs, ManyLinesGoInAsManyBatches) {
  EXPECT_EQ(shell("seq 4321 | once log append s >/dev/null").exit_code, 0);
  EXPECT_EQ(once("log read s --from 4321 --field next").out, "4322\n");
}

TEST_F(LogVerbs, TrimForgetsWhatIsBefore) {
  once("log append s a b c");
  EXPECT_EQ(once("log trim s --before 3").out, "oldest  3\nnext    4\n");
  EXPECT_EQ(data_of(once("log read s").out), "c|");
  EXPECT_EQ(once("log trim s").exit_code, 64);
}

TEST_F(LogVerbs, FollowPrintsWhatIsThereAndThenWhatComes) {
  once("log append s a b");
  testing::ChildProcess follower(ONCE_BINARY, {"log", "follow", "s", "--from", "2", "--limit", "3",
                                               "--field", "data", "--store", store()});
  EXPECT_EQ(follower.read_line(), "b");
  EXPECT_EQ(once("log append s c").exit_code, 0) << "a follower does not hold the directory";
  EXPECT_EQ(follower.read_line(), "c");
  once("log append s '{\"d\": 1}' e");
  EXPECT_EQ(follower.read_line(), "{\"d\":1}");
  EXPECT_EQ(follower.read_line(), std::nullopt);
  EXPECT_EQ(follower.wait(), 0);
  EXPECT_TRUE(once("log follow s --limit 1 --json").out.starts_with(R"({"index":1,"time":")"));
  EXPECT_EQ(once("log follow s --limit 0").exit_code, 64);
}

}  // namespace
}  // namespace once::cli
