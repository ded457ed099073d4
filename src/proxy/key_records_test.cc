// The records of keys in time that tests move: on a store, and through a server that has it.
#include "proxy/key_records.h"

#include <gtest/gtest.h>

#include <memory>

#include "local/local.h"
#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "remote/remote.h"
#include "stores/decorators/decorator.h"
#include "testing/in_process_server.h"
#include "testing/manual_clock.h"

namespace once::proxy {
namespace {

using namespace std::chrono_literals;

enum class Where : std::uint8_t { here, through_a_server };

class KeyRecordsTest : public ::testing::TestWithParam<Where> {
 protected:
  KeyRecordsTest() {
    if (GetParam() == Where::here) {
      backend_ = std::make_unique<Local>(std::make_unique<Decorator<Store>>(*faulty_), "default",
                                         clock_, entropy_);
      return;
    }
    server_ = std::make_unique<testing::InProcessServer>(*faulty_);
    backend_ =
        remote::connect(server_->url(), "", "", clock_, entropy_, {}, wire::DataForm::json).value();
  }

  KeyRecords ledger(KeyRecordsOptions options = {}) {
    if (options.instance.empty()) options.instance = "one";
    options.patience = 35s;
    return KeyRecords(backend_->claims(), std::move(options), clock_, entropy_);
  }

  static Ticket claimed(KeyRecords& ledger, const std::string& digest = "d") {
    const Result<Taking> taken = ledger.take("n", digest);
    const auto* ticket = taken ? std::get_if<Ticket>(&*taken) : nullptr;
    EXPECT_NE(ticket, nullptr);
    return ticket != nullptr ? *ticket : Ticket{};
  }

  template <class T>
  static bool stands(KeyRecords& ledger, const std::string& digest = "d") {
    const Result<KeyState> standing = ledger.look("n", digest);
    return standing && std::holds_alternative<T>(*standing);
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*memory_, {}, clock_);
  LocalClaims claims_{*memory_, "default", clock_, entropy_};  // What is stored.
  std::unique_ptr<testing::InProcessServer> server_;
  std::unique_ptr<Backend> backend_;
};

INSTANTIATE_TEST_SUITE_P(All, KeyRecordsTest,
                         ::testing::Values(Where::here, Where::through_a_server),
                         [](const auto& where) {
                           return where.param == Where::here ? "Here" : "ThroughAServer";
                         });

TEST_P(KeyRecordsTest, WhatIsInFlightIsUnknownOnceItsPatienceIsOverAndForGood) {
  KeyRecords one = ledger();
  EXPECT_TRUE(stands<Fresh>(one));
  claimed(one);
  KeyRecords two = ledger({.instance = "two"});
  EXPECT_TRUE(stands<InFlight>(two));
  clock_.advance(34s);
  EXPECT_TRUE(stands<InFlight>(two));
  clock_.advance(2s);
  EXPECT_TRUE(stands<OutcomeUnknown>(two));
  clock_.advance(std::chrono::days(14));
  EXPECT_TRUE(stands<OutcomeUnknown>(two));
  clock_.advance(std::chrono::days(400));
  EXPECT_TRUE(stands<OutcomeUnknown>(two));
  EXPECT_TRUE(stands<OtherBody>(two, "e"));
  EXPECT_TRUE(claims_.forget("n").value());
  EXPECT_TRUE(stands<Fresh>(two));
}

TEST_P(KeyRecordsTest, AnAnswerThatComesLateIsStoredAllTheSame) {
  KeyRecords one = ledger();
  const Ticket ticket = claimed(one);
  clock_.advance(1h);
  EXPECT_TRUE(stands<OutcomeUnknown>(one));
  EXPECT_TRUE(one.complete("n", ticket, {201, {}, "late"}).has_value());
  EXPECT_TRUE(stands<StoredAnswer>(one));
}

TEST_P(KeyRecordsTest, WhatIsLostIsUnknownAtOnceAndCannotBeTaken) {
  KeyRecords one = ledger();
  const Ticket ticket = claimed(one);
  EXPECT_TRUE(one.mark_unknown("n", ticket).has_value());
  EXPECT_TRUE(stands<OutcomeUnknown>(one));
  const Result<Taking> taken = one.take("n", "d");
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(std::holds_alternative<Overtaken>(*taken));
}

TEST_P(KeyRecordsTest, AloneOnItsStoreItKnowsThatTheClaimsOfOthersHaveNoHolder) {
  KeyRecords one = ledger();
  claimed(one);
  KeyRecords two = ledger({.instance = "two", .shared_store = SharedStore::no});
  EXPECT_TRUE(stands<OutcomeUnknown>(two));
  KeyRecords same = ledger({.shared_store = SharedStore::no});
  EXPECT_TRUE(stands<InFlight>(same));
}

TEST_P(KeyRecordsTest, WhereAnUnknownOutcomeFreesTheKeyOneOnlyTakesItOver) {
  const KeyRecordsOptions retrying{.after_unknown = AfterUnknown::retry};
  KeyRecords one = ledger(retrying);
  KeyRecords two = ledger(retrying);
  KeyRecords strict = ledger();
  claimed(one);
  EXPECT_TRUE(stands<InFlight>(two));
  EXPECT_TRUE(stands<InFlight>(strict));
  clock_.advance(36s);
  EXPECT_TRUE(stands<OutcomeUnknown>(strict));
  EXPECT_TRUE(stands<Fresh>(one));
  EXPECT_TRUE(stands<Fresh>(two));
  claimed(two);
  const Result<Taking> taken = one.take("n", "d");
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(std::holds_alternative<Overtaken>(*taken));
}

TEST_P(KeyRecordsTest, AStoredAnswerIsForgottenAfterItsTtl) {
  KeyRecords one = ledger({.ttl = 1h});
  EXPECT_TRUE(one.complete("n", claimed(one), {200, {}, "x"}).has_value());
  EXPECT_TRUE(stands<StoredAnswer>(one));
  EXPECT_TRUE(stands<OtherBody>(one, "e"));
  clock_.advance(1h);
  EXPECT_TRUE(stands<Fresh>(one));
}

TEST_P(KeyRecordsTest, AnAnswerThatTheStoreDoesNotTakeIsRememberedWithoutItsBody) {
  KeyRecords one = ledger();
  const std::string huge(memory_->limits().value_bytes, 'x');
  EXPECT_TRUE(one.complete("n", claimed(one), {200, {}, huge}).has_value());
  const Result<KeyState> standing = one.look("n", "d");
  ASSERT_TRUE(standing.has_value());
  const auto* answer = std::get_if<StoredAnswer>(&*standing);
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->without_body);
  EXPECT_EQ(answer->body_bytes, huge.size());
}

TEST_P(KeyRecordsTest, WritesAreRepeatedThriceAndThenUnavailable) {
  KeyRecords one = ledger();
  const std::vector<Fault> down(4, Fault::fail_before);
  faulty_->script(down);
  const Result<Taking> taken = one.take("n", "d");
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  EXPECT_EQ(faulty_->counts().calls, 3);
  EXPECT_FALSE(one.look("n", "d").has_value());
}

TEST_P(KeyRecordsTest, AClaimWhoseReplyWasLostIsTakenByTheRepeat) {
  KeyRecords one = ledger();
  const std::vector<Fault> lost = {Fault::fail_after};
  faulty_->script(lost);
  claimed(one);
  EXPECT_TRUE(stands<InFlight>(one));
}

TEST_P(KeyRecordsTest, AResultThatIsNoStoredAnswerIsCorrupt) {
  for (const char* const result : {"\"mine\"", "mine", "", "{}"}) {
    KeyRecords one = ledger();
    EXPECT_TRUE(claims_.complete("n", claimed(one), result).has_value());
    const Result<KeyState> standing = one.look("n", "d");
    ASSERT_FALSE(standing.has_value()) << result;
    EXPECT_EQ(standing.error().code, ErrorCode::corrupt) << result;
    EXPECT_TRUE(claims_.forget("n").value());
  }
}

// Answers that were stored by a release before this one are replayed, and the other way round.
TEST_P(KeyRecordsTest, WhatIsStoredIsAStringOfJson) {
  KeyRecords one = ledger();
  EXPECT_TRUE(one.complete("n", claimed(one), {200, {}, "x"}).has_value());
  const std::optional<ClaimState> claim = claims_.show("n").value();
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(claim->owner, "once proxy one, body d");
  EXPECT_EQ(claim->result, R"("YQEAyAEAAXizFtwa")");
}

}  // namespace
}  // namespace once::proxy
