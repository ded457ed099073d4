// `once work` on RabbitMQ and an embedded store behind a server.
#include <algorithm>
#include <fstream>
#include <map>

#include "once/queues.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/rabbitmq_queues.h"
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

}  // namespace
}  // namespace once::testing
