// The driver on a real broker.
#include "queues/rabbitmq/queue.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>

#include "once/queues.h"
#include "queues/rabbitmq/publisher.h"
#include "testing/certificate.h"
#include "testing/servers/needs.h"
#include "testing/servers/rabbitmq.h"

namespace once::rabbitmq {
namespace {

using namespace std::chrono_literals;

// Its certificate is for localhost and 127.0.0.2, and vouches for itself.
const testing::TempDir& certificate() {
  static const testing::TempDir directory;
  static const bool made = [] {
    testing::make_certificate(directory.path(), "DNS:localhost,IP:127.0.0.2");
    return true;
  }();
  (void)made;
  return directory;
}

testing::RabbitMq& broker() {
  static testing::RabbitMq server(certificate().path());
  return server;
}

class RabbitMqQueue : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(testing::RabbitMq);
    static int count = 0;
    name_ = "queue-" + std::to_string(++count);
    publisher_.emplace(Options{.host = "127.0.0.1", .port = broker().port()});
  }

  std::unique_ptr<Queue> open(const std::string& more = "") {
    return open_queue(broker().address(name_) + more).value();
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

TEST_F(RabbitMqQueue, ItTellsHowManyWait) {
  const auto queue = open();
  EXPECT_EQ(queue->depth().value(), 0U);
  send("1");
  send("2");
  // The broker counts a moment later.
  const auto give_up = std::chrono::steady_clock::now() + 60s;
  while (queue->depth().value() != 2U && std::chrono::steady_clock::now() < give_up) {
  }
  EXPECT_EQ(queue->depth().value(), 2U);
}

TEST_F(RabbitMqQueue, WhatIsNotAcknowledgedComesAgainAndIsCounted) {
  (void)open();  // Makes it.
  send("m1");
  // Only a quorum queue counts beyond the second.
  for (int delivery = 1; delivery <= 3; ++delivery) {
    const auto queue = open();
    EXPECT_EQ(receive(*queue, 1).at(0).deliveries, delivery);
  }
}

TEST_F(RabbitMqQueue, NoMoreAreTakenFromTheBrokerThanAreHandledAndHeldAtOnce) {
  const auto first = open();
  for (int i = 0; i < 10; ++i) send(std::to_string(i));
  ASSERT_EQ(first->receive(1, 30s).value().size(), 1U);
  EXPECT_EQ(receive(*open(), 8).size(), 8U) << "the others are there for others";
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
  const auto dead_queue = open_queue(broker().address(name_ + "-dead")).value();
  const auto dead = receive(*dead_queue, 1);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].body, "bad");
  EXPECT_EQ(dead[0].id, "m1");
  EXPECT_EQ(dead[0].attributes.at("Once-Reason"), "no luck");
  EXPECT_EQ(dead[0].attributes.at("order"), "42");
}

// All that a sender can say, with types that text does not have.
TEST_F(RabbitMqQueue, H47_ADeadLetterKeepsThePropertiesOfItsMessageWithTheirTypes) {
  const auto queue = open();
  std::array<amqp_table_entry_t, 4> headers{};
  headers[0].key = amqp_cstring_bytes("count");
  headers[0].value.kind = AMQP_FIELD_KIND_I64;
  headers[0].value.value.i64 = 42;
  headers[1].key = amqp_cstring_bytes("urgent");
  headers[1].value.kind = AMQP_FIELD_KIND_BOOLEAN;
  headers[1].value.value.boolean = 1;
  amqp_field_value_t second_receiver{};
  second_receiver.kind = AMQP_FIELD_KIND_UTF8;
  const std::string other = name_ + "-other";
  ASSERT_TRUE(ensure_queue({.host = "127.0.0.1", .port = broker().port()}, other).has_value());
  second_receiver.value.bytes = bytes_of(other);
  headers[2].key = amqp_cstring_bytes("CC");
  headers[2].value.kind = AMQP_FIELD_KIND_ARRAY;
  headers[2].value.value.array = {.num_entries = 1, .entries = &second_receiver};
  headers[3].key = amqp_cstring_bytes("when");
  headers[3].value.kind = AMQP_FIELD_KIND_TIMESTAMP;
  headers[3].value.value.u64 = 1'700'000'000;
  amqp_basic_properties_t sent{};
  sent._flags = AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_TIMESTAMP_FLAG |
                AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_USER_ID_FLAG |
                AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_HEADERS_FLAG;
  sent.correlation_id = amqp_cstring_bytes("c-7");
  sent.type = amqp_cstring_bytes("order.created");
  sent.timestamp = 1'700'000'001;
  sent.reply_to = amqp_cstring_bytes("answers");
  sent.expiration = amqp_cstring_bytes("60000");
  sent.user_id = amqp_cstring_bytes("guest");
  sent.message_id = amqp_cstring_bytes("m1");
  sent.priority = 3;
  sent.headers = {.num_entries = 4, .entries = headers.data()};
  Message message;
  message.original = encoded(sent);
  ASSERT_TRUE(publisher_->publish(name_, message).has_value());
  const auto came = receive(*queue, 1);
  EXPECT_EQ(came.at(0).sent, Time(1'700'000'001s));
  ASSERT_TRUE(queue->dead_letter(came.at(0), "no luck").value().has_reason);
  const auto dead_queue = open_queue(broker().address(name_ + "-dead")).value();
  const auto dead = receive(*dead_queue, 1);
  const Properties kept(dead.at(0));
  const amqp_basic_properties_t& is = kept.get();
  EXPECT_EQ(text_of(is.correlation_id), "c-7");
  EXPECT_EQ(text_of(is.type), "order.created");
  EXPECT_EQ(is.timestamp, sent.timestamp);
  EXPECT_EQ(text_of(is.reply_to), "answers");
  EXPECT_EQ(text_of(is.message_id), "m1");
  EXPECT_EQ(is.priority, 3);
  EXPECT_EQ(is._flags & AMQP_BASIC_EXPIRATION_FLAG, 0U) << "it would expire among the dead";
  std::map<std::string, amqp_field_value_t> by_name;
  for (int i = 0; i < is.headers.num_entries; ++i) {
    by_name[text_of(is.headers.entries[i].key)] = is.headers.entries[i].value;
  }
  EXPECT_EQ(by_name.at("count").kind, AMQP_FIELD_KIND_I64);
  EXPECT_EQ(by_name.at("count").value.i64, 42);
  EXPECT_EQ(by_name.at("urgent").kind, AMQP_FIELD_KIND_BOOLEAN);
  EXPECT_EQ(by_name.at("when").kind, AMQP_FIELD_KIND_TIMESTAMP);
  EXPECT_EQ(by_name.at("Once-CC").kind, AMQP_FIELD_KIND_ARRAY);
  EXPECT_EQ(text_of(by_name.at("Once-Expiration").value.bytes), "60000");
  EXPECT_EQ(text_of(by_name.at("Once-User-Id").value.bytes), "guest");
  EXPECT_FALSE(by_name.contains("CC"));
  const auto other_queue = open_queue(broker().address(other)).value();
  EXPECT_EQ(receive(*other_queue, 1).size(), 1U) << "the message itself";
  EXPECT_TRUE(other_queue->receive(1, 30s).value().empty()) << "its dead letter went there, too";
}

TEST_F(RabbitMqQueue, AllDeadLettersOfAMessageHaveOneIdAndThoseOfOneThatWasPutBackAnother) {
  const auto queue = open();
  const auto dead_queue = open_queue(broker().address(name_ + "-dead")).value();
  send("m1", "bad", {{"order", "42"}});
  Message message = receive(*queue, 1).at(0);
  ASSERT_TRUE(queue->dead_letter(message, "no luck").has_value());
  ASSERT_TRUE(queue->give_back(message, 0s).has_value());
  message = receive(*queue, 1).at(0);  // Its second delivery.
  ASSERT_TRUE(queue->dead_letter(message, "again").has_value());
  ASSERT_TRUE(queue->ack(message).has_value());
  const auto letters = receive(*dead_queue, 2);
  const std::string id = letters.at(0).attributes.at("Once-Id");
  EXPECT_EQ(letters.at(1).attributes.at("Once-Id"), id);
  ASSERT_TRUE(publisher_->publish(name_, letters.at(0)).has_value());
  message = receive(*queue, 1).at(0);
  ASSERT_TRUE(queue->dead_letter(message, "no luck").has_value());
  EXPECT_NE(receive(*dead_queue, 1).at(0).attributes.at("Once-Id"), id);
}

TEST_F(RabbitMqQueue, H45_ABrokerThatTakesNoMessagesHoldsUpNobodyAndGetsEachLetterOnce) {
  const auto queue = open();
  for (const char* id : {"m1", "m2"}) send(id);
  const auto messages = receive(*queue, 2);
  const std::string probes = name_ + "-probes";
  const Options options{.host = "127.0.0.1", .port = broker().port()};
  ASSERT_TRUE(ensure_queue(options, probes).has_value());
  broker().control({"set_vm_memory_high_watermark", "0"});
  // The broker looks at its memory every few seconds.
  const auto until = std::chrono::steady_clock::now() + 30s;
  Publisher probe(options);
  while (probe.publish(probes, {}).has_value() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(10ms);
  }
  const auto began = std::chrono::steady_clock::now();
  // A broker may store the first message of a connection before it heeds its alarm. That it did is
  // told once.
  const Result<DeadLetter> first = queue->dead_letter(messages[0], "no luck");
  bool told = first.has_value();
  if (!told) {
    EXPECT_EQ(first.error().code, ErrorCode::unknown);
  }
  for (int tries = 0; tries < 3; ++tries) {
    told = told || queue->dead_letter(messages[0], "no luck").has_value();
    EXPECT_EQ(queue->dead_letter(messages[1], "no luck").error().code, ErrorCode::unavailable);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s) << "it is told, and need not wait";
  // More than fits into the buffers on the way, so that sending it does not come to an end.
  Message large;
  large.body.resize(50'000'000);
  Publisher impatient(options, 500ms);
  EXPECT_EQ(impatient.publish(probes, large).error().code, ErrorCode::unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 9s);

  broker().control({"set_vm_memory_high_watermark", "absolute", "1GB"});
  for (const std::size_t i : {1U, 0U}) {
    if (i == 0 && told) continue;
    Result<DeadLetter> sent = failure(ErrorCode::unavailable, "");
    while (!sent && std::chrono::steady_clock::now() < until + 30s) {
      sent = queue->dead_letter(messages[i], "no luck");
    }
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
  }
  const auto dead_queue = open_queue(broker().address(name_ + "-dead")).value();
  std::multiset<std::string> ids;
  for (const Message& letter : receive(*dead_queue, 2)) ids.insert(letter.id);
  EXPECT_EQ(ids, (std::multiset<std::string>{"m1", "m2"}));
  EXPECT_TRUE(dead_queue->receive(1, 30s).value().empty()) << "one is there twice";
}

TEST_F(RabbitMqQueue, APublishToNoQueueIsNoSuccess) {
  Message message;
  EXPECT_FALSE(publisher_->publish("there-is-none", message).has_value());
}

TEST_F(RabbitMqQueue, WhoIsNotLetInIsDenied) {
  const auto refused =
      open_queue("amqp://guest:wrong@127.0.0.1:" + std::to_string(broker().port()) + "/q");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::denied) << refused.error().message;
}

TEST_F(RabbitMqQueue, TlsIsSpokenToTheBrokerThatWasMeantOnly) {
  const std::string ca = (certificate().path() / "certificate.pem").string();
  const auto over_tls = [&](const std::string& host, const std::string& ca_file) {
    std::string address = "amqps://" + host + ":" + std::to_string(broker().tls_port());
    address.append("/").append(name_);
    if (!ca_file.empty()) address.append("?ca=").append(ca_file);
    return open_queue(address);
  };
  const auto code = [](const auto& opened) {
    return opened ? std::optional<ErrorCode>() : std::optional(opened.error().code);
  };
  EXPECT_EQ(code(over_tls("localhost", "")), ErrorCode::denied) << "nobody vouches for it";
  EXPECT_EQ(code(over_tls("127.0.0.1", ca)), ErrorCode::denied) << "not its address";
  EXPECT_EQ(code(over_tls("localhost", ca + ".none")), ErrorCode::invalid);
  for (const char* host : {"localhost", "127.0.0.2"}) {
    const auto queue = over_tls(host, ca);
    ASSERT_TRUE(queue.has_value()) << host << ": " << queue.error().message;
    // More than a record of TLS, and more than one message in what is read at once.
    const std::string large(300'000, 'v');
    for (int i = 0; i < 20; ++i) send(std::to_string(i), i % 5 == 0 ? large : "small");
    for (const Message& message : receive(**queue, 20)) {
      EXPECT_EQ(message.body, std::stoi(message.id) % 5 == 0 ? large : "small");
      EXPECT_TRUE((*queue)->ack(message).has_value());
    }
  }
  Options plain_port{.host = "localhost", .port = broker().port(), .tls = true, .ca_file = ca};
  plain_port.queue = name_;
  EXPECT_EQ(code(rabbitmq::open(plain_port)), ErrorCode::unavailable) << "it speaks no TLS there";
}

// Last: the others' connections end here.
TEST_F(RabbitMqQueue, ZABrokerThatIsKilledIsFoundAgainAndNothingConfirmedIsLost) {
  const auto queue = open();
  send("m1");
  const auto before = receive(*queue, 1);
  broker().kill();
  EXPECT_EQ(queue->receive(10, 30s).error().code, ErrorCode::unavailable);
  EXPECT_EQ(queue->ack(before.at(0)).error().code, ErrorCode::unavailable);
  broker().start();
  EXPECT_EQ(receive(*queue, 1).at(0).id, "m1");
}

}  // namespace
}  // namespace once::rabbitmq
