#include "queues/sqs/acks.h"

#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>

namespace once::sqs {
namespace {

TEST(Acks, ThoseThatMeetGoTogetherAndEachGetsItsOwnAnswer) {
  constexpr int kThreads = 25;
  std::latch first_is_out(1);
  std::atomic<int> asked = 0;
  std::atomic<int> sendings = 0;
  std::size_t largest = 0;
  Acks acks([&](std::span<const std::string> handles) {
    if (sendings++ == 0) first_is_out.wait();
    largest = std::max(largest, handles.size());
    std::vector<Result<void>> answers(handles.size());
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (handles[i] == "7") answers[i] = failure(ErrorCode::unavailable, "not this one");
    }
    return answers;
  });
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ++asked;
      const Result<void> answer = acks.ack(std::to_string(i));
      EXPECT_EQ(answer.has_value(), i != 7);
      refused += answer ? 0 : 1;
    });
  }
  while (asked < kThreads) std::this_thread::yield();
  first_is_out.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 1);
  EXPECT_LE(largest, Acks::kMost);
  EXPECT_LE(sendings, kThreads);
}

}  // namespace
}  // namespace once::sqs
