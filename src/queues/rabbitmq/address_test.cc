#include "queues/rabbitmq/address.h"

#include <gtest/gtest.h>

namespace once::rabbitmq {
namespace {

Result<Options> read(const std::string& address) { return options_of(parse_address(address)); }

TEST(RabbitMqAddress, HasDefaultsForAllButHostAndQueue) {
  const Options options = read("amqp://broker/jobs").value();
  EXPECT_EQ(options.host, "broker");
  EXPECT_EQ(options.port, 5672);
  EXPECT_EQ(options.user, "guest");
  EXPECT_EQ(options.vhost, "/");
  EXPECT_EQ(options.queue, "jobs");
}

TEST(RabbitMqAddress, IsReadWhole) {
  const Options options =
      read("amqp://me:a%40b@10.0.0.1:5673/my%2Fhost/j%20q?dead=d&group=customer").value();
  EXPECT_EQ(options.user, "me");
  EXPECT_EQ(options.password, "a@b");
  EXPECT_EQ(options.host, "10.0.0.1");
  EXPECT_EQ(options.port, 5673);
  EXPECT_EQ(options.vhost, "my/host");
  EXPECT_EQ(options.queue, "j q");
  EXPECT_EQ(options.dead, "d");
  EXPECT_EQ(options.group, "customer");
}

TEST(RabbitMqAddress, OverTlsItHasAnotherPortAndAFileOfThoseWhoVouch) {
  EXPECT_FALSE(read("amqp://broker/jobs").value().tls);
  const Options options = read("amqps://broker/jobs?ca=%2Fetc%2Fca.pem").value();
  EXPECT_TRUE(options.tls);
  EXPECT_EQ(options.port, 5671);
  EXPECT_EQ(options.ca_file, "/etc/ca.pem");
  EXPECT_EQ(read("amqps://broker:5673/jobs").value().port, 5673);
}

TEST(RabbitMqAddress, WhatIsNoneIsRefusedWithoutItsPassword) {
  for (const char* address :
       {"amqp:", "amqp://", "amqp://host", "amqp://host/", "amqp:///q", "amqp://host:0/q",
        "amqp://host:x/q", "amqp://host/v/q/r", "amqp://me:secret@host/%zz",
        "amqp://me:secret@host/q?x=1", "amqp://host/q?ca=f", "amqps://host/q?ca="}) {
    const Result<Options> options = read(address);
    ASSERT_FALSE(options.has_value()) << address;
    EXPECT_EQ(options.error().code, ErrorCode::invalid) << address;
    EXPECT_EQ(options.error().message.find("secret"), std::string::npos) << address;
  }
}

}  // namespace
}  // namespace once::rabbitmq
