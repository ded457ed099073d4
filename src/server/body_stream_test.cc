#include "server/body_stream.h"

#include <gtest/gtest.h>

#include <thread>

namespace once::server {
namespace {

using namespace std::chrono_literals;

BodyStream::Instant soon() { return std::chrono::steady_clock::now() + 30s; }

TEST(BodyStream, ComeInOrderAndThenTheirEnd) {
  BodyStream stream;
  int woken = 0;
  stream.watch([&] { ++woken; });
  EXPECT_TRUE(stream.put("a", soon()));
  EXPECT_TRUE(stream.put("b", soon()));
  EXPECT_EQ(stream.take().bytes, "ab");
  EXPECT_TRUE(stream.put("c", soon()));
  stream.end();
  stream.abort();
  const BodyStream::Taken last = stream.take();
  EXPECT_EQ(last.bytes, "c");
  EXPECT_EQ(last.state, BodyStream::State::complete);
  EXPECT_EQ(woken, 4);
}

TEST(BodyStream, WhoPutsWaitsForWhoTakes) {
  BodyStream stream(1);
  ASSERT_TRUE(stream.put("a", soon()));
  std::thread putting([&] { EXPECT_TRUE(stream.put("b", soon())); });
  std::string taken;
  while (taken.size() < 2) taken += stream.take().bytes;
  putting.join();
  EXPECT_EQ(taken, "ab");
}

TEST(BodyStream, NobodyWaitsForWhoLeftOrTakesTooLong) {
  BodyStream cancelled(1);
  ASSERT_TRUE(cancelled.put("a", soon()));
  std::thread putting([&] { EXPECT_FALSE(cancelled.put("b", soon())); });
  cancelled.cancel();
  putting.join();
  BodyStream slow(1);
  ASSERT_TRUE(slow.put("a", soon()));
  EXPECT_FALSE(slow.put("b", std::chrono::steady_clock::now()));
  const BodyStream::Taken taken = slow.take();
  EXPECT_EQ(taken.bytes, "a");
  EXPECT_EQ(taken.state, BodyStream::State::aborted);
}

}  // namespace
}  // namespace once::server
