// The ledger in time that tests move, on the API over a memory store.
#include "proxy/key_records.h"

#include <memory>

#include "api/service_fixture.h"

namespace once::proxy {
namespace {

using namespace std::chrono_literals;

class KeyRecordsTest : public api::ServiceFixture {
 protected:
  KeyRecords ledger(KeyRecordsOptions options = {}) {
    if (options.instance.empty()) options.instance = "one";
    options.patience = 35s;
    return KeyRecords(
        [this](const api::Request& request) -> Result<api::Response> {
          ++calls_;
          return down_ ? failure(ErrorCode::unavailable, "down")
                       : Result<api::Response>(call(request.method, request.target, request.body,
                                                    request.headers.fields()));
        },
        std::move(options), clock_);
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

  bool down_ = false;
  int calls_ = 0;
};

TEST_F(KeyRecordsTest, WhatIsInFlightIsUnknownOnceItsPatienceIsOverAndForGood) {
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
  EXPECT_EQ(call("DELETE", "/v1/claims/n").status, 204);
  EXPECT_TRUE(stands<Fresh>(two));
}

TEST_F(KeyRecordsTest, AnAnswerThatComesLateIsStoredAllTheSame) {
  KeyRecords one = ledger();
  const Ticket ticket = claimed(one);
  clock_.advance(1h);
  EXPECT_TRUE(stands<OutcomeUnknown>(one));
  EXPECT_TRUE(one.complete("n", ticket, {201, {}, "late"}).has_value());
  EXPECT_TRUE(stands<StoredAnswer>(one));
}

TEST_F(KeyRecordsTest, WhatIsLostIsUnknownAtOnceAndCannotBeTaken) {
  KeyRecords one = ledger();
  const Ticket ticket = claimed(one);
  EXPECT_TRUE(one.mark_unknown("n", ticket).has_value());
  EXPECT_TRUE(stands<OutcomeUnknown>(one));
  const Result<Taking> taken = one.take("n", "d");
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(std::holds_alternative<Overtaken>(*taken));
}

TEST_F(KeyRecordsTest, AloneOnItsStoreItKnowsThatTheClaimsOfOthersHaveNoHolder) {
  KeyRecords one = ledger();
  claimed(one);
  KeyRecords two = ledger({.instance = "two", .shared_store = SharedStore::no});
  EXPECT_TRUE(stands<OutcomeUnknown>(two));
  KeyRecords same = ledger({.shared_store = SharedStore::no});
  EXPECT_TRUE(stands<InFlight>(same));
}

TEST_F(KeyRecordsTest, WhereAnUnknownOutcomeFreesTheKeyOneOnlyTakesItOver) {
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

TEST_F(KeyRecordsTest, AStoredAnswerIsForgottenAfterItsTtl) {
  KeyRecords one = ledger({.ttl = 1h});
  EXPECT_TRUE(one.complete("n", claimed(one), {200, {}, "x"}).has_value());
  EXPECT_TRUE(stands<StoredAnswer>(one));
  EXPECT_TRUE(stands<OtherBody>(one, "e"));
  clock_.advance(1h);
  EXPECT_TRUE(stands<Fresh>(one));
}

TEST_F(KeyRecordsTest, AnAnswerThatTheStoreDoesNotTakeIsRememberedWithoutItsBody) {
  KeyRecords one = ledger();
  const std::string huge(store_->limits().value_bytes, 'x');
  EXPECT_TRUE(one.complete("n", claimed(one), {200, {}, huge}).has_value());
  const Result<KeyState> standing = one.look("n", "d");
  ASSERT_TRUE(standing.has_value());
  const auto* answer = std::get_if<StoredAnswer>(&*standing);
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->without_body);
  EXPECT_EQ(answer->body_bytes, huge.size());
}

TEST_F(KeyRecordsTest, WritesAreRepeatedThriceAndThenUnavailable) {
  KeyRecords one = ledger();
  down_ = true;
  const Result<Taking> taken = one.take("n", "d");
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  EXPECT_EQ(calls_, 3);
  EXPECT_FALSE(one.look("n", "d").has_value());
}

TEST_F(KeyRecordsTest, AResultThatIsNoStoredAnswerIsCorrupt) {
  KeyRecords one = ledger();
  const Ticket ticket = claimed(one);
  const std::string body =
      api::JsonObject().text("ticket", ticket.text).text("result", "mine").finish();
  EXPECT_EQ(post("/v1/claims/n/complete", body).status, 200);
  const Result<KeyState> standing = one.look("n", "d");
  ASSERT_FALSE(standing.has_value());
  EXPECT_EQ(standing.error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace once::proxy
