#include "server/pieces.h"

#include <gtest/gtest.h>

#include <thread>

namespace once::server {
namespace {

using namespace std::chrono_literals;

Pieces::Instant soon() { return std::chrono::steady_clock::now() + 30s; }

TEST(Pieces, ComeInOrderAndThenTheirEnd) {
  Pieces pieces;
  int woken = 0;
  pieces.watch([&] { ++woken; });
  EXPECT_TRUE(pieces.put("a", soon()));
  EXPECT_TRUE(pieces.put("b", soon()));
  EXPECT_EQ(pieces.take().bytes, "ab");
  EXPECT_TRUE(pieces.put("c", soon()));
  pieces.end();
  pieces.break_off();
  const Pieces::Taken last = pieces.take();
  EXPECT_EQ(last.bytes, "c");
  EXPECT_EQ(last.state, Pieces::State::whole);
  EXPECT_EQ(woken, 4);
}

TEST(Pieces, WhoPutsWaitsForWhoTakes) {
  Pieces pieces(1);
  ASSERT_TRUE(pieces.put("a", soon()));
  std::thread putting([&] { EXPECT_TRUE(pieces.put("b", soon())); });
  std::string taken;
  while (taken.size() < 2) taken += pieces.take().bytes;
  putting.join();
  EXPECT_EQ(taken, "ab");
}

TEST(Pieces, NobodyWaitsForWhoLeftOrTakesTooLong) {
  Pieces left(1);
  ASSERT_TRUE(left.put("a", soon()));
  std::thread putting([&] { EXPECT_FALSE(left.put("b", soon())); });
  left.leave();
  putting.join();
  Pieces slow(1);
  ASSERT_TRUE(slow.put("a", soon()));
  EXPECT_FALSE(slow.put("b", std::chrono::steady_clock::now()));
  const Pieces::Taken taken = slow.take();
  EXPECT_EQ(taken.bytes, "a");
  EXPECT_EQ(taken.state, Pieces::State::broken);
}

}  // namespace
}  // namespace once::server
