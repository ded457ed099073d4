#include "demo/books.h"

#include <gtest/gtest.h>

namespace once::demo {
namespace {

Schedule three_orders() { return {{{100, {}}, {20, {}}, {3, {}}}, {}}; }

TEST(DemoAudit, BooksWithEveryOrderOnceAreFlawless) {
  const Audit found = audit(three_orders(), {{2, 0, 1}, 123});
  EXPECT_TRUE(found.flawless());
  EXPECT_EQ(found.applied, 3U);
}

TEST(DemoAudit, CountsOrdersThatAreNowhere) {
  const Audit found = audit(three_orders(), {{1}, 123});
  EXPECT_EQ(found.lost, 2U);
  EXPECT_EQ(found.applied, 1U);
  EXPECT_EQ(found.repeated, 0U);
  EXPECT_FALSE(found.flawless());
}

TEST(DemoAudit, CountsEachLineOfAnOrderBeyondItsFirst) {
  const Audit found = audit(three_orders(), {{0, 1, 0, 2, 0}, 123});
  EXPECT_EQ(found.repeated, 2U);
  EXPECT_EQ(found.lost, 0U);
  EXPECT_FALSE(found.flawless());
}

TEST(DemoAudit, AGapIsAnIndexWithoutALineAndWithOneAfterIt) {
  const Audit found = audit(three_orders(), {{0, {}, {}, 1, {}, 2, {}}, 123});
  EXPECT_EQ(found.gaps, 3U);
  EXPECT_FALSE(found.flawless());
}

TEST(DemoAudit, ATotalIsWrongByWhatItHasTooManyOrTooFew) {
  EXPECT_EQ(audit(three_orders(), {{0, 1, 2}, 120}).off_by, -3);
  EXPECT_EQ(audit(three_orders(), {{0, 1, 2}, 223}).off_by, 100);
  EXPECT_FALSE(audit(three_orders(), {{0, 1, 2}, 122}).flawless());
}

TEST(DemoAudit, EmptyBooksLostEverything) {
  const Audit found = audit(three_orders(), {});
  EXPECT_EQ(found.lost, 3U);
  EXPECT_EQ(found.off_by, -123);
}

}  // namespace
}  // namespace once::demo
