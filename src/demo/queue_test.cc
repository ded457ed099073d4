#include "demo/queue.h"

#include <gtest/gtest.h>

namespace once::demo {
namespace {

using std::chrono::seconds;

constexpr Queue::Moment kStart = Queue::Moment(seconds(1'000));

TEST(DemoQueue, HandsOutInOrderAndIsDoneWhenAllIsAcknowledged) {
  Queue queue(3, seconds(10));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(queue.take(kStart), i);
  EXPECT_EQ(queue.take(kStart), std::nullopt);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(queue.done());
    queue.acknowledge(i);
  }
  EXPECT_TRUE(queue.done());
  EXPECT_EQ(queue.due(), std::nullopt);
  EXPECT_EQ(queue.handed_out(), 3U);
  EXPECT_EQ(queue.timed_out(), 0U);
}

TEST(DemoQueue, WhatIsNotAcknowledgedInTimeComesBackBeforeWhatIsNew) {
  Queue queue(3, seconds(10));
  EXPECT_EQ(queue.take(kStart), 0U);
  EXPECT_EQ(queue.take(kStart + seconds(9)), 1U);
  EXPECT_EQ(queue.take(kStart + seconds(10)), 0U);
  EXPECT_EQ(queue.timed_out(), 1U);
  EXPECT_EQ(queue.take(kStart + seconds(10)), 2U);
}

TEST(DemoQueue, WhatIsPutBackComesWhenItsTimeHasComeAndIsNoTimeOut) {
  Queue queue(1, seconds(10));
  EXPECT_EQ(queue.take(kStart), 0U);
  queue.put_back(0, kStart + seconds(2));
  EXPECT_EQ(queue.due(), kStart + seconds(2));
  EXPECT_EQ(queue.take(kStart + seconds(1)), std::nullopt);
  EXPECT_EQ(queue.take(kStart + seconds(2)), 0U);
  EXPECT_EQ(queue.timed_out(), 0U);
}

TEST(DemoQueue, ALateAcknowledgementCountsOnce) {
  Queue queue(2, seconds(10));
  EXPECT_EQ(queue.take(kStart), 0U);
  EXPECT_EQ(queue.take(kStart + seconds(10)), 0U);
  queue.acknowledge(0);
  queue.acknowledge(0);
  queue.put_back(0, kStart);
  EXPECT_EQ(queue.acknowledged(), 1U);
  EXPECT_EQ(queue.take(kStart + seconds(30)), 1U);
  EXPECT_FALSE(queue.done());
}

}  // namespace
}  // namespace once::demo
