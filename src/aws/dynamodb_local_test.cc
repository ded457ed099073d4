// The client against a real engine.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "aws/client.h"
#include "testing/code_of.h"
#include "testing/servers/dynamodb_local.h"
#include "testing/servers/needs.h"

namespace once::aws {
namespace {

using testing::code_of;
using testing::DynamoDbLocal;

Deadline in(Duration length) { return std::chrono::steady_clock::now() + length; }

Request call(const std::string& operation, std::string body) {
  return {.headers = {{"Content-Type", "application/x-amz-json-1.0"},
                      {"X-Amz-Target", "DynamoDB_20120810." + operation}},
          .body = std::move(body)};
}

class AwsClientOnDynamoDbLocal : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!DynamoDbLocal::missing()) {
      server_ = std::make_unique<DynamoDbLocal>(DynamoDbLocal::Data::on_disk);
      const auto table = open()->send(
          call("CreateTable",
               R"({"TableName":"tallies","BillingMode":"PAY_PER_REQUEST",)"
               R"("KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],)"
               R"("AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}]})"),
          in(Duration(10'000)));
      ASSERT_TRUE(table);
      ASSERT_EQ(table->status, 200) << table->body;
    }
  }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override { ONCE_NEEDS_SERVER(DynamoDbLocal); }

  static std::unique_ptr<Client> open(std::size_t connections = 4) {
    return Client::open({.endpoint = server_->url(),
                         .region = "eu-west-1",
                         .service = "dynamodb",
                         .credentials = fixed_credentials({"AKIDEXAMPLE", "secret"}),
                         .connections = connections})
        .value();
  }

  static inline std::unique_ptr<DynamoDbLocal> server_;
};

TEST_F(AwsClientOnDynamoDbLocal, ManyThreadsShareAFewConnections) {
  const auto client = open(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&client] {
      const std::vector<Request> adds(
          10, call("UpdateItem", R"({"TableName":"tallies","Key":{"k":{"S":"x"}},)"
                                 R"("UpdateExpression":"ADD n :one",)"
                                 R"("ExpressionAttributeValues":{":one":{"N":"1"}}})"));
      for (const Result<Response>& answer : client->send(adds, in(Duration(10'000)))) {
        EXPECT_TRUE(answer && answer->status == 200);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto read = client->send(
      call("GetItem", R"({"TableName":"tallies","Key":{"k":{"S":"x"}},"ConsistentRead":true})"),
      in(Duration(10'000)));
  ASSERT_TRUE(read);
  EXPECT_NE(read->body.find(R"("n":{"N":"40"})"), std::string::npos) << read->body;
  EXPECT_LT(std::chrono::abs(client->server_offset().middle()), Duration(1'500));
}

TEST_F(AwsClientOnDynamoDbLocal, AServerThatIsDownIsUnavailableAndIsFoundAgainWhenItIsBack) {
  const auto client = open();
  const Request list = call("ListTables", "{}");
  ASSERT_TRUE(client->send(list, in(Duration(10'000))));
  server_->kill();
  EXPECT_EQ(code_of(client->send(list, in(Duration(10'000)))), ErrorCode::unavailable);
  server_->start();
  const auto back = client->send(list, in(Duration(10'000)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_NE(back->body.find("tallies"), std::string::npos) << back->body;
}

}  // namespace
}  // namespace once::aws
