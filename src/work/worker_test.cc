// The worker's loop, in time that the tests move.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <latch>
#include <stdexcept>
#include <thread>

#include "once/memory_store.h"
#include "once/work.h"
#include "stores/decorators/decorator.h"
#include "testing/manual_clock.h"
#include "testing/stoppable_store.h"
#include "work/test_queue.h"

namespace once {
namespace {

using namespace std::chrono_literals;

struct Report {
  std::string id;
  Delivered what;
  std::string reason;
};

class WorkerTest : public ::testing::Test {
 protected:
  ~WorkerTest() override { end(); }

  Once door() {
    Store& store = store_;
    return Once(std::make_unique<Decorator<Store>>(store), "test", clock_, entropy_);
  }

  void start(Handler handler, WorkerOptions options = {}) {
    worker_ = std::make_unique<Worker>(once_, queue_, options, std::move(handler), clock_);
    worker_->on_delivery([this](const DeliveryReport& report) {
      const std::lock_guard lock(mutex_);
      reports_.push_back({report.message.id, report.what, report.reason});
      told_.notify_all();
    });
    worker_->on_trouble([this](const Error& error) {
      const std::lock_guard lock(mutex_);
      troubles_.push_back(error.message);
      told_.notify_all();
    });
    thread_ = std::thread([this] { ended_ = worker_->run(); });
  }

  void end() {
    if (worker_ != nullptr) worker_->stop();
    if (thread_.joinable()) thread_.join();
  }

  template <class Condition>
  bool wait_until(Condition condition) {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, 20s, condition);
  }

  // The deliveries so far, when there have been so many.
  std::vector<Report> reports(std::size_t count) {
    EXPECT_TRUE(wait_until([&] { return reports_.size() >= count; }));
    const std::lock_guard lock(mutex_);
    return reports_;
  }

  // A wait may begin after the clock was moved. So time goes on until a message was handled; one
  // that is overtaken by it comes again, as a duplicate.
  bool move_until_handled() {
    const auto is_handled = [&] {
      const std::lock_guard lock(mutex_);
      return std::ranges::count(reports_, Delivered::handled, &Report::what) > 0;
    };
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (!is_handled()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      if (clock_.is_waited_on()) clock_.advance(1s);
      std::this_thread::yield();
    }
    return true;
  }

  // How many there have been, when there are so many.
  std::size_t wait_for_troubles(std::size_t count) {
    EXPECT_TRUE(wait_until([&] { return troubles_.size() >= count; }));
    const std::lock_guard lock(mutex_);
    return troubles_.size();
  }

  static Result<Effects> counting(Task&) { return Effects().add("handled", 1); }
  static Result<Effects> failing(Task& task) { return task.attempt.retry_later("no luck"); }

  std::int64_t handled() {
    const auto tally = once_.tallies().read("handled");
    return tally && *tally ? std::get<std::int64_t>((*tally)->value) : 0;
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  testing::StoppableStore store_{*memory_};
  Once once_ = door();
  testing::TestQueue queue_{clock_};

  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<Report> reports_;
  std::vector<std::string> troubles_;
  std::unique_ptr<Worker> worker_;
  std::thread thread_;
  Result<void> ended_;
};

TEST_F(WorkerTest, AMessageIsHandledItsEffectsHappenAndItIsAcknowledged) {
  queue_.send("1", "hello");
  std::string body;
  start([&](Task& task) -> Result<Effects> {
    body = task.message.body;
    EXPECT_EQ(task.attempt.key(), "work/4:test/id/1");
    return Effects().add("handled", 1);
  });
  EXPECT_EQ(reports(1)[0].what, Delivered::handled);
  EXPECT_EQ(body, "hello");
  EXPECT_EQ(handled(), 1);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(WorkerTest, ItsLagIsTheAgeOfTheOldestMessageUnderWay) {
  Message told;
  told.id = "told";
  told.sent = clock_.now() - 90s;
  std::latch here(1);
  std::latch go(1);
  start([&](Task&) -> Result<Effects> {
    here.count_down();
    go.wait();
    return Effects();
  });
  EXPECT_EQ(worker_->lag(), 0s) << "nothing is under way";
  queue_.send(told);
  here.wait();
  EXPECT_EQ(worker_->lag(), 90s);
  clock_.advance(5s);
  EXPECT_EQ(worker_->lag(), 95s);
  go.count_down();
  EXPECT_EQ(reports(1)[0].what, Delivered::handled);
  EXPECT_EQ(worker_->lag(), 0s);
}

TEST_F(WorkerTest, MessagesThatDoNotTellWhenTheyWereSentHaveNoLag) {
  std::latch here(1);
  std::latch go(1);
  start([&](Task&) -> Result<Effects> {
    here.count_down();
    go.wait();
    return Effects();
  });
  queue_.send("1");
  here.wait();
  EXPECT_EQ(worker_->lag(), std::nullopt);
  go.count_down();
  EXPECT_EQ(reports(1)[0].what, Delivered::handled);
}

TEST_F(WorkerTest, ADuplicateOfADoneMessageIsAcknowledgedUnhandled) {
  queue_.send("1");
  start(counting);
  reports(1);
  queue_.send("1");
  EXPECT_EQ(reports(2)[1].what, Delivered::duplicate);
  EXPECT_EQ(handled(), 1);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(WorkerTest, H31_ABusyDuplicateComesBackWhenTheLeaseEnds) {
  std::latch done(1);
  queue_.send("1");
  queue_.send("1");
  start(
      [&](Task&) -> Result<Effects> {
        done.wait();
        return Effects().add("handled", 1);
      },
      {.lease = 40s});
  EXPECT_EQ(reports(1)[0].what, Delivered::busy);
  EXPECT_EQ(queue_.delays(), std::vector<Duration>{40s});
  done.count_down();
  reports(2);
  clock_.advance(40s);
  EXPECT_EQ(reports(3)[2].what, Delivered::duplicate);
  EXPECT_EQ(handled(), 1);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(WorkerTest, AFailureFreesTheKeyAndTheMessageComesBackLaterAndLater) {
  queue_.send("1");
  std::atomic<std::int64_t> attempts = 0;
  start(
      [&](Task& task) -> Result<Effects> {
        attempts = task.attempt.number();
        if (attempts < 4) return task.attempt.retry_later("no luck");
        return Effects().add("handled", 1);
      },
      {.first_delay = 2s});
  std::size_t failures = 0;
  for (const Duration delay : {2'000ms, 4'000ms, 8'000ms}) {
    EXPECT_EQ(reports(++failures).back().what, Delivered::failed);
    EXPECT_EQ(queue_.delays().back(), delay);
    const auto claim = once_.claims().show("work/4:test/id/1");
    EXPECT_EQ(claim.value()->kind, ClaimState::Kind::free);
    EXPECT_EQ(claim.value()->result, "no luck");
    clock_.advance(delay);
  }
  EXPECT_EQ(reports(4)[3].what, Delivered::handled);
  EXPECT_EQ(attempts, 4);
}

TEST_F(WorkerTest, AfterTheLastAttemptItIsADeadLetterWithTheReason) {
  queue_.send("1", "body");
  start(failing, {.max_attempts = 2});
  EXPECT_EQ(reports(1)[0].what, Delivered::failed);
  clock_.advance(1s);
  EXPECT_EQ(reports(2)[1].what, Delivered::dead);
  ASSERT_EQ(queue_.dead().size(), 1U);
  EXPECT_EQ(queue_.dead()[0].reason, "no luck");
  EXPECT_EQ(queue_.dead()[0].message.body, "body");
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(WorkerTest, H31_ADeadLetterThatIsPutBackIsHandled) {
  queue_.send("1");
  std::atomic<bool> mended = false;
  start(
      [&](Task& task) -> Result<Effects> {
        if (!mended) return task.attempt.retry_later("no luck");
        return Effects().add("handled", 1);
      },
      {.max_attempts = 1});
  EXPECT_EQ(reports(1)[0].what, Delivered::dead);
  mended = true;
  queue_.send("1");
  EXPECT_EQ(reports(2)[1].what, Delivered::handled);
  EXPECT_EQ(handled(), 1);
}

TEST_F(WorkerTest, H47_ADeadLetterLeavesAFailedRecordWithItsReason) {
  queue_.send("1");
  start(failing, {.max_attempts = 1});
  EXPECT_EQ(reports(1)[0].what, Delivered::dead);
  const auto reason = once_.claims().show("dead/work/4:test/id/1");
  ASSERT_TRUE(reason.value().has_value());
  EXPECT_EQ((*reason)->kind, ClaimState::Kind::failed);
  EXPECT_EQ((*reason)->result, "no luck");
  const auto failed = once_.claims().list({.kind = ClaimState::Kind::failed}).value();
  ASSERT_EQ(failed.claims.size(), 1U);
  EXPECT_EQ(failed.claims[0].name, "dead/work/4:test/id/1");
  EXPECT_EQ(once_.claims().show("work/4:test/id/1").value()->kind, ClaimState::Kind::free);
}

TEST_F(WorkerTest, WithoutADeadLetterWrittenTheMessageStays) {
  queue_.refuse_dead(true);
  queue_.send("1");
  start(failing, {.max_attempts = 1});
  EXPECT_EQ(reports(1)[0].what, Delivered::failed);
  EXPECT_EQ(queue_.size(), 1U);
  queue_.refuse_dead(false);
  clock_.advance(1s);
  EXPECT_EQ(reports(2)[1].what, Delivered::dead);
  EXPECT_EQ(queue_.dead().at(0).reason, "no luck");
}

TEST_F(WorkerTest, AMessageThatEndsItsWorkersBecomesADeadLetter) {
  // What workers that died leave behind: claims whose lease ended, and deliveries.
  for (int i = 0; i < 3; ++i) {
    const auto taken = once_.claims().take("work/4:test/id/1", {.lease = 1s});
    ASSERT_TRUE(taken && std::holds_alternative<Claimed>(*taken));
    clock_.advance(10s);
  }
  queue_.send("1");
  ASSERT_EQ(queue_.receive(1, 1s).value().size(), 1U);
  clock_.advance(1s);
  start([](Task&) -> Result<Effects> { throw std::logic_error("it ran"); }, {.max_attempts = 3});
  EXPECT_EQ(reports(1)[0].what, Delivered::dead);
  EXPECT_EQ(reports(1)[0].reason, "no attempt at it came to an end");
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(WorkerTest, WhatCannotBeKnownBecomesADeadLetterAtOnce) {
  queue_.send("", "no id");
  start(counting);
  EXPECT_EQ(reports(1)[0].what, Delivered::dead);
  EXPECT_EQ(queue_.dead()[0].reason, "it has no id to know it by");
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(WorkerTest, GivingUpIsTheLastAttempt) {
  queue_.send("1");
  start([](Task& task) -> Result<Effects> { return task.attempt.give_up("never"); });
  EXPECT_EQ(reports(1)[0].what, Delivered::dead);
  EXPECT_EQ(queue_.dead()[0].reason, "never");
}

TEST_F(WorkerTest, AnExceptionIsAFailure) {
  queue_.send("1");
  start([](Task&) -> Result<Effects> { throw std::runtime_error("oops"); });
  EXPECT_EQ(reports(1)[0].reason, "the handler threw: oops");
  EXPECT_EQ(reports(1)[0].what, Delivered::failed);
}

TEST_F(WorkerTest, LeaseAndVisibilityAreRenewedTogether) {
  queue_.send("1");
  std::latch begun(1);
  std::latch done(1);
  start(
      [&](Task&) -> Result<Effects> {
        begun.count_down();
        done.wait();
        return Effects().add("handled", 1);
      },
      {.lease = 30s});
  begun.wait();
  for (int i = 1; i <= 5; ++i) {
    clock_.advance(10s);
    while (queue_.extensions().size() < static_cast<std::size_t>(i)) std::this_thread::yield();
  }
  EXPECT_EQ(queue_.extensions()[4], 30s);
  const auto claim = once_.claims().show("work/4:test/id/1");
  EXPECT_EQ(claim.value().value().lease_until, clock_.now() + 30s);
  done.count_down();
  EXPECT_EQ(reports(1)[0].what, Delivered::handled) << "it was delivered again meanwhile";
}

TEST_F(WorkerTest, ALostLeaseStopsTheHandlerAndNothingItReturnsCounts) {
  queue_.send("1");
  std::latch begun(1);
  start(
      [&](Task& task) -> Result<Effects> {
        if (task.attempt.number() > 1) return Effects();
        begun.count_down();
        while (!task.stopped.stop_requested()) std::this_thread::yield();
        return Effects().add("handled", 1);
      },
      {.lease = 30s});
  begun.wait();
  ASSERT_TRUE(once_.claims().forget("work/4:test/id/1").value());
  clock_.advance(10s);
  EXPECT_EQ(reports(1)[0].what, Delivered::lost);
  EXPECT_EQ(handled(), 0);
  clock_.advance(30s);
  EXPECT_EQ(reports(2)[1].what, Delivered::handled);
}

TEST_F(WorkerTest, H38_AHandlerIsToldOfEachRenewal) {
  queue_.send("1");
  std::latch begun(1);
  std::latch done(1);
  std::atomic<int> renewals = 0;
  Time until{};
  start(
      [&](Task& task) -> Result<Effects> {
        const Renewals::Callback count(task.renewals, [&] { ++renewals; });
        begun.count_down();
        done.wait();
        until = task.attempt.lease_until();
        return Effects();
      },
      {.lease = 30s});
  begun.wait();
  for (int i = 1; i <= 3; ++i) {
    clock_.advance(10s);
    while (renewals < i) std::this_thread::yield();
  }
  done.count_down();
  EXPECT_EQ(reports(1)[0].what, Delivered::handled);
  EXPECT_EQ(until, clock_.now() + 30s);
}

// Otherwise a worker that is stopped for a while makes dead letters of what it was at.
TEST_F(WorkerTest, H38_WhatFailedBecauseItsLeaseEndedIsNoFailureOfTheMessage) {
  queue_.send("1");
  start(
      [&](Task& task) -> Result<Effects> {
        task.lease_ended = true;
        return task.attempt.retry_later("the lease was lost");
      },
      {.max_attempts = 1});
  EXPECT_EQ(reports(1)[0].what, Delivered::lost);
  EXPECT_TRUE(queue_.dead().empty());
}

TEST_F(WorkerTest, AsManyAreHandledAtOnceAsItIsTold) {
  constexpr int kAtOnce = 4;
  std::barrier all(kAtOnce);
  for (int i = 0; i < kAtOnce; ++i) queue_.send(std::to_string(i));
  start(
      [&](Task&) -> Result<Effects> {
        all.arrive_and_wait();
        return Effects().add("handled", 1);
      },
      {.concurrency = kAtOnce});
  reports(kAtOnce);
  EXPECT_EQ(handled(), kAtOnce);
}

TEST_F(WorkerTest, MessagesOfAGroupAreHandledInOrderOneAtATime) {
  std::atomic<int> at_once = 0;
  std::mutex mutex;
  std::string order;
  for (const char* body : {"a", "b", "c", "d", "e"}) queue_.send(body, body, "g");
  start([&](Task& task) -> Result<Effects> {
    EXPECT_EQ(++at_once, 1);
    {
      const std::lock_guard lock(mutex);
      order += task.message.body;
    }
    --at_once;
    return Effects();
  });
  reports(5);
  EXPECT_EQ(order, "abcde");
}

// Of a group, whose first message fails at first: the bodies in the order in which they succeed.
struct Order {
  std::mutex mutex;
  std::string bodies;

  Handler handler() {
    return [this](Task& task) -> Result<Effects> {
      if (task.message.body == "a" && task.attempt.number() == 1) {
        return task.attempt.retry_later("no luck");
      }
      const std::lock_guard lock(mutex);
      bodies += task.message.body;
      return Effects();
    };
  }
};

TEST_F(WorkerTest, ThoseBehindAFailureInTheirGroupWaitForIt) {
  Order order;
  for (const char* body : {"a", "b", "c"}) queue_.send(body, body, "g");
  start(order.handler());
  EXPECT_EQ(reports(3)[1].what, Delivered::returned);
  clock_.advance(1s);
  reports(6);
  EXPECT_EQ(order.bodies, "abc");
}

TEST_F(WorkerTest, OneThatWasOnItsWayDoesNotOvertakeAFailureOfItsGroup) {
  Order order;
  queue_.send("a", "a", "g");
  start(order.handler());
  EXPECT_EQ(reports(1)[0].what, Delivered::failed);
  queue_.send("b", "b", "g");
  EXPECT_EQ(reports(2)[1].what, Delivered::returned);
  clock_.advance(1s);
  reports(4);
  EXPECT_EQ(order.bodies, "ab");
}

TEST_F(WorkerTest, StoppingFinishesWhatIsUnderWayAndTakesNoMore) {
  std::latch begun(1);
  std::latch done(1);
  queue_.send("1");
  start(
      [&](Task&) -> Result<Effects> {
        begun.count_down();
        done.wait();
        return Effects().add("handled", 1);
      },
      {.concurrency = 1});
  begun.wait();
  worker_->stop();
  queue_.send("2");
  EXPECT_EQ(worker_->under_way(), 1U);
  done.count_down();
  thread_.join();
  EXPECT_TRUE(ended_.has_value());
  EXPECT_EQ(handled(), 1);
  EXPECT_EQ(queue_.size(), 1U) << "the other one is left for others";
}

TEST_F(WorkerTest, H34_WhileTheStoreIsDownMessagesAreHeldAndNoMoreAreTaken) {
  store_.go_down();
  queue_.send("1");
  std::atomic<std::int64_t> deliveries = 0;
  std::atomic<std::int64_t> attempts = 0;
  start(
      [&](Task& task) -> Result<Effects> {
        deliveries = std::max<std::int64_t>(deliveries, task.message.deliveries);
        attempts = std::max<std::int64_t>(attempts, task.attempt.number());
        return Effects().add("handled", 1);
      },
      {.lease = 3s});
  wait_for_troubles(1);
  const int receives = queue_.receives();
  queue_.send("2");
  for (int seconds = 0; seconds < 60; ++seconds) {
    const std::size_t extended = queue_.extensions().size();
    clock_.advance(1s);
    while (queue_.extensions().size() == extended) std::this_thread::yield();
  }
  EXPECT_LE(queue_.receives(), receives + 1) << "but for one that was about to begin";
  EXPECT_GT(wait_for_troubles(4), 3U) << "it was tried meanwhile";
  store_.come_up();
  clock_.advance(16s);
  reports(2);
  EXPECT_EQ(handled(), 2);
  EXPECT_EQ(deliveries, 1) << "it came again meanwhile, and was counted";
  EXPECT_EQ(attempts, 1);
  EXPECT_TRUE(queue_.delays().empty()) << "it was given back";
}

TEST_F(WorkerTest, H34_ThoseBehindAHeldOneOfTheirGroupAreHeldWithIt) {
  store_.go_down();
  for (const char* body : {"a", "b"}) queue_.send(body, body, "g");
  std::mutex mutex;
  std::string order;
  start([&](Task& task) -> Result<Effects> {
    const std::lock_guard lock(mutex);
    order += task.message.body + std::to_string(task.message.deliveries);
    return Effects();
  });
  wait_for_troubles(1);
  store_.come_up();
  clock_.advance(16s);
  reports(2);
  EXPECT_EQ(order, "a1b1");
}

TEST_F(WorkerTest, H34_AWorkerThatEndsGivesBackWhatItHolds) {
  store_.go_down();
  queue_.send("1");
  start(counting);
  wait_for_troubles(1);
  end();
  EXPECT_TRUE(ended_.has_value());
  EXPECT_EQ(reports(1)[0].what, Delivered::returned);
  EXPECT_EQ(queue_.size(), 1U);
}

TEST_F(WorkerTest, H34_WhatIsHeldForTooLongGoesBack) {
  store_.go_down();
  queue_.send("1");
  start(counting);
  wait_for_troubles(1);
  clock_.advance(11h);
  EXPECT_EQ(reports(1)[0].what, Delivered::returned);
  store_.come_up();
  EXPECT_TRUE(move_until_handled());
}

TEST_F(WorkerTest, ABrokerThatIsDownIsWaitedFor) {
  queue_.be_down(3);
  queue_.send("1");
  start(counting);
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(wait_until([&] { return troubles_.size() >= i; }));
    clock_.advance(1min);
  }
  EXPECT_EQ(reports(1)[0].what, Delivered::handled);
}

TEST_F(WorkerTest, AQueueThatRefusesFromTheStartEndsTheWorker) {
  queue_.be_down(1, ErrorCode::denied);
  start(counting);
  thread_.join();
  ASSERT_FALSE(ended_.has_value());
  EXPECT_EQ(ended_.error().code, ErrorCode::denied);
}

TEST_F(WorkerTest, H39_AfterAFirstGoodReceiveNoErrorOfTheBrokerEndsTheWorker) {
  queue_.send("1");
  start(counting);
  reports(1);
  for (const ErrorCode refusal : {ErrorCode::invalid, ErrorCode::denied, ErrorCode::unsupported}) {
    const std::size_t before = wait_for_troubles(0);
    queue_.be_down(1, refusal);
    wait_for_troubles(before + 1);
    clock_.advance(1min);
  }
  queue_.send("2");
  EXPECT_EQ(reports(2)[1].what, Delivered::handled);
}

}  // namespace
}  // namespace once
