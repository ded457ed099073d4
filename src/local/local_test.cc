#include "local/local.h"

#include <gtest/gtest.h>

#include "once/memory_store.h"
#include "once/metered_store.h"

namespace once {
namespace {

// What a Local that commits like this asks of its store for a claim, a document, an append and a
// tally.
StoreMetrics counted_of(Commits commits) {
  const std::unique_ptr<MemoryStore> memory = open_memory();
  std::unique_ptr<MeteredStore> metered = meter(*memory);
  const MeteredStore& counting = *metered;
  Local owner(std::move(metered), "default", system_clock(), system_entropy(), commits);
  Backend& local = owner;
  EXPECT_TRUE(local.claims().take("job", {}).has_value());
  EXPECT_TRUE(local.documents().put("d", {"x"}, documents::IfAbsent{}).has_value());
  EXPECT_TRUE(local.log().append("s", {{.data = "e"}}).has_value());
  EXPECT_TRUE(local.tallies().merge("t", {.input = 1}).has_value());
  EXPECT_TRUE(local.commit("", std::nullopt, Effects().add("t", 1)).has_value());
  return counting.snapshot();
}

TEST(Local, WhereCommitsAreGroupedEveryCommitOfEveryPrimitiveGoesInAGroup) {
  const StoreMetrics counted = counted_of(Commits::grouped);
  EXPECT_EQ(counted.commit.calls, 0);
  EXPECT_GE(counted.commit_each.committed, 5);
}

TEST(Local, WhereCommitsAreAloneNothingIsGrouped) {
  const StoreMetrics counted = counted_of(Commits::alone);
  EXPECT_GE(counted.commit.committed, 5);
  EXPECT_EQ(counted.commit_each.calls, 0);
}

}  // namespace
}  // namespace once
