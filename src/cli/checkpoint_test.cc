#include "cli/cli_fixture.h"

namespace once::cli {
namespace {

using Checkpoint = Cli;

TEST_F(Checkpoint, IsAStoreThatHasWhatWasThereAndNothingThatCameLater) {
  const Outcome outcome = shell(
      "once seen before >&2 && copy=$(once checkpoint) && once seen after >&2\n"
      "once seen --show before --store $copy --field id\n"
      "once seen --show after --store $copy || echo $?");
  EXPECT_EQ(outcome.out, "before\n1\n") << outcome.err;
}

TEST_F(Checkpoint, IsMadeByTheServerThatHasTheDirectoryAndTakesItsPlace) {
  const Outcome outcome = shell(
      "once serve --listen 127.0.0.1:0 > ready & pid=$!\n"
      "until [ -s ready ] || ! kill -0 $pid; do :; done\n"
      "once seen before >&2; copy=$(once checkpoint); once seen after >&2\n"
      "once checkpoint --json >&2; ls -d $PWD/store/checkpoints/* | head -1 | grep -c \"^$copy$\"\n"
      "kill $pid; wait\n"
      "mv store moved && cp -r moved/checkpoints/${copy##*/} store\n"
      "once seen --show before --field id; once seen --show after || echo $?");
  EXPECT_EQ(outcome.out, "1\nbefore\n1\n") << outcome.err;
}

TEST_F(Checkpoint, TooManyAreRefusedAndNothingIsRemoved) {
  const Outcome outcome = shell(
      "once seen a >&2; for i in $(seq 32); do mkdir -p store/checkpoints/$i; done\n"
      "once checkpoint; echo $?; ls store/checkpoints | wc -l");
  EXPECT_EQ(outcome.out, "69\n32\n");
  EXPECT_TRUE(holds(outcome.err, "there are 32 checkpoints; remove some: ")) << outcome.err;
}

TEST_F(Checkpoint, AStoreThatIsNoDirectoryHasNone) {
  const Outcome outcome = once("checkpoint --store memory:");
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_TRUE(holds(outcome.err, "only a store that is a directory has checkpoints"))
      << outcome.err;
}

}  // namespace
}  // namespace once::cli
