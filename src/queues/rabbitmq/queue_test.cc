// The driver on a real broker.
#include "queues/rabbitmq/queue.h"

#include <gtest/gtest.h>

#include <set>

#include "once/queues.h"
#include "queues/rabbitmq/publisher.h"
#include "testing/servers/needs.h"
#include "testing/servers/rabbitmq.h"

namespace once::rabbitmq {
namespace {

using namespace std::chrono_literals;

class RabbitMqQueue : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(testing::RabbitMq);
    static int count = 0;
    name_ = "queue-" + std::to_string(++count);
    publisher_.emplace(Options{.host = "127.0.0.1", .port = testing::shared_rabbitmq().port()});
  }

  std::unique_ptr<Queue> open(const std::string& more = "") {
    return open_queue(testing::shared_rabbitmq().address(name_) + more).value();
  }
  void send(const std::string& id, const std::string& body = "",
            std::map<std::string, std::string, std::less<>> headers = {}) {
    Message message;
    message.id = id;
    message.body = body;
    message.content_type = "text/plain";
    message.attributes = std::move(headers);
    const Result<void> sent = publisher_->publish(name_, message);
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
  }

  // Until there are so many, or a minute is over.
  static std::vector<Message> receive(Queue& queue, std::size_t count) {
    std::vector<Message> all;
    for (int tries = 0; tries < 30 && all.size() < count; ++tries) {
      const Result<std::vector<Message>> some = queue.receive(10, 30s);
      if (some) all.insert(all.end(), some->begin(), some->end());
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }

  std::string name_;
  std::optional<Publisher> publisher_;
};

TEST_F(RabbitMqQueue, AMessageComesWithItsPropertiesAndIsGoneWhenItIsAcknowledged) {
  auto queue = open("?group=customer");
  send("m1", std::string("a\0b\xff", 4), {{"customer", "7"}, {"order", "42"}});
  const auto messages = receive(*queue, 1);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].id, "m1");
  EXPECT_EQ(messages[0].body, std::string("a\0b\xff", 4));
  EXPECT_EQ(messages[0].content_type, "text/plain");
  EXPECT_EQ(messages[0].attributes.at("order"), "42");
  EXPECT_EQ(messages[0].group, "7");
  EXPECT_EQ(messages[0].deliveries, 1);
  ASSERT_TRUE(queue->ack(messages[0]).has_value());
  queue.reset();  // What is not acknowledged would come again.
  queue = open();
  send("m2");
  EXPECT_EQ(receive(*queue, 1).at(0).id, "m2");
}

TEST_F(RabbitMqQueue, WhatIsNotAcknowledgedComesAgainAndIsCounted) {
  auto queue = open();
  send("m1");
  EXPECT_EQ(receive(*queue, 1).at(0).deliveries, 1);
  queue.reset();
  queue = open();
  EXPECT_EQ(receive(*queue, 1).at(0).deliveries, 2);
}

TEST_F(RabbitMqQueue, WhatIsGivenBackComesAgainAfterItsDelay) {
  const auto queue = open();
  send("m1");
  const auto first = receive(*queue, 1);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(queue->give_back(first.at(0), 300ms).has_value());
  EXPECT_EQ(receive(*queue, 1).at(0).deliveries, 2);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);
}

TEST_F(RabbitMqQueue, NoMoreAreHeldBackThanAreHandledAtOnce) {
  const auto queue = open();
  for (int i = 0; i < 3; ++i) send(std::to_string(i));
  std::vector<Message> all;
  while (all.size() < 2) {  // The first call says: one at once.
    const std::vector<Message> some = queue->receive(1, 30s).value();
    all.insert(all.end(), some.begin(), some.end());
  }
  ASSERT_TRUE(queue->give_back(all[0], 1h).has_value());
  ASSERT_TRUE(queue->give_back(all[1], 2h).has_value());
  std::set<std::string> came;
  for (int i = 0; i < 2; ++i) {
    const auto next = receive(*queue, 1);
    came.insert(next.at(0).id);
    ASSERT_TRUE(queue->ack(next.at(0)).has_value());
  }
  EXPECT_EQ(came, (std::set<std::string>{all[0].id, "2"})) << "the one due first, and a new one";
}

TEST_F(RabbitMqQueue, ADeadLetterHasTheReasonAndAllElse) {
  const auto queue = open();
  send("m1", "bad", {{"order", "42"}});
  const auto messages = receive(*queue, 1);
  ASSERT_TRUE(queue->dead_letter(messages.at(0), "no luck").has_value());
  ASSERT_TRUE(queue->ack(messages.at(0)).has_value());
  const auto dead_queue = open_queue(testing::shared_rabbitmq().address(name_ + "-dead")).value();
  const auto dead = receive(*dead_queue, 1);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].body, "bad");
  EXPECT_EQ(dead[0].id, "m1");
  EXPECT_EQ(dead[0].attributes.at("Once-Reason"), "no luck");
  EXPECT_EQ(dead[0].attributes.at("order"), "42");
}

TEST_F(RabbitMqQueue, APublishToNoQueueIsNoSuccess) {
  Message message;
  EXPECT_FALSE(publisher_->publish("there-is-none", message).has_value());
}

TEST_F(RabbitMqQueue, WhoIsNotLetInIsDenied) {
  const auto refused = open_queue(
      "amqp://guest:wrong@127.0.0.1:" + std::to_string(testing::shared_rabbitmq().port()) + "/q");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::denied) << refused.error().message;
}

// Last: the others' connections end here.
TEST_F(RabbitMqQueue, ZABrokerThatIsKilledIsFoundAgainAndNothingConfirmedIsLost) {
  const auto queue = open();
  send("m1");
  const auto before = receive(*queue, 1);
  testing::shared_rabbitmq().kill();
  EXPECT_EQ(queue->receive(10, 30s).error().code, ErrorCode::unavailable);
  EXPECT_EQ(queue->ack(before.at(0)).error().code, ErrorCode::unavailable);
  testing::shared_rabbitmq().start();
  EXPECT_EQ(receive(*queue, 1).at(0).id, "m1");
}

}  // namespace
}  // namespace once::rabbitmq
