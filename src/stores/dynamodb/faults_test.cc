// Faults on real sockets, between the store and DynamoDB Local.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "once/claims.h"
#include "stores/dynamodb/faults_fixture.h"
#include "testing/started_plan.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

TEST_F(DynamoDbFaults, ThrottlingAndConflictsAreTriedAgain) {
  script({throttled(), transaction_conflict(), Pass{}});
  EXPECT_TRUE(is_committed(commit({fresh(add(key("k"), 1))})));
  EXPECT_EQ(relay_.requests("UpdateItem"), 3U);
  script({throttled(), Pass{}});
  EXPECT_EQ(number_at(key("k")), 1);
}

TEST_F(DynamoDbFaults, ACancelledTransactionIsTriedAgainWhenOthersWereAtItsItems) {
  int cancelled = 0;
  relay_.decide([&](const RelayedRequest& request) -> Fault {
    if (request.operation == "TransactWriteItems" && ++cancelled <= 2) {
      return transaction_cancelled(request, 1);
    }
    return Pass{};
  });
  EXPECT_TRUE(is_committed(commit({fresh(add(key("a"), 1)), fresh(add(key("b"), 1))})));
  EXPECT_EQ(cancelled, 3);
  EXPECT_EQ(number_at(key("a")), 1);
}

TEST_F(DynamoDbFaults, UnprocessedKeysAreAskedForAgain) {
  std::vector<Key> keys;
  for (int i = 0; i < 5; ++i) {
    keys.push_back(key("k" + std::to_string(i)));
    ASSERT_TRUE(is_committed(commit({fresh(put(keys.back(), std::int64_t{i}, absent()))})));
  }
  int batches = 0;
  relay_.decide([&](const RelayedRequest& request) -> Fault {
    ++batches;
    return unprocessed_beyond(2, request);
  });
  const auto items = store_->get(keys);
  ASSERT_TRUE(items.has_value()) << items.error().message;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE((*items)[static_cast<std::size_t>(i)].has_value());
    EXPECT_EQ((*items)[static_cast<std::size_t>(i)]->value, Value(std::int64_t{i}));
  }
  EXPECT_EQ(batches, 3);
}

TEST_F(DynamoDbFaults, H9_ATransactionIsSentAgainAsItWasAndTakesEffectOnce) {
  std::vector<std::string> bodies;
  const std::vector<Fault> faults = {DropReply{}, transaction_in_progress(), internal_error(),
                                     Cut{}, Pass{}};
  relay_.decide([&](const RelayedRequest& request) -> Fault {
    if (request.operation != "TransactWriteItems") return Pass{};
    bodies.push_back(request.body);
    return faults.at(bodies.size() - 1);
  });
  EXPECT_TRUE(is_committed(commit({fresh(add(key("a"), 1)), fresh(add(key("b"), 2))})));
  ASSERT_EQ(bodies.size(), faults.size());
  for (const std::string& body : bodies) EXPECT_EQ(body, bodies.front());
  EXPECT_EQ(number_at(key("a")), 1);
  EXPECT_EQ(number_at(key("b")), 2);
}

TEST_F(DynamoDbFaults, H8_ALoneAddIsSentOnceAndFoundByItsVersionWhenItsReplyIsLost) {
  for (const Fault& fault :
       std::vector<Fault>{DropReply{}, Truncate{10}, AnswerInstead{internal_error()}}) {
    const std::int64_t before = number_at(key("k"));
    const std::size_t sent = relay_.requests("UpdateItem");
    script({fault});
    const auto answer = commit({fresh(add(key("k"), 1))});
    ASSERT_TRUE(is_committed(answer));
    EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), before + 1);
    EXPECT_EQ(relay_.requests("UpdateItem"), sent + 1);
    EXPECT_EQ(number_at(key("k")), before + 1);
  }
}

TEST_F(DynamoDbFaults, H33_ARefusalThatShowsOurVersionIsACommit) {
  script({Repeat{}});
  const auto added = commit({fresh(add(key("k"), 5))});
  ASSERT_TRUE(is_committed(added));
  script({Repeat{}});
  const auto again = commit({fresh(add(key("k"), 5))});
  ASSERT_TRUE(is_committed(again));
  EXPECT_EQ(std::get<Committed>(*again).numbers.at(0), 10);
  script({Repeat{}});
  EXPECT_TRUE(is_committed(commit({fresh(put(key("l"), Bytes("v"), absent()))})));
  script({Repeat{}});
  const auto both = commit({fresh(add(key("k"), 1)), fresh(add(key("m"), 1))});
  EXPECT_TRUE(is_committed(both)) << (both ? "lost" : both.error().message);
  EXPECT_EQ(number_at(key("k")), 11);
}

TEST_F(DynamoDbFaults, H33_AnEraseIsNotRefusedByItself) {
  const Write first = fresh(put(key("k"), Bytes("v"), absent()));
  ASSERT_TRUE(is_committed(commit({first})));
  script({Repeat{}});
  EXPECT_TRUE(is_committed(commit({erase(key("k"), unchanged(first.version))})));
  EXPECT_EQ(store_->get(key("k")).value(), std::nullopt);
  const auto again = commit({erase(key("k"), unchanged(first.version))});
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(committed(*again)) << "another's erase is no commit of ours";
}

// Between a write and its copy, another writes.
TEST_F(DynamoDbFaults, H33_AWriteThatWasReplacedBeforeItsCopyCameIsACommit) {
  const auto direct = open_dynamodb(options_).value();
  const auto other = [&](const Write& write) {
    return Repeat{[&direct, write] { EXPECT_TRUE(is_committed(direct->commit({&write, 1}))); }};
  };
  std::vector<Write> chain = {fresh(put(key("k"), Bytes("v"), absent()))};
  for (int i = 0; i < 5; ++i) {
    chain.push_back(fresh(put(key("k"), Bytes("v"), unchanged(chain.back().version))));
  }
  script({other(chain[1])});
  EXPECT_TRUE(is_committed(commit({chain[0]})));
  script({other(chain[3])});
  EXPECT_TRUE(is_committed(commit({chain[2]})));
  script({other(chain[4])});
  const auto lost = commit({fresh(put(key("k"), Bytes("lost"), unchanged(chain[2].version)))});
  ASSERT_TRUE(lost.has_value());
  EXPECT_FALSE(committed(*lost)) << "it never was there";
  EXPECT_EQ(store_->get(key("k")).value()->version, chain[4].version);
  // An add that was followed by another counts once.
  script({other(fresh(add(key("sum"), 5)))});
  EXPECT_TRUE(is_committed(commit({fresh(add(key("sum"), 5))})));
  EXPECT_EQ(number_at(key("sum")), 10);
}

TEST_F(DynamoDbFaults, H7_WhatMayStillBeOnItsWayIsUnknownByTheDeadlineAndNotSentTwice) {
  script({StallUnsent{}});
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(commit({fresh(add(key("k"), 1))})), ErrorCode::unknown);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kTimeout + 1s);
  EXPECT_EQ(relay_.requests("UpdateItem"), 1U);
  EXPECT_EQ(number_at(key("k")), 0);
}

TEST_F(DynamoDbFaults, H7_APutThatItsOwnLandingWouldRefuseIsSentAgain) {
  script({Stall{}});
  const Write ours = fresh(put(key("k"), Bytes("v"), absent_lasting()));
  EXPECT_TRUE(is_committed(commit({ours})));
  script({StallUnsent{}});
  EXPECT_TRUE(is_committed(commit({fresh(put(key("l"), Bytes("v"), absent_lasting()))})));
}

TEST_F(DynamoDbFaults, EveryCallEndsByItsDeadlineWithTheRightCode) {
  constexpr Duration kShort = 2s;
  reopen(kShort);
  const Write one = fresh(put(key("k"), Bytes("v"), absent_lasting()));
  const std::vector<Write> two = {fresh(add(key("a"), 1)), fresh(add(key("b"), 1))};
  struct Case {
    Fault fault;
    ErrorCode reading;
    ErrorCode writing;
  };
  for (const Case& expected :
       {Case{Stall{}, ErrorCode::unavailable, ErrorCode::unknown},
        Case{throttled(), ErrorCode::unavailable, ErrorCode::unavailable},
        Case{service_unavailable(), ErrorCode::unavailable, ErrorCode::unknown},
        Case{access_denied(), ErrorCode::denied, ErrorCode::denied}}) {
    relay_.decide([&](const RelayedRequest&) { return expected.fault; });
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::jthread> calls;
    calls.emplace_back([&] { EXPECT_EQ(code_of(store_->get(key("k"))), expected.reading); });
    calls.emplace_back(
        [&] { EXPECT_EQ(code_of(store_->scan({.partition = {"k", ""}})), expected.reading); });
    calls.emplace_back([&] { EXPECT_EQ(code_of(store_->list({})), expected.reading); });
    calls.emplace_back([&] { EXPECT_EQ(code_of(commit({one})), expected.writing); });
    calls.emplace_back([&] { EXPECT_EQ(code_of(commit(two)), expected.writing); });
    calls.clear();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, kShort + 1s);
    relay_.decide(nullptr);
  }
}

TEST_F(DynamoDbFaults, H26_WhatSharesAKeyWithAnOpenOneWaitsForIt) {
  script({throttled(), Pass{}});
  const Write first = fresh(put(key("k"), Bytes("first"), absent()));
  const Write second = fresh(put(key("k"), Bytes("second"), absent()));
  const std::vector<Transaction> group = {{&first, 1}, {&second, 1}};
  const auto answers = store_->commit_each(group);
  EXPECT_TRUE(is_committed(answers[0]));
  ASSERT_TRUE(answers[1].has_value());
  EXPECT_FALSE(committed(*answers[1]));
  EXPECT_EQ(store_->get(key("k")).value()->version, first.version);
}

TEST_F(DynamoDbFaults, H15_TimeIsTheServers) {
  relay_.decide([&](const RelayedRequest&) -> Fault {
    return Answer{
        "200 OK",
        R"({"Item":{"pk":{"S":"once/format"},"sk":{"N":"-1"},"v":{"N":"1"},"ver":{"N":"1"}}})",
        {"Date: Fri, 01 Jan 2038 00:00:00 GMT"}};
  });
  DynamoDbOptions options = options_;
  options.endpoint = relay_.url();
  const auto store = open_dynamodb(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Time then = Time(std::chrono::sys_days(2038y / 1 / 1));
  EXPECT_GT((*store)->now(), then - 2s);
  EXPECT_LT((*store)->now(), then + 30s);
  EXPECT_GE((*store)->limits().clock_error, 2s);
}

TEST_F(DynamoDbFaults, AStoreThatDoesNotTellItsTimeIsRefused) {
  relay_.decide([&](const RelayedRequest&) -> Fault { return Answer{"200 OK", "{}"}; });
  DynamoDbOptions options = options_;
  options.endpoint = relay_.url();
  EXPECT_EQ(code_of(open_dynamodb(options)), ErrorCode::unsupported);
}

TEST_F(DynamoDbFaults, OpeningIsTriedAgainWhereItIsPutOff) {
  script({throttled(), internal_error()});
  reopen(kTimeout);
  EXPECT_TRUE(is_committed(commit({fresh(put(key("k"), std::int64_t{1}, absent()))})));
}

// Eight clients at one sum and at their own keys, with every third request going wrong.
TEST_F(DynamoDbFaults, NothingAcknowledgedIsLostAndNothingIsAppliedTwice) {
  Entropy chance(7);
  relay_.decide([&](const RelayedRequest&) -> Fault {
    switch (chance.random() % 15) {
      case 0: return Cut{};
      case 1: return DropReply{};
      case 2: return Truncate{20};
      case 3: return throttled();
      case 4: return internal_error();
      default: return Pass{};
    }
  });
  std::atomic<std::int64_t> sure = 0;
  std::atomic<std::int64_t> unsure = 0;
  std::vector<std::jthread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 25; ++i) {
        const Key own = key("own" + std::to_string(client), i);
        const auto answer =
            commit({fresh(add(key("sum"), 1)), fresh(put(own, Bytes("v"), absent_lasting()))});
        const auto lone = commit({fresh(add(key("sum"), 1))});
        for (const auto* one : {&answer, &lone}) {
          if (is_committed(*one)) ++sure;
          if (code_of(*one) == ErrorCode::unknown) ++unsure;
        }
        if (is_committed(answer)) {
          EXPECT_TRUE(store_->get(own).value().has_value());
        }
      }
    });
  }
  clients.clear();
  relay_.decide(nullptr);
  EXPECT_GE(number_at(key("sum")), sure);
  EXPECT_LE(number_at(key("sum")), sure + unsure);
  EXPECT_GT(sure, 300);
}

Plan<bool> exists(Key key) {
  const std::optional<Item> item = co_await get(key);
  co_return item.has_value();
}

TEST_F(DynamoDbFaults, H37_AThrottledKeyHoldsUpNeitherAnotherKeyNorARenewal) {
  BatchingDriver driver(*store_);
  const auto take = [&](const std::string& name) {
    return driver.run(claims::take(claims::claim_key("", name), {.owner = "test"}));
  };
  const Claimed job = std::get<Claimed>(take("job").value());
  relay_.decide([](const RelayedRequest& request) -> Fault {
    if (request.body.find("slow") == std::string::npos) return Pass{};
    return throttled();
  });
  std::vector<StartedPlan<bool>> reads;
  for (int i = 0; i < 8; ++i) reads.emplace_back(driver, exists(key("slow")));
  EXPECT_TRUE(std::holds_alternative<Claimed>(take("other").value()));
  const auto renewed =
      driver.run(claims::renew(claims::claim_key("", "job"), job.ticket, std::chrono::seconds(30)));
  EXPECT_TRUE(std::holds_alternative<Renewed>(renewed.value()));
  for (const auto& read : reads) EXPECT_FALSE(read.answered());
  relay_.decide(nullptr);
  for (auto& read : reads) EXPECT_TRUE(read.wait().has_value());
}

}  // namespace
}  // namespace once::testing
