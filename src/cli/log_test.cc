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

TEST_F(LogVerbs, ALogIsClosedListedAndRemoved) {
  shell("once log append a/1 x; once log append b x y");
  EXPECT_EQ(once("log rm b").exit_code, 75);
  EXPECT_EQ(once("log close b").exit_code, 0);
  EXPECT_EQ(once("log append b z").exit_code, 1);
  EXPECT_EQ(once("log follow b --field data").out, "x\ny\n");  // Ends with the log.
  EXPECT_EQ(once("log list --prefix b").out,
            "STREAM  OLDEST  NEXT  STATE\n"
            "b       1       3     closed\n");
  EXPECT_EQ(once("log rm --prefix b --dry-run").out, "1 log would be removed\n");
  EXPECT_EQ(once("log rm b").exit_code, 0);
  EXPECT_EQ(once("log rm b").exit_code, 1);
  EXPECT_EQ(once("log list").out, "STREAM  OLDEST  NEXT  STATE\na/1     1       2     open\n");
  EXPECT_EQ(once("log close never").exit_code, 1);
  EXPECT_EQ(once("log rm").exit_code, 64);
}

TEST_F(LogVerbs, FollowEndsWhenItsReaderIsGone) {
  once("log append s one");
  const Outcome first = shell("timeout 20 once log follow s --field data | head -1; echo $?");
  EXPECT_EQ(first.out, "one\n0\n");
  EXPECT_EQ(shell("timeout 20 sh -c 'once log follow s | head -1' >/dev/null").exit_code, 0);
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

TEST_F(LogVerbs, FollowBeginsAtATime) {
  once("log append s a b");
  EXPECT_EQ(once("log follow s --since 2000-01-01T00:00:00Z --limit 2 --field data").out, "a\nb\n");
  once("log close s");
  EXPECT_EQ(once("log follow s --since 2999-01-01T00:00:00Z").out, "");
  EXPECT_EQ(once("log follow s --since yesterday").exit_code, 64);
}

}  // namespace
}  // namespace once::cli
