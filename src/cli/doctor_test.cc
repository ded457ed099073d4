#include "cli/cli_fixture.h"
#include "testing/server_process.h"

namespace once::cli {
namespace {

using Doctor = Cli;

TEST_F(Doctor, FindsADirectoryThatOthersMayEnterAndNamesTheRemedy) {
  ASSERT_EQ(once("seen a").exit_code, 0);
  const Outcome sound = once("doctor");
  EXPECT_TRUE(holds(sound.out, "synced before every answer")) << sound.out;
  const Outcome open = shell("chmod 755 store && once doctor --json");
  EXPECT_EQ(open.exit_code, 1) << open.out;
  EXPECT_TRUE(holds(open.out, "\"remedy\":\"chmod 700 ")) << open.out;
}

TEST_F(Doctor, LooksAtTheServerItsStoreAndTheirVersions) {
  const testing::ServerProcess server(store());
  for (const std::string& where : {std::string(), " --store " + server.url()}) {
    const Outcome looked = once("doctor" + where);
    EXPECT_TRUE(holds(looked.out, "it is ready")) << looked.out << looked.err;
    EXPECT_TRUE(holds(looked.out, "are both ")) << looked.out;
    EXPECT_TRUE(holds(looked.out, "descriptors are open")) << looked.out;
    EXPECT_TRUE(holds(looked.out, "free where the store is")) << looked.out;
    EXPECT_TRUE(holds(looked.out, "the store's clock agrees")) << looked.out;
  }
}

TEST_F(Doctor, SaysThatMemoryIsForgottenAndThatAServerDoesNotAnswer) {
  EXPECT_EQ(once("doctor --store memory:").exit_code, 1);
  const Outcome down = once("doctor --store http://127.0.0.1:1");
  EXPECT_EQ(down.exit_code, 1);
  EXPECT_TRUE(holds(down.out, "it does not answer")) << down.out;
}

}  // namespace
}  // namespace once::cli
