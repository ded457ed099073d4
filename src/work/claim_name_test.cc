#include <gtest/gtest.h>

#include "once/work.h"

namespace once {
namespace {

Message with_id(std::string id, std::string body = "") {
  Message message;
  message.id = std::move(id);
  message.body = std::move(body);
  return message;
}

std::string claim(const Message& message, const KeyRule& rule = {}) {
  return claim_of("jobs", message, rule).value_or("none");
}

constexpr const char* kEvent =
    R"({"specversion":"1.0","id":"7","source":"/shop","type":"sold","data":1})";

TEST(ClaimOfAMessage, H31_EqualBodiesAreNotEqualMessages) {
  EXPECT_NE(claim(with_id("1", "same")), claim(with_id("2", "same")));
  EXPECT_EQ(claim(with_id("1", "same")), claim(with_id("1", "other")));
}

TEST(ClaimOfAMessage, ABodyIsTheKeyOnRequest) {
  const KeyRule rule{.body = true};
  EXPECT_EQ(claim(with_id("1", "same"), rule), claim(with_id("2", "same"), rule));
  EXPECT_NE(claim(with_id("1", "same"), rule), claim(with_id("1", "other"), rule));
}

TEST(ClaimOfAMessage, APointerIntoTheBodyGoesBeforeTheId) {
  const KeyRule rule{.pointer = "/order/id"};
  EXPECT_EQ(claim(with_id("1", R"({"order":{"id":"o-7","n":1}})"), rule), "work/4:jobs/key/o-7");
  EXPECT_EQ(claim(with_id("2", R"({"order":{"id":7}})"), rule), "work/4:jobs/key/7");
  EXPECT_EQ(claim(with_id("2", R"({"order":{"id":7.0}})"), rule), "work/4:jobs/key/7");
  for (const char* body : {R"({"order":{}})", R"({"order":{"id":null}})", "no JSON", ""}) {
    EXPECT_EQ(claim(with_id("3", body), rule), "work/4:jobs/id/3") << body;
  }
}

TEST(ClaimOfAMessage, H31_IsScopedToItsQueue) {
  EXPECT_NE(claim_of("a", with_id("1"), {}).value(), claim_of("b", with_id("1"), {}).value());
  EXPECT_NE(claim_of("a", with_id("/id/1"), {}).value(),
            claim_of("a/id/", with_id("1"), {}).value());
}

TEST(ClaimOfAMessage, AnEventIsKnownBySourceAndIdInEveryMode) {
  Message binary = with_id("broker-2");
  binary.attributes = {{"ce-specversion", "1.0"}, {"ce-id", "7"}, {"ce-source", "/shop"}};
  Message amqp = with_id("broker-3");
  amqp.attributes = {
      {"cloudEvents:specversion", "1.0"}, {"cloudEvents:id", "7"}, {"cloudEvents:source", "/shop"}};
  EXPECT_EQ(claim(with_id("broker-1", kEvent)), claim(binary));
  EXPECT_EQ(claim(with_id("broker-1", kEvent)), claim(amqp));
  EXPECT_NE(claim(with_id("broker-1", kEvent)), claim(with_id("broker-1", "{}")));
}

TEST(ClaimOfAMessage, AnAttributeGoesBeforeTheId) {
  Message message = with_id("1");
  message.attributes = {{"order", "42"}};
  EXPECT_EQ(claim(message, {.attribute = "order"}), "work/4:jobs/key/42");
  EXPECT_EQ(claim(message, {.attribute = "invoice"}), "work/4:jobs/id/1");
}

TEST(ClaimOfAMessage, WhatSaysItIsAnEventAndIsNoneIsRefused) {
  Message message = with_id("1", R"({"specversion":"1.0","id":""})");
  EXPECT_EQ(claim(message), "work/4:jobs/id/1");
  message.content_type = "application/cloudevents+json; charset=utf-8";
  EXPECT_EQ(claim(message), "none");
}

TEST(ClaimOfAMessage, WithoutAnythingToKnowItByThereIsNone) {
  EXPECT_EQ(claim_of("jobs", Message{}, {}).error().code, ErrorCode::invalid);
}

TEST(ClaimOfAMessage, LongAndStrangeKeysFit) {
  const std::string one = claim(with_id(std::string(10'000, 'x')));
  EXPECT_LE(one.size(), 512U);
  EXPECT_NE(one, claim(with_id(std::string(10'001, 'x'))));
  EXPECT_NE(claim(with_id("\x01\xff")), "none");
}

}  // namespace
}  // namespace once
