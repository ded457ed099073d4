// Each fault is what it says, seen by a client and by a real engine.
#include "testing/relay/relay.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "aws/client.h"
#include "aws/message.h"
#include "testing/code_of.h"
#include "testing/relay/dynamodb_faults.h"
#include "testing/servers/dynamodb_local.h"
#include "testing/servers/needs.h"

namespace once::testing {
namespace {

aws::Deadline in(Duration length) { return std::chrono::steady_clock::now() + length; }
const Duration kAmple(20'000);

aws::Request call(const std::string& operation, std::string body) {
  return {.headers = {{"Content-Type", "application/x-amz-json-1.0"},
                      {"X-Amz-Target", "DynamoDB_20120810." + operation}},
          .body = std::move(body)};
}

aws::Request add_one() {
  return call("UpdateItem", R"({"TableName":"relayed","Key":{"k":{"S":"sum"}},)"
                            R"("UpdateExpression":"ADD n :one",)"
                            R"("ExpressionAttributeValues":{":one":{"N":"1"}}})");
}

std::unique_ptr<aws::Client> client_of(const std::string& url, std::size_t connections = 8) {
  return aws::Client::open({.endpoint = url,
                            .region = "eu-west-1",
                            .service = "dynamodb",
                            .credentials = aws::fixed_credentials({"AKIDEXAMPLE", "secret"}),
                            .connections = connections})
      .value();
}

// One fault for the next request of that operation.
Relay::Decide once_for(std::string operation, Fault fault) {
  return [operation = std::move(operation), fault = std::move(fault),
          done = false](const RelayedRequest& request) mutable -> Fault {
    if (done || request.operation != operation) return Pass{};
    done = true;
    return fault;
  };
}

class RelayBeforeDynamoDb : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (DynamoDbLocal::missing()) return;
    server_ = std::make_unique<DynamoDbLocal>();
    const auto made =
        client_of(server_->url())
            ->send(call("CreateTable", R"({"TableName":"relayed","BillingMode":"PAY_PER_REQUEST",)"
                                       R"("KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],)"
                                       R"("AttributeDefinitions":)"
                                       R"([{"AttributeName":"k","AttributeType":"S"}]})"),
                   in(kAmple));
    ASSERT_TRUE(made);
    ASSERT_EQ(made->status, 200) << made->body;
  }
  static void TearDownTestSuite() { server_.reset(); }

  void SetUp() override {
    ONCE_NEEDS_SERVER(DynamoDbLocal);
    relay_ = std::make_unique<Relay>(server_->port());
    client_ = client_of(relay_->url());
    before_ = sum();
  }

  // What the engine has, asked past the relay.
  static std::string sum() {
    const auto read = client_of(server_->url())
                          ->send(call("GetItem", R"({"TableName":"relayed","ConsistentRead":true,)"
                                                 R"("Key":{"k":{"S":"sum"}}})"),
                                 in(kAmple));
    return read ? read->body : read.error().message;
  }

  Result<aws::Response> add(Fault fault, Duration patience = kAmple) {
    relay_->decide(once_for("UpdateItem", std::move(fault)));
    return client_->send(add_one(), in(patience));
  }
  bool engine_did_it() const { return sum() != before_; }

  static inline std::unique_ptr<DynamoDbLocal> server_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<aws::Client> client_;
  std::string before_;
};

TEST_F(RelayBeforeDynamoDb, PassesWhatNobodySpeaksAgainst) {
  for (int i = 0; i < 3; ++i) {
    const auto answer = client_->send(add_one(), in(kAmple));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
  }
  EXPECT_EQ(relay_->requests(), 3U);
  EXPECT_EQ(relay_->requests("UpdateItem"), 3U);
  EXPECT_EQ(relay_->connections(), 1U);
}

TEST_F(RelayBeforeDynamoDb, WhatIsCutNeverReachesTheEngine) {
  EXPECT_EQ(code_of(add(Cut{})), ErrorCode::unknown);
  EXPECT_FALSE(engine_did_it());
}

TEST_F(RelayBeforeDynamoDb, ADroppedReplyLeavesTheEffect) {
  EXPECT_EQ(code_of(add(DropReply{})), ErrorCode::unknown);
  EXPECT_TRUE(engine_did_it());
  EXPECT_EQ(relay_->requests("UpdateItem"), 1U);
}

TEST_F(RelayBeforeDynamoDb, AStalledReplyLeavesTheEffectAndTheClientItsDeadline) {
  EXPECT_EQ(code_of(add(Stall{}, Duration(500))), ErrorCode::unknown);
  const auto limit = in(kAmple);
  while (!engine_did_it() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_TRUE(engine_did_it());
}

TEST_F(RelayBeforeDynamoDb, AStalledRequestHasNoEffect) {
  EXPECT_EQ(code_of(add(StallUnsent{}, Duration(500))), ErrorCode::unknown);
  EXPECT_FALSE(engine_did_it());
}

TEST_F(RelayBeforeDynamoDb, ADelayedRequestIsDoneLater) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(add(Delay{Duration(150)}).value().status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - start, Duration(150));
  EXPECT_TRUE(engine_did_it());
}

TEST_F(RelayBeforeDynamoDb, ATruncatedReplyLeavesTheEffect) {
  for (const std::size_t length : {0, 30, 150}) {
    EXPECT_EQ(code_of(add(Truncate{length})), ErrorCode::unknown) << length;
    EXPECT_TRUE(engine_did_it());
  }
}

TEST_F(RelayBeforeDynamoDb, AnAnswerInTheEnginesSteadHasNoEffect) {
  for (const auto& [answer, code] :
       std::vector<std::pair<Answer, ErrorCode>>{{throttled(), ErrorCode::unavailable},
                                                 {transaction_conflict(), ErrorCode::unavailable},
                                                 {transaction_in_progress(), ErrorCode::unknown},
                                                 {access_denied(), ErrorCode::denied},
                                                 {internal_error(), ErrorCode::unknown},
                                                 {service_unavailable(), ErrorCode::unknown}}) {
    const auto given = add(answer);
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_EQ(aws::error_of(*given).code, code) << given->body;
  }
  EXPECT_FALSE(engine_did_it());
}

TEST_F(RelayBeforeDynamoDb, AnAnswerInsteadOfTheEnginesLeavesTheEffect) {
  EXPECT_EQ(add(AnswerInstead{internal_error()}).value().status, 500);
  EXPECT_TRUE(engine_did_it());
}

TEST_F(RelayBeforeDynamoDb, KeysComeBackUnprocessed) {
  ASSERT_EQ(client_->send(add_one(), in(kAmple)).value().status, 200);
  const aws::Request batch =
      call("BatchGetItem", R"({"RequestItems":{"relayed":{"Keys":)"
                           R"([{"k":{"S":"sum"}},{"k":{"S":"one"}},{"k":{"S":"two"}}]}}})");
  relay_->decide([](const RelayedRequest& request) { return unprocessed_beyond(1, request); });
  const std::string some = client_->send(batch, in(kAmple)).value().body;
  EXPECT_NE(some.find(R"("Responses":{"relayed":[{)"), std::string::npos) << some;
  EXPECT_NE(
      some.find(R"("UnprocessedKeys":{"relayed":{"Keys":[{"k":{"S":"one"}},{"k":{"S":"two"}}]}})"),
      std::string::npos)
      << some;
  relay_->decide([](const RelayedRequest& request) { return unprocessed_beyond(0, request); });
  const std::string none = client_->send(batch, in(kAmple)).value().body;
  EXPECT_NE(none.find(R"("Responses":{})"), std::string::npos) << none;
  EXPECT_NE(none.find(R"({"k":{"S":"sum"}})"), std::string::npos) << none;
}

TEST_F(RelayBeforeDynamoDb, ATransactionIsCancelledWithAReasonForEachItem) {
  relay_->decide(
      [](const RelayedRequest& request) -> Fault { return transaction_cancelled(request, 1); });
  const auto answer = client_->send(
      call("TransactWriteItems",
           R"({"TransactItems":[{"Put":{"TableName":"relayed","Item":{"k":{"S":"a"}}}},)"
           R"({"Put":{"TableName":"relayed","Item":{"k":{"S":"b"}}}}]})"),
      in(kAmple));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
  EXPECT_NE(
      answer->body.find(R"("CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict")"),
      std::string::npos)
      << answer->body;
}

TEST_F(RelayBeforeDynamoDb, ConnectionsDoNotWaitForEachOtherAndEndWithTheRelay) {
  relay_->decide([](const RelayedRequest& request) -> Fault {
    if (request.number == 0) return Delay{std::chrono::hours(1)};
    return Pass{};
  });
  std::thread held(
      [this] { EXPECT_EQ(code_of(client_->send(add_one(), in(kAmple))), ErrorCode::unknown); });
  while (relay_->requests() == 0) std::this_thread::yield();
  EXPECT_EQ(client_->send(add_one(), in(kAmple)).value().status, 200);
  EXPECT_EQ(relay_->connections(), 2U);
  relay_.reset();
  held.join();
}

TEST(RelayAlone, AnswersWithoutAnyServer) {
  Relay relay(0, [](const RelayedRequest& request) -> Fault {
    if (request.path == "/here?x=1") return Answer{.status = "200 OK", .body = request.method};
    return Pass{};
  });
  const auto client = client_of(relay.url());
  EXPECT_EQ(
      client->send({.method = "GET", .path = "/here", .query = "x=1"}, in(kAmple)).value().body,
      "GET");
  EXPECT_EQ(code_of(client->send({.method = "GET", .path = "/there"}, in(kAmple))),
            ErrorCode::unknown);
}

}  // namespace
}  // namespace once::testing
