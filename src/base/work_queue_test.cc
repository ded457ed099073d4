#include "base/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

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

// Each job waits until the test lets all of its party go.
class Parties : public ::testing::Test {
 protected:
  struct Held {
    std::string party;
    std::shared_ptr<std::counting_semaphore<>> gate;
  };

  void make(const WorkQueueOptions& options) {
    queue_.emplace(options, [this] {
      return [this](const Held& job) {
        ++running_[job.party];
        job.gate->acquire();
        --running_[job.party];
        ++done_;
      };
    });
  }
  bool put(const std::string& party, const std::string& part = "") {
    Held job{party, gate_};
    return queue_->put(job, {party, part});
  }
  std::size_t put_many(const std::string& party, std::size_t count, const std::string& part = "") {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; ++i) taken += put(party, part) ? 1 : 0;
    return taken;
  }
  void await_running(const std::string& party, int count) {
    while (running_[party] < count) std::this_thread::yield();
  }
  void end() {
    gate_->release(10'000);
    queue_->finish();
  }

  std::shared_ptr<std::counting_semaphore<>> gate_ = std::make_shared<std::counting_semaphore<>>(0);
  std::map<std::string, std::atomic<int>> running_;
  std::atomic<std::size_t> done_ = 0;
  std::optional<WorkQueue<Held>> queue_;
};

TEST_F(Parties, SlowJobsOfOneLeaveThreadsAndPlacesToOthers) {
  (void)running_["greedy"];
  (void)running_["modest"];
  make({.threads = 8, .max_waiting = 32});
  std::size_t taken = put_many("greedy", 4);
  await_running("greedy", 4);
  taken += put_many("greedy", 300);
  await_running("greedy", 6);
  taken += put_many("greedy", 300);
  EXPECT_LE(taken, 6U + 24U) << "three quarters of 8 threads and of 32 places";
  EXPECT_FALSE(put("greedy"));
  ASSERT_TRUE(put("modest"));
  await_running("modest", 1);
  EXPECT_EQ(running_["greedy"], 6);
  end();
  EXPECT_EQ(done_, taken + 1) << "at the end all that were taken are done";
}

TEST_F(Parties, APartLeavesSomeToTheOtherPartsOfItsParty) {
  (void)running_["tenant"];
  make({.threads = 16, .max_waiting = 64, .share = 75, .part_share = 50});
  put_many("tenant", 40, "tenant/slow");
  await_running("tenant", 8);
  ASSERT_TRUE(put("tenant", "tenant/quick"));
  await_running("tenant", 9);
  end();
}

TEST_F(Parties, StalledJobsTakeNoThreadAndAreBounded) {
  std::counting_semaphore<> stalled(0);
  std::counting_semaphore<> go_on(0);
  std::atomic<int> refused = 0;
  std::atomic<int> quick = 0;
  std::optional<WorkQueue<std::string>> queue;
  queue.emplace(WorkQueueOptions{.threads = 2, .max_waiting = 100, .max_stalled = 8, .share = 100},
                [&] {
                  return [&](const std::string& job) {
                    if (job == "quick") {
                      ++quick;
                      return;
                    }
                    const Party party{"slow", job};
                    if (queue->stall(party)) {
                      stalled.release();
                      go_on.acquire();
                      queue->go_on(party);
                    } else {
                      ++refused;
                    }
                  };
                });
  for (int i = 0; i < 10; ++i) {
    std::string job = std::to_string(i);
    ASSERT_TRUE(queue->put(job, {"slow", job}));
  }
  for (int i = 0; i < 6; ++i) stalled.acquire();
  while (refused < 4) std::this_thread::yield();
  EXPECT_EQ(queue->stalled(), 6U) << "three quarters of 8 for one party";
  for (int i = 0; i < 5; ++i) {
    std::string job = "quick";
    ASSERT_TRUE(queue->put(job, {"other", "other"}));
  }
  while (quick < 5) std::this_thread::yield();
  go_on.release(6);
  queue->finish();
}

}  // namespace
}  // namespace once
