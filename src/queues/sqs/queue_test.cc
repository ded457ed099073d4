// The driver on a real server, and what the server never does on a relay before it.
#include <gtest/gtest.h>

#include "once/queues.h"
#include "testing/relay/relay.h"
#include "testing/servers/needs.h"
#include "testing/servers/sqs_queues.h"

namespace once::sqs {
namespace {

using namespace std::chrono_literals;

class SqsQueue : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(testing::ElasticMq);
    static int count = 0;
    name_ = "queue-" + std::to_string(++count);
    sender_.emplace(testing::shared_elasticmq().url());
    sender_->make(name_);
  }

  Result<std::unique_ptr<Queue>> open(const std::string& url, const std::string& more = "") {
    return open_queue("sqs://" + name_ + "?region=eu-west-1&wait=1&endpoint=" + url + more);
  }
  std::unique_ptr<Queue> open() { return open(testing::shared_elasticmq().url()).value(); }

  // Until there is one, or ten seconds are over.
  static std::vector<Message> receive(Queue& queue, Duration hidden = 30s) {
    for (int tries = 0; tries < 10; ++tries) {
      auto messages = queue.receive(10, hidden).value();
      if (!messages.empty()) return messages;
    }
    return {};
  }

  // What was hidden for a second would come: each call waits for one.
  static bool comes_no_more(Queue& queue) {
    return queue.receive(1, 30s).value().empty() && queue.receive(1, 30s).value().empty();
  }

  std::string name_;
  std::optional<testing::SqsSender> sender_;
};

TEST_F(SqsQueue, AMessageComesOnceAndIsGoneWhenItIsAcknowledged) {
  const auto queue = open();
  sender_->send(name_, "hello <&> \xc3\xa9");
  const std::vector<Message> messages = receive(*queue, 1s);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].body, "hello <&> \xc3\xa9");
  EXPECT_FALSE(messages[0].id.empty());
  EXPECT_EQ(messages[0].deliveries, 1);
  ASSERT_TRUE(queue->ack(messages[0]).has_value());
  EXPECT_TRUE(comes_no_more(*queue));
  EXPECT_TRUE(queue->ack(messages[0]).has_value()) << "acknowledging again does no harm";
}

TEST_F(SqsQueue, ItTellsHowManyWaitAndWhenEachWasSent) {
  const auto queue = open();
  EXPECT_EQ(queue->depth().value(), 0U);
  for (const char* body : {"a", "b", "c"}) sender_->send(name_, body);
  EXPECT_EQ(queue->depth().value(), 3U);
  const std::vector<Message> messages = receive(*queue);
  ASSERT_FALSE(messages.empty());
  ASSERT_TRUE(messages[0].sent.has_value());
  EXPECT_LT(std::chrono::abs(system_clock().now() - *messages[0].sent), 10min);
  EXPECT_EQ(queue->depth().value(), 3U - messages.size());
}

TEST_F(SqsQueue, UpToTenComeAtOnceAndNoMoreThanWanted) {
  const auto queue = open();
  for (int i = 0; i < 12; ++i) sender_->send(name_, std::to_string(i));
  EXPECT_EQ(queue->receive(3, 30s).value().size(), 3U);
  EXPECT_LE(queue->receive(1'000, 30s).value().size(), 10U);
}

TEST_F(SqsQueue, ACallWaitsForMessagesAsLongAsItIsTold) {
  const auto queue = open();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(queue->receive(10, 30s).value().empty());
  EXPECT_GE(std::chrono::steady_clock::now() - began, 900ms);
}

TEST_F(SqsQueue, WhatIsGivenBackComesAgainAndIsCounted) {
  const auto queue = open();
  sender_->send(name_, "x");
  const auto first = receive(*queue);
  ASSERT_EQ(first.size(), 1U);
  ASSERT_TRUE(queue->give_back(first[0], 0s).has_value());
  const auto second = receive(*queue);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].id, first[0].id);
  EXPECT_EQ(second[0].deliveries, 2);
}

TEST_F(SqsQueue, WhatIsExtendedStaysHiddenLonger) {
  const auto queue = open();
  sender_->send(name_, "x");
  const auto first = receive(*queue, 1s);
  ASSERT_EQ(first.size(), 1U);
  ASSERT_TRUE(queue->extend(first[0], 30s).has_value());
  EXPECT_TRUE(comes_no_more(*queue));
}

TEST_F(SqsQueue, DeadLettersGoToAQueueThatIsMadeForThem) {
  const auto queue = open();
  sender_->send(name_, "bad one");
  const auto messages = receive(*queue);
  ASSERT_EQ(messages.size(), 1U);
  ASSERT_TRUE(queue->dead_letter(messages[0], "no luck").has_value());
  EXPECT_TRUE(queue->give_back(messages[0], 0s).has_value());
  EXPECT_EQ(receive(*queue).size(), 1U) << "it is still to be acknowledged";
  const auto dead = sender_->receive(name_ + "-dead");
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].body, "bad one");
}

TEST_F(SqsQueue, ADeadLetterHasTheReasonAndTheAttributes) {
  std::string sent;
  testing::Relay relay(testing::shared_elasticmq().port(), [&](const auto& request) {
    if (request.body.find("Action=SendMessage") != std::string::npos) sent = request.body;
    return testing::Pass();
  });
  const auto queue = open(relay.url()).value();
  Message message;
  message.id = "m1";
  message.body = "b";
  message.attributes = {{"order", "42"}};
  ASSERT_TRUE(queue->dead_letter(message, "no \x01luck").has_value());
  EXPECT_NE(sent.find("Name=Once-Reason"), std::string::npos) << sent;
  EXPECT_NE(sent.find("StringValue=no%20%20luck"), std::string::npos) << sent;
  EXPECT_NE(sent.find("Name=order"), std::string::npos) << sent;
}

TEST_F(SqsQueue, H47_ADeadLetterKeepsTheAttributesOfItsMessageWithTheirTypes) {
  std::string sent;
  testing::Relay relay(testing::shared_elasticmq().port(), [&](const auto& request) {
    if (request.body.find("Action=SendMessage") != std::string::npos) sent = request.body;
    return testing::Pass();
  });
  const auto queue = open(relay.url()).value();
  const auto message = messages_in(R"(<ReceiveMessageResponse><ReceiveMessageResult><Message>
    <MessageId>m1</MessageId><Body>b</Body>
    <MessageAttribute><Name>order</Name><Value><DataType>Number</DataType>
      <StringValue>42</StringValue></Value></MessageAttribute>
    <MessageAttribute><Name>image</Name><Value><DataType>Binary</DataType>
      <BinaryValue>AQI=</BinaryValue></Value></MessageAttribute>
    <MessageAttribute><Name>Once-Reason</Name><Value><DataType>String</DataType>
      <StringValue>an earlier one</StringValue></Value></MessageAttribute>
    </Message></ReceiveMessageResult></ReceiveMessageResponse>)");
  EXPECT_TRUE(queue->dead_letter(message.value().at(0), "no luck").value().has_reason);
  for (const char* part : {"Name=order&MessageAttribute.1.Value.DataType=Number&MessageAttribute.1."
                           "Value.StringValue=42",
                           "Name=image&MessageAttribute.2.Value.DataType=Binary&"
                           "MessageAttribute.2.Value.BinaryValue=AQI%3D",
                           "MessageAttribute.3.Name=Once-Id", "MessageAttribute.4.Name=Once-Reason",
                           "StringValue=no%20luck"}) {
    EXPECT_NE(sent.find(part), std::string::npos) << part << "\n" << sent;
  }
  EXPECT_EQ(sent.find("earlier"), std::string::npos) << sent;
}

TEST_F(SqsQueue, H47_WhatAMessageCameWithGoesBeforeTheReason) {
  const auto queue = open();
  Message message;
  message.id = "m1";
  message.body = "b";
  for (int i = 0; i < 9; ++i) message.attributes["a" + std::to_string(i)] = "v";
  EXPECT_FALSE(queue->dead_letter(message, "no luck").value().has_reason);
  const auto dead = sender_->receive(name_ + "-dead");
  ASSERT_EQ(dead.size(), 1U);
}

TEST_F(SqsQueue, H47_ADeadLetterThatIsTooLargeForAReasonGoesWithoutIt) {
  testing::Relay relay(
      testing::shared_elasticmq().port(), [&](const auto& request) -> testing::Fault {
        if (request.body.find("Once-Reason") == std::string::npos) return testing::Pass();
        return testing::Answer{"400 Bad Request",
                               "<ErrorResponse><Error><Code>InvalidParameterValue</Code></Error>"
                               "</ErrorResponse>",
                               {"Content-Type: text/xml"}};
      });
  const auto queue = open(relay.url()).value();
  Message message;
  message.id = "m1";
  message.body = "large";
  EXPECT_FALSE(queue->dead_letter(message, "no luck").value().has_reason);
  EXPECT_EQ(sender_->receive(name_ + "-dead")[0].body, "large");
}

TEST_F(SqsQueue, ALostReplyToAnAcknowledgementIsSentAgain) {
  int lost = 0;
  testing::Relay relay(
      testing::shared_elasticmq().port(), [&](const auto& request) -> testing::Fault {
        const bool deletes = request.body.find("Action=DeleteMessageBatch") != std::string::npos;
        if (deletes && lost++ == 0) return testing::DropReply();
        return testing::Pass();
      });
  const auto queue = open(relay.url()).value();
  sender_->send(name_, "x");
  ASSERT_TRUE(queue->ack(receive(*queue, 1s).at(0)).has_value());
  EXPECT_EQ(lost, 2);
  EXPECT_TRUE(comes_no_more(*queue));
}

TEST_F(SqsQueue, ThrottlingIsUnavailable) {
  const auto throttle = [](const testing::RelayedRequest& request) -> testing::Fault {
    if (request.body.find("Action=ReceiveMessage") == std::string::npos) return testing::Pass();
    return testing::Answer{"403 Forbidden",
                           "<ErrorResponse><Error><Code>RequestThrottled</Code></Error>"
                           "</ErrorResponse>",
                           {"Content-Type: text/xml"}};
  };
  testing::Relay relay(testing::shared_elasticmq().port(), throttle);
  const auto queue = open(relay.url()).value();
  EXPECT_EQ(queue->receive(1, 1s).error().code, ErrorCode::unavailable);
}

TEST_F(SqsQueue, AGroupsDeadLetterStaysInItsGroup) {
  std::string sent;
  const auto as_amazon = [&](const testing::RelayedRequest& request) -> testing::Fault {
    if (request.body.find("Action=SendMessage") != std::string::npos) sent = request.body;
    const bool dead = request.body.find("-dead.fifo") != std::string::npos;
    return testing::Answer{"200 OK",
                           std::string("<AResponse><AResult><QueueUrl>https://x/1/") +
                               (dead ? "jobs-dead.fifo" : "jobs.fifo") +
                               "</QueueUrl></AResult></AResponse>",
                           {"Content-Type: text/xml"}};
  };
  testing::Relay relay(0, as_amazon);
  name_ = "jobs.fifo";
  const auto queue = open(relay.url()).value();
  EXPECT_EQ(queue->name(), "sqs/1/jobs.fifo");
  Message message;
  message.id = "m1";
  message.group = "g";
  ASSERT_TRUE(queue->dead_letter(message, "no luck").has_value());
  EXPECT_NE(sent.find("MessageGroupId=g&MessageDeduplicationId=m1"), std::string::npos) << sent;
}

TEST_F(SqsQueue, AQueueThatIsNotThereIsRefused) {
  name_ = "none";
  EXPECT_EQ(open(testing::shared_elasticmq().url()).error().code, ErrorCode::invalid);
}

TEST_F(SqsQueue, AnAddressThatIsNoneIsRefused) {
  for (const char* address : {"sqs:", "sqs://", "sqs://a/b", "sqs://a?region=r&x=1", "jobs",
                              "sqs://a?region=r&wait=21", "http://x"}) {
    EXPECT_EQ(open_queue(address).error().code, ErrorCode::invalid) << address;
  }
}

}  // namespace
}  // namespace once::sqs
