#include "cli/cli_fixture.h"
#include "testing/server_process.h"

namespace once::cli {
namespace {

using Audit = Cli;

TEST_F(Audit, NamesTheKeyTheTokenAndWhereItCameFrom) {
  const testing::ServerProcess server(store());
  const std::string all = once("token new --field token").out;
  const std::string as_all = " --token " + all.substr(0, all.find('\n'));
  const std::string id = once("token list --json" + as_all).out;
  ASSERT_EQ(once("claim take job" + as_all).exit_code, 0);
  ASSERT_EQ(once("claim forget job" + as_all).exit_code, 0);
  const Outcome shown = once("audit" + as_all);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const std::size_t line = shown.out.find("claim.forget  default/job  token ");
  ASSERT_NE(line, std::string::npos) << shown.out;
  const std::string token = shown.out.substr(line + 33, 64);
  EXPECT_TRUE(holds(id, token)) << shown.out;
  EXPECT_TRUE(holds(shown.out, "from 127.0.0.1  request ")) << shown.out;
  EXPECT_FALSE(holds(shown.out, all.substr(0, 20))) << "the secret itself";
}

TEST_F(Audit, WithoutTheRightToReadItTheExitIsOne) {
  const testing::ServerProcess server(store());
  const std::string all = once("token new --field token").out;
  const std::string as_all = " --token " + all.substr(0, all.find('\n'));
  const std::string one = once("token new --namespace n --field token" + as_all).out;
  EXPECT_EQ(once("audit --token " + one.substr(0, one.find('\n'))).exit_code, 1);
  EXPECT_EQ(once("audit").exit_code, 1);
  const std::string reader = once("token new --read-only --field token" + as_all).out;
  EXPECT_EQ(once("audit --token " + reader.substr(0, reader.find('\n'))).exit_code, 0);
}

TEST_F(Audit, FollowsWhatComes) {
  const testing::ServerProcess server(store());
  testing::ChildProcess follower(ONCE_BINARY,
                                 {"audit", "--follow", "--limit", "1", "--store", server.url()});
  EXPECT_EQ(once("seen a").exit_code, 0);
  EXPECT_EQ(once("seen --forget a").exit_code, 0);
  EXPECT_TRUE(holds(follower.read_line().value_or(""), "seen.forget   default/a"));
  EXPECT_EQ(follower.wait(), 0);
}

}  // namespace
}  // namespace once::cli
