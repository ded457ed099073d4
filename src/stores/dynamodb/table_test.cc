// Tables that are not there, not ours, or not as they should be.
#include <gtest/gtest.h>

#include "stores/dynamodb/transport.h"
#include "testing/code_of.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"

namespace once::testing {
namespace {

using dynamodb::Json;

class DynamoDbTables : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(DynamoDbLocal);
    options_ = {.table = ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                .region = "eu-west-1",
                .endpoint = shared_dynamodb().url(),
                .timeout = std::chrono::seconds(30)};
  }

  // As another tool would ask for it.
  void ask(const char* call, const Json& body) const {
    const auto transport = dynamodb::connect(options_).value();
    const aws::Request request = dynamodb::request_of(call, body);
    const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
    const auto answer = transport->send({&request, 1}, deadline);
    ASSERT_TRUE(answer.front().has_value());
    ASSERT_EQ(answer.front()->status, 200) << answer.front()->body;
  }
  std::string complaint() const {
    const auto store = open_dynamodb(options_);
    return store ? "" : std::string(name_of(store.error().code)) + ": " + store.error().message;
  }

  DynamoDbOptions options_;
};

TEST_F(DynamoDbTables, OneThatIsNotThereIsSaidSoAndHowToMakeIt) {
  EXPECT_EQ(complaint(),
            "unavailable: there is no table \"" + options_.table +
                "\" in DynamoDB here; make it with: once table create --store dynamodb://" +
                options_.table);
  EXPECT_EQ(code_of(check_dynamodb_table(options_)), ErrorCode::unavailable);
}

TEST_F(DynamoDbTables, CreatingIsDoneOnceAndMayBeRepeated) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(create_dynamodb_table(options_).has_value());
  const auto lines = check_dynamodb_table(options_);
  ASSERT_TRUE(lines.has_value()) << lines.error().message;
  EXPECT_EQ(*lines,
            "table " + options_.table + " is ACTIVE\nformat 1\nexpired items are removed\n");
  EXPECT_EQ(complaint(), "");
}

TEST_F(DynamoDbTables, OneWithOtherKeysIsRefused) {
  ask("CreateTable", {{"TableName", options_.table},
                      {"AttributeDefinitions", {{{"AttributeName", "id"}, {"AttributeType", "S"}}}},
                      {"KeySchema", {{{"AttributeName", "id"}, {"KeyType", "HASH"}}}},
                      {"BillingMode", "PAY_PER_REQUEST"}});
  EXPECT_TRUE(complaint().starts_with("invalid: table \"" + options_.table +
                                      "\" is not one for Once (its keys are to be pk, a string"))
      << complaint();
  EXPECT_EQ(code_of(create_dynamodb_table(options_)), ErrorCode::invalid);
}

TEST_F(DynamoDbTables, OneThatAnotherToolMadeIsTakenButItsMissingTimeToLiveIsNoticed) {
  ask("CreateTable", {{"TableName", options_.table},
                      {"AttributeDefinitions",
                       {{{"AttributeName", "pk"}, {"AttributeType", "S"}},
                        {{"AttributeName", "sk"}, {"AttributeType", "N"}}}},
                      {"KeySchema",
                       {{{"AttributeName", "pk"}, {"KeyType", "HASH"}},
                        {{"AttributeName", "sk"}, {"KeyType", "RANGE"}}}},
                      {"BillingMode", "PAY_PER_REQUEST"}});
  EXPECT_EQ(complaint(), "");
  const auto checked = check_dynamodb_table(options_);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().message,
            "expired items are not removed: time to live is to be on, by attribute \"ttl\"");
  ASSERT_TRUE(create_dynamodb_table(options_).has_value());
  EXPECT_TRUE(check_dynamodb_table(options_).has_value());
}

TEST_F(DynamoDbTables, OneWrittenByANewerVersionIsRefused) {
  ASSERT_TRUE(create_dynamodb_table(options_).has_value());
  ask("PutItem",
      {{"TableName", options_.table},
       {"Item", {{"pk", {{"S", "once/format"}}}, {"sk", {{"N", "-1"}}}, {"v", {{"N", "2"}}}}}});
  EXPECT_EQ(complaint(), "unsupported: the table was written by a newer version of Once");
}

TEST_F(DynamoDbTables, WhatAnotherProgramPutThereIsCorruptAndNeverSkipped) {
  ASSERT_TRUE(create_dynamodb_table(options_).has_value());
  ask("PutItem", {{"TableName", options_.table},
                  {"Item", {{"pk", {{"S", "k"}}}, {"sk", {{"N", "0"}}}, {"name", {{"S", "x"}}}}}});
  const auto store = open_dynamodb(options_).value();
  const Key key{{"k", ""}, 0};
  EXPECT_EQ(code_of(store->get(key)), ErrorCode::corrupt);
  EXPECT_EQ(code_of(store->scan({.partition = key.partition})), ErrorCode::corrupt);
  EXPECT_EQ(code_of(store->list({})), ErrorCode::corrupt);
  Write write = put(key, Bytes("v"), absent());
  write.version = {1};
  EXPECT_EQ(code_of(store->commit({&write, 1})), ErrorCode::corrupt);
}

TEST_F(DynamoDbTables, NobodyThereIsUnavailable) {
  options_.endpoint = "http://127.0.0.1:1";
  options_.timeout = std::chrono::seconds(1);
  EXPECT_TRUE(complaint().starts_with("unavailable: ")) << complaint();
}

}  // namespace
}  // namespace once::testing
