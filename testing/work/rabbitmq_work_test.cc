// `once work` on RabbitMQ and an embedded store behind a server.
#include <algorithm>
#include <fstream>
#include <map>

#include "once/memory_store.h"
#include "once/queues.h"
#include "once/work.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/rabbitmq_queues.h"
#include "testing/stoppable_store.h"
#include "testing/temp_dir.h"
#include "testing/work/worker_process.h"

namespace once::testing {
namespace {

class WorkOnRabbitMq : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(RabbitMq);
    queue_.emplace();
    server_.emplace((dir_.path() / "store").string());
    once_.emplace(open(server_->url()).value());
  }

  WorkerProcess work_by(const std::string& script, std::vector<std::string> options,
                        const std::string& more = "") const {
    options.insert(options.end(), {"--ttl", "30d", "--", "sh", "-c", script});
    return {queue_->address() + more, server_->url(), options};
  }

  static Message message(const std::string& id, const std::string& customer) {
    Message message;
    message.id = id;
    message.attributes["customer"] = customer;
    return message;
  }

  // The next of them, with its reason.
  Message dead_letter() const {
    const auto queue = open_queue(queue_->dead_address()).value();
    std::vector<Message> messages;
    EXPECT_TRUE(eventually([&] {
      messages = queue->receive(1, std::chrono::seconds(30)).value_or(std::vector<Message>());
      return !messages.empty();
    }));
    return messages.empty() ? Message() : messages[0];
  }

  TempDir dir_;
  std::optional<RabbitMqQueue> queue_;
  std::optional<ServerProcess> server_;
  std::optional<Once> once_;
};

TEST_F(WorkOnRabbitMq, MessagesOfAGroupAreHandledInOrder) {
  constexpr std::size_t kEach = 12;
  std::vector<Message> messages;
  for (std::size_t i = 0; i < kEach; ++i) {
    for (const char* customer : {"a", "b", "c"}) {
      messages.push_back(message(customer + std::to_string(100 + i), customer));
    }
  }
  queue_->send_in_order(messages);
  // The first one of each fails at first, and takes those behind it along.
  WorkerProcess worker = work_by(
      R"(case $ONCE_ATTEMPT$ONCE_MESSAGE_ID in 1?100) exit 1;; esac
         echo '{"logs":[{"stream":"'${ONCE_MESSAGE_ID%???}'","events":[{"data":"'$ONCE_MESSAGE_ID'"}]}]}' >&3)",
      {"--concurrency", "9", "--retry-delay", "100ms"}, "?group=customer");
  for (const std::string customer : {"a", "b", "c"}) {
    std::vector<std::string> handled;
    EXPECT_TRUE(eventually([&] {
      handled.clear();
      const auto page = once_->log().read(customer, {});
      for (const auto& event : page.value().events) handled.push_back(event.data);
      return handled.size() >= kEach;
    }));
    EXPECT_EQ(handled.size(), kEach);
    EXPECT_TRUE(std::ranges::is_sorted(handled)) << ::testing::PrintToString(handled);
  }
  EXPECT_EQ(worker.terminate(), 0);
}

TEST_F(WorkOnRabbitMq, WhatFailsBecomesADeadLetterWithTheReasonAndIsHandledWhenItIsPutBack) {
  queue_->send_all({message("m1", "7")});
  const std::string mended = (dir_.path() / "mended").string();
  WorkerProcess worker = work_by("test -e " + mended +
                                     " || { echo no luck >&2; exit 3; }; "
                                     R"(echo '{"tallies":[{"key":"handled","kind":"count"}]}' >&3)",
                                 {"--max-attempts", "2", "--retry-delay", "100ms"});
  const Message dead = dead_letter();
  EXPECT_EQ(dead.id, "m1");
  EXPECT_EQ(dead.attributes.at("customer"), "7");
  EXPECT_EQ(dead.attributes.at("Once-Reason"), "exit code 3: no luck");
  std::ofstream(mended) << "now";
  queue_->send_all({message("m1", "7")});
  EXPECT_TRUE(eventually([&] { return tally(*once_, "handled") == 1; }));
  EXPECT_EQ(worker.terminate(), 0);
  EXPECT_EQ(queue_->waiting(), 0U);
}

TEST_F(WorkOnRabbitMq, AMessageThatKillsItsWorkersBecomesADeadLetter) {
  queue_->send_all({message("poison", "7")});
  const std::vector<std::string> options = {"--max-attempts", "2", "--lease", "1s"};
  for (int attempt = 0; attempt < 2; ++attempt) {
    WorkerProcess victim = work_by("kill -9 $PPID", options);
    EXPECT_EQ(victim.wait(), -SIGKILL);
  }
  WorkerProcess survivor = work_by("kill -9 $PPID", options);
  EXPECT_EQ(dead_letter().attributes.at("Once-Reason"), "no attempt at it came to an end");
  EXPECT_EQ(survivor.terminate(), 0);
  EXPECT_EQ(queue_->waiting(), 0U);
}

// The broker's memory alarm, from when the broker heeds it.
class MemoryAlarm {
 public:
  MemoryAlarm() {
    const RabbitMqQueue probes;
    shared_rabbitmq().control({"set_vm_memory_high_watermark", "0"});
    EXPECT_TRUE(eventually([&] {  // It looks at its memory every few seconds.
      try {
        probes.send_in_order({Message()});
        return false;
      } catch (const std::runtime_error&) {
        return true;
      }
    }));
  }
  ~MemoryAlarm() { shared_rabbitmq().control({"set_vm_memory_high_watermark", "absolute", "1GB"}); }
  MemoryAlarm(const MemoryAlarm&) = delete;
  MemoryAlarm& operator=(const MemoryAlarm&) = delete;
};

// Its dead letter is larger than what fits into the buffers on the way, so that sending it comes to
// no end.
TEST_F(WorkOnRabbitMq, H45_AWorkerThatIsToldToEndDuringAnAlarmEnds) {
  const auto file = [&](const char* name) { return (dir_.path() / name).string(); };
  Message large = message("large", "7");
  large.body.resize(30'000'000, 'x');
  queue_->send_in_order({large});
  WorkerProcess worker = work_by(
      "touch " + file("up") + "; until test -e " + file("go") + "; do sleep 0.02; done; exit 1",
      {"--max-attempts", "1"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("up")); }));
  {
    const MemoryAlarm alarm;
    std::ofstream(file("go")) << "now";
    worker.ask_to_stop();
    EXPECT_TRUE(eventually([&] { return worker.has_ended(); }, std::chrono::seconds(60)));
    if (!worker.has_ended()) worker.kill();
    EXPECT_EQ(worker.wait(), 0);
  }
  // Nothing is lost: it comes back, and becomes a dead letter now.
  WorkerProcess second = work_by("exit 1", {"--max-attempts", "1"});
  EXPECT_EQ(dead_letter().id, "large");
  EXPECT_EQ(second.terminate(), 0);
}

// A hundred times as fast as the real one, so that a worker's pauses are short.
class FastClock final : public Clock {
 public:
  Time now() override {
    const auto passed = std::chrono::steady_clock::now() - began_;
    return start_ + std::chrono::floor<Duration>(passed * kPace);
  }
  void sleep(Duration length) override { std::this_thread::sleep_for(real(length)); }
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            Time until) override {
    signal.wait_for(lock, real(until - now()));
  }

 private:
  static constexpr int kPace = 100;
  static std::chrono::microseconds real(Duration length) {
    return std::chrono::microseconds(length) / kPace;
  }

  const Time start_ = system_clock().now();
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// A broker that drops what was delivered more than four times, and a store that is down for as long
// as a worker that gives messages back needs to use that up.
TEST(WorkOnALimitedRabbitMqQueue, H34_AnOutageOfTheStoreIsNotChargedToTheMessages) {
  ONCE_NEEDS_SERVER(RabbitMq);
  constexpr int kMessages = 3;
  constexpr int kLimit = 4;
  const RabbitMqQueue limited(kLimit);
  std::vector<Message> messages(kMessages);
  for (int i = 0; i < kMessages; ++i)
    messages[static_cast<std::size_t>(i)].body = event(std::to_string(i));
  limited.send_all(messages);
  const auto memory = open_memory();
  StoppableStore store(*memory);
  Store& stopped = store;
  Once once(std::make_unique<Decorator<Store>>(stopped));
  const auto queue = open_queue(limited.address()).value();
  const auto warnings = queue->warnings().value();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("more than 4 times"), std::string::npos) << warnings[0];
  std::atomic<std::int64_t> most_attempts = 0;
  FastClock clock;
  Worker worker(
      once, *queue, {.concurrency = 1, .first_delay = Duration(1), .longest_delay = Duration(1)},
      [&](Task& task) -> Result<Effects> {
        if (task.attempt.number() > most_attempts) most_attempts = task.attempt.number();
        return Effects().add("handled", 1);
      },
      clock);
  store.go_down();
  std::thread working([&] { EXPECT_TRUE(worker.run().has_value()); });
  EXPECT_TRUE(eventually([&] { return store.refused() >= kMessages * (kLimit + 2); }));
  store.come_up();
  EXPECT_TRUE(
      eventually([&] { return tally(once, "handled") == kMessages; }, std::chrono::seconds(15)))
      << tally(once, "handled");
  worker.stop();
  working.join();
  EXPECT_EQ(tally(once, "handled"), kMessages);
  EXPECT_EQ(most_attempts, 1);
  EXPECT_EQ(limited.waiting(), 0U);
}

}  // namespace
}  // namespace once::testing
