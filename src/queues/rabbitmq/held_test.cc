#include "queues/rabbitmq/held.h"

#include <gtest/gtest.h>

namespace once::rabbitmq {
namespace {

using namespace std::chrono_literals;

constexpr Held::Instant kStart{};

Message message(const std::string& id, const std::string& group = "") {
  Message message;
  message.id = id;
  message.group = group;
  message.deliveries = 1;
  return message;
}

std::string ids(const std::vector<Message>& messages) {
  std::string all;
  for (const Message& message : messages) all += message.id + std::to_string(message.deliveries);
  return all;
}

TEST(Held, WhatHasNoGroupComesAgainWhenItIsDue) {
  Held held;
  held.hold(1, message("a"), kStart + 2s);
  held.hold(2, message("b"), kStart + 1s);
  EXPECT_EQ(held.next(), kStart + 1s);
  EXPECT_TRUE(held.take_due(kStart).empty());
  EXPECT_EQ(ids(held.take_due(kStart + 1s)), "b2");
  held.hurry(kStart);
  EXPECT_EQ(ids(held.take_due(kStart)), "a2");
  EXPECT_EQ(held.next(), std::nullopt);
}

TEST(Held, AGroupComesAgainWholeAndInItsOrder) {
  Held held;
  held.hold(3, message("c", "g"), kStart + 5s);  // Those behind it may be given back before it is.
  held.hold(1, message("a", "g"), kStart + 2s);
  held.hold(2, message("b", "other"), kStart + 9s);
  EXPECT_TRUE(held.closed("g"));
  EXPECT_FALSE(held.closed("third"));
  held.wait_with_its_group(7, message("e", "g"));
  held.wait_with_its_group(4, message("d", "g"));
  EXPECT_EQ(held.size(), 5U);
  EXPECT_EQ(ids(held.take_due(kStart + 2s)), "a2c2d1e1");
  EXPECT_FALSE(held.closed("g"));
  EXPECT_TRUE(held.closed("other"));
  EXPECT_EQ(held.size(), 1U);
}

}  // namespace
}  // namespace once::rabbitmq
