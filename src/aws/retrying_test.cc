#include "aws/retrying.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "testing/code_of.h"
#include "testing/manual_clock.h"
#include "testing/relay/dynamodb_faults.h"
#include "testing/relay/relay.h"

namespace once::aws {
namespace {

using testing::Answer;
using testing::code_of;
using testing::Cut;
using testing::Fault;
using testing::Relay;
using testing::RelayedRequest;

Deadline in(Duration length) { return std::chrono::steady_clock::now() + length; }
const Answer kDone{.status = "200 OK", .body = "{}"};

// The n-th request of a body gets the n-th fault, and kDone after the last.
Relay::Decide script(std::map<std::string, std::vector<Fault>> faults) {
  return [faults = std::move(faults), seen = std::map<std::string, std::size_t>()](
             const RelayedRequest& request) mutable -> Fault {
    const std::vector<Fault>& of = faults[request.body];
    const std::size_t n = seen[request.body]++;
    return n < of.size() ? of[n] : kDone;
  };
}

class AwsRetrying : public ::testing::Test {
 protected:
  Result<Response> send(std::vector<Fault> faults, bool repeatable) {
    relay_.decide(script({{"x", std::move(faults)}}));
    return retrying_.send({.body = "x", .repeatable = repeatable}, in(Duration(20'000)));
  }

  Relay relay_{0};
  const std::unique_ptr<Client> client_ =
      Client::open({.endpoint = relay_.url(),
                    .region = "eu-west-1",
                    .service = "dynamodb",
                    .credentials = fixed_credentials({"AKIDEXAMPLE", "secret"})})
          .value();
  testing::ManualClock clock_;
  Entropy entropy_{7};
  Retrying retrying_{*client_, clock_, entropy_};
};

TEST_F(AwsRetrying, WhatWasNotDoneIsSentAgain) {
  const auto answer =
      send({testing::throttled(), testing::transaction_conflict(), testing::throttled()}, false);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(relay_.requests(), 4U);
}

TEST_F(AwsRetrying, AccessDeniedIsNotSentAgain) {
  const auto answer = send({testing::access_denied()}, true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(relay_.requests(), 1U);
}

TEST_F(AwsRetrying, WhatMayHaveBeenDoneIsSentAgainOnlyIfRepeatable) {
  for (const Fault& fault :
       std::vector<Fault>{Cut{}, testing::internal_error(), testing::service_unavailable()}) {
    const std::size_t before = relay_.requests();
    const auto lone = send({fault}, false);
    EXPECT_EQ(relay_.requests(), before + 1);
    EXPECT_TRUE(!lone || lone->status >= 500);
    const auto repeated = send({fault}, true);
    ASSERT_TRUE(repeated);
    EXPECT_EQ(repeated->status, 200);
    EXPECT_EQ(relay_.requests(), before + 3);
  }
}

TEST_F(AwsRetrying, ALaterRefusalDoesNotHideThatAnEarlierAttemptMayHaveLanded) {
  EXPECT_EQ(code_of(send({Cut{}, testing::access_denied()}, true)), ErrorCode::unknown);
  const std::vector<Fault> vain(10'000, testing::throttled());
  std::vector<Fault> faults = {Cut{}};
  faults.insert(faults.end(), vain.begin(), vain.end());
  EXPECT_EQ(code_of(send(faults, true)), ErrorCode::unknown);
}

TEST_F(AwsRetrying, TheDeadlineEndsItAndTheLastAnswerStands) {
  const Time start = clock_.now();
  const auto answer = send(std::vector<Fault>(10'000, testing::throttled()), true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
  EXPECT_LE(clock_.now() - start, Duration(20'000));
  EXPECT_GT(clock_.now() - start, Duration(15'000));
  EXPECT_LT(relay_.requests(), 60U);
}

TEST_F(AwsRetrying, OfManyOnlyThoseThatNeedItAreSentAgain) {
  relay_.decide(script({{"b", {testing::throttled()}}, {"c", {testing::access_denied()}}}));
  const std::vector<Request> requests = {{.body = "a"}, {.body = "b"}, {.body = "c"}};
  const auto answers = retrying_.send(requests, in(Duration(20'000)));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].value().status, 200);
  EXPECT_EQ(answers[1].value().status, 200);
  EXPECT_EQ(answers[2].value().status, 400);
  EXPECT_EQ(relay_.requests(), 4U);
}

}  // namespace
}  // namespace once::aws
