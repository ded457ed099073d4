// A store that was added by its folder and two lines of the build is known everywhere. This program
// has the table of stores as a build with the toy would have it.
#include "testing/toy_store/toy_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "once/open.h"
#include "open/store_kinds.h"
#include "testing/stores/stores.h"

namespace once::testing {
namespace {

TEST(ASixthStore, IsOpenedByItsAddressAndServesThePrimitives) {
  auto once = open("toy:");
  ASSERT_TRUE(once.has_value()) << once.error().message;
  const auto ran = once->run(
      "job", {}, [](Attempt&) -> Result<Effects> { return Effects().result("r").add("sum", 1); });
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(ran->result, "r");
  EXPECT_EQ(open_store("toy:here").error().message, "toy: takes neither a place nor options");
}

TEST(ASixthStore, IsListedToWhoeverAsksForOneThatDoesNotExist) {
  const auto refused = open_store("telepathy:");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("toy:"), std::string::npos) << refused.error().message;
}

TEST(EveryStore, HasARowAndAHarness) {
  for (const StoreKind& kind : store_kinds()) {
    EXPECT_FALSE(kind.example.empty() || kind.description.empty()) << kind.scheme;
    const StoreHarness* const harness = find_harness(kind.scheme);
    ASSERT_NE(harness, nullptr) << kind.scheme;
    EXPECT_FALSE(harness->variants.empty()) << kind.scheme;
  }
  EXPECT_GE(store_kinds().size(), 2U);
}

}  // namespace
}  // namespace once::testing
