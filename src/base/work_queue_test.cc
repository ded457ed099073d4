#include "base/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <stdexcept>

namespace once {
namespace {

TEST(WorkQueue, RefusesAJobBeyondItsBoundAndLeavesItToTheCaller) {
  std::binary_semaphore begun(0);
  std::binary_semaphore go_on(0);
  std::atomic<int> done = 0;
  WorkQueue<std::string> queue(1, 1, [&] {
    return [&](const std::string& job) {
      if (job == "first") {
        begun.release();
        go_on.acquire();
      }
      ++done;
    };
  });
  std::string first = "first";
  std::string second = "second";
  std::string third = "third";
  ASSERT_TRUE(queue.put(first));
  begun.acquire();
  EXPECT_TRUE(queue.put(second));
  EXPECT_FALSE(queue.put(third));
  EXPECT_EQ(third, "third");
  go_on.release();
  queue.finish();
  EXPECT_EQ(done, 2);
  EXPECT_FALSE(queue.put(third));
}

TEST(WorkQueue, FinishesWhatItTook) {
  std::atomic<int> sum = 0;
  WorkQueue<int> queue(3, 1'000, [&] { return [&](int job) { sum += job; }; });
  for (int job = 1; job <= 100; ++job) {
    int own = job;
    ASSERT_TRUE(queue.put(own));
  }
  queue.finish();
  EXPECT_EQ(sum, 5'050);
}

TEST(WorkQueue, AJobThatThrowsEndsNoOther) {
  std::atomic<int> done = 0;
  WorkQueue<int> queue(1, 10, [&] {
    return [&](int job) {
      if (job == 1) throw std::runtime_error("oops");
      ++done;
    };
  });
  for (int job = 1; job <= 3; ++job) {
    int own = job;
    ASSERT_TRUE(queue.put(own));
  }
  queue.finish();
  EXPECT_EQ(done, 2);
}

TEST(WorkQueue, EachThreadHasWorkOfItsOwn) {
  int made = 0;
  WorkQueue<int> queue(4, 10, [&made] {
    ++made;
    return [](int) {};
  });
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace once
