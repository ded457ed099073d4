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

TEST_F(Doctor, SaysWhichTokenIsNeededAndWhatAnyoneMayKnow) {
  shell("once token new --field token > all; once token new --namespace n --field token > bound");
  const testing::ServerProcess server(store());
  EXPECT_TRUE(holds(once("doctor --token-file all").out, "descriptors are open"));
  for (const std::string& with : {std::string(), std::string(" --token-file bound")}) {
    const Outcome looked = once("doctor" + with);
    EXPECT_FALSE(holds(looked.out, "descriptors are open")) << looked.out;
    EXPECT_TRUE(holds(looked.out, "it is ready")) << looked.out;
    EXPECT_TRUE(holds(looked.out, "free where the store is")) << looked.out;
  }
  EXPECT_TRUE(holds(once("doctor").out, "give a token"));
  EXPECT_TRUE(holds(once("doctor --token-file bound").out, "use a token for all namespaces"));
}

TEST_F(Doctor, TellsOfCheckpointsThatWereLeftWithAndWithoutAServer) {
  ASSERT_EQ(once("checkpoint").exit_code, 0);
  const std::string left = "1 are left, and keep files of the store";
  EXPECT_TRUE(holds(once("doctor").out, left));
  const testing::ServerProcess server(store());
  EXPECT_TRUE(holds(once("doctor").out, left));
  EXPECT_TRUE(holds(once("doctor --store " + server.url()).out, left));
}

TEST_F(Doctor, SaysThatMemoryIsForgottenAndThatAServerDoesNotAnswer) {
  EXPECT_EQ(once("doctor --store memory:").exit_code, 1);
  const Outcome down = once("doctor --store http://127.0.0.1:1");
  EXPECT_EQ(down.exit_code, 1);
  EXPECT_TRUE(holds(down.out, "it does not answer")) << down.out;
}

}  // namespace
}  // namespace once::cli
