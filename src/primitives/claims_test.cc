#include "once/claims.h"
#include "once/local.h"

#include <set>

#include "primitives/claim_record.h"
#include "primitives/claims_fixture.h"
#include "testing/limited_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;

using ClaimsTest = ClaimsFixture;

TEST_F(ClaimsTest, ANewKeyIsClaimedInOneCall) {
  const Claimed claim = claimed("job", {.owner = "me"});
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(claim.attempt, 1);
  EXPECT_EQ(claim.lease_until, clock_.now() + 30s);
}

TEST_F(ClaimsTest, ADuplicateOfABusyKeyIsToldWhoHasItAndUntilWhenInOneCall) {
  claimed("job", {.owner = "me"});
  calls();
  const Busy busy = as<Busy>(claims_.take("job", {.owner = "you"}));
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(busy.owner, "me");
  EXPECT_EQ(busy.lease_until, clock_.now() + 30s);
}

TEST_F(ClaimsTest, CompletingTakesOneCallAndADuplicateGetsTheResultInOne) {
  const Claimed claim = claimed("job");
  calls();
  EXPECT_FALSE(as<Settled>(claims_.complete("job", claim.ticket, "42")).replayed);
  EXPECT_EQ(calls(), 1U);
  const Done done = as<Done>(claims_.take("job", {}));
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(done.result, "42");
  EXPECT_EQ(done.completed, clock_.now());
  EXPECT_FALSE(done.failed);
}

TEST_F(ClaimsTest, AnOutcomeIsKeptForItsTtlFromCompletionOn) {
  const Claimed claim = claimed("job", {.ttl = 10s});
  clock_.advance(20s);
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
  clock_.advance(9'999ms);
  as<Done>(claims_.take("job", {}));
  clock_.advance(1ms);
  EXPECT_FALSE(claims_.show("job")->has_value());
  EXPECT_EQ(claimed("job").attempt, 1);
}

TEST_F(ClaimsTest, ATtlOfZeroKeepsNothing) {
  const Claimed claim = claimed("lock", {.ttl = 0s});
  as<Settled>(claims_.complete("lock", claim.ticket, ""));
  EXPECT_GT(claimed("lock").fence, claim.fence);
}

TEST_F(ClaimsTest, ABusyClaimWhoseLeaseEndedIsTakenOverAndTheFenceRises) {
  const Claimed slow = claimed("job", {.owner = "slow", .lease = 10s});
  clock_.advance(10s);
  const Claimed next = claimed("job", {.owner = "next"});
  EXPECT_GT(next.fence, slow.fence);
  EXPECT_EQ(next.attempt, 2);
  as<Fenced>(claims_.complete("job", slow.ticket, "late"));
  as<Fenced>(claims_.renew("job", slow.ticket, 10s));
  as<Fenced>(claims_.release("job", slow.ticket, "", Release::retryable));
  as<Settled>(claims_.complete("job", next.ticket, "done"));
  EXPECT_EQ(as<Done>(claims_.take("job", {})).result, "done");
}

TEST_F(ClaimsTest, H14_ALeaseThatEndedButWasNotTakenOverIsStillTheHolders) {
  const Claimed claim = claimed("job", {.lease = 10s});
  clock_.advance(1h);
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
}

TEST_F(ClaimsTest, H14_TheFirstTicketStillCompletesAfterRenewals) {
  const Claimed claim = claimed("job");
  for (int i = 0; i < 3; ++i) {
    clock_.advance(20s);
    EXPECT_EQ(as<Renewed>(claims_.renew("job", claim.ticket, 30s)).lease_until, clock_.now() + 30s);
  }
  as<Busy>(claims_.take("job", {}));
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
}

TEST_F(ClaimsTest, H14_CompletingAgainIsTheSameAnswerAndWithAnotherResultAMismatch) {
  const Claimed claim = claimed("job");
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
  EXPECT_TRUE(as<Settled>(claims_.complete("job", claim.ticket, "42")).replayed);
  as<Mismatch>(claims_.complete("job", claim.ticket, "43"));
  EXPECT_EQ(as<Done>(claims_.take("job", {})).result, "42");
}

TEST_F(ClaimsTest, ReleasingFreesTheKeyForTheNextAttempt) {
  const Claimed claim = claimed("job");
  as<Settled>(claims_.release("job", claim.ticket, "no luck", Release::retryable));
  EXPECT_FALSE(claims_.show("job")->has_value());
  EXPECT_TRUE(
      as<Settled>(claims_.release("job", claim.ticket, "no luck", Release::retryable)).replayed);
  as<Fenced>(claims_.complete("job", claim.ticket, "42"));
  const Claimed next = claimed("job");
  EXPECT_EQ(next.attempt, 2);
  EXPECT_GT(next.fence, claim.fence);
}

TEST_F(ClaimsTest, AFinalFailureIsTheOutcome) {
  const Claimed claim = claimed("job");
  as<Settled>(claims_.release("job", claim.ticket, "broken", Release::final));
  const Done done = as<Done>(claims_.take("job", {}));
  EXPECT_TRUE(done.failed);
  EXPECT_EQ(done.result, "broken");
  EXPECT_EQ(claims_.show("job")->value().kind, ClaimState::Kind::failed);
}

TEST_F(ClaimsTest, H13_FencesRiseAcrossForgetReleaseAndExpiry) {
  std::int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const Claimed forgotten = claimed("job", {.ttl = 1s});
    EXPECT_GT(forgotten.fence, std::exchange(last, forgotten.fence));
    EXPECT_TRUE(claims_.forget("job").value());
    const Claimed released = claimed("job", {.ttl = 1s});
    EXPECT_GT(released.fence, std::exchange(last, released.fence));
    as<Settled>(claims_.release("job", released.ticket, "", Release::retryable));
    const Claimed expired = claimed("job", {.ttl = 1s});
    EXPECT_GT(expired.fence, std::exchange(last, expired.fence));
    as<Settled>(claims_.complete("job", expired.ticket, ""));
    clock_.advance(1s);
  }
}

TEST_F(ClaimsTest, H13_AfterTheMemoryOfAFenceIsGoneTimeItselfKeepsItRising) {
  const Claimed claim = claimed("job", {.ttl = 1s});
  as<Settled>(claims_.complete("job", claim.ticket, ""));
  clock_.advance(2h);
  ASSERT_TRUE(memory_->sweep(100).has_value());
  EXPECT_EQ(testing::items_in(*memory_), 0U);
  EXPECT_GT(claimed("job").fence, claim.fence);
}

TEST_F(ClaimsTest, AForgottenKeyMayBeClaimedAnewAndItsOldTicketIsFenced) {
  const Claimed claim = claimed("job");
  EXPECT_TRUE(claims_.forget("job").value());
  as<Fenced>(claims_.complete("job", claim.ticket, "42"));
  EXPECT_FALSE(claims_.forget("job").value());
  claimed("job");
}

TEST_F(ClaimsTest, H12_AnEqualRequestGetsTheSameTicketWhileBusy) {
  const Claimed first = claimed("job", {.owner = "me", .request = "r1"});
  const Claimed again = claimed("job", {.request = "r1"});
  EXPECT_EQ(again.ticket.text, first.ticket.text);
  as<Busy>(claims_.take("job", {.owner = "me", .request = "r2"}));
  as<Busy>(claims_.take("job", {.owner = "me"}));
  as<Settled>(claims_.complete("job", again.ticket, "42"));
}

TEST_F(ClaimsTest, H12_ALostClaimReplyIsFoundByReadingBack) {
  meet({Fault::fail_after});
  const Claimed claim = claimed("job");
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
}

TEST_F(ClaimsTest, H7_AClaimThatLandsLateIsClaimedOnce) {
  meet({Fault::land_late});
  const Claimed claim = claimed("job");
  faulty_->deliver_late();
  as<Busy>(claims_.take("job", {}));
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
}

TEST_F(ClaimsTest, H7_ALostCompletionReplyIsFoundByReadingBack) {
  const Claimed claim = claimed("job");
  meet({Fault::fail_after});
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
  EXPECT_EQ(as<Done>(claims_.take("job", {})).result, "42");
}

TEST_F(ClaimsTest, AnotherPayloadIsAMismatchBusyOrDone) {
  const Claimed claim = claimed("job", {.payload = "a"});
  as<Mismatch>(claims_.take("job", {.payload = "b"}));
  as<Busy>(claims_.take("job", {.payload = "a"}));
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
  as<Mismatch>(claims_.take("job", {.payload = "b"}));
  as<Done>(claims_.take("job", {.payload = "a"}));
  as<Done>(claims_.take("job", {}));
}

TEST_F(ClaimsTest, WaitingGetsTheKeyWhenTheLeaseEnds) {
  claimed("job", {.lease = 2s});
  const Time before = clock_.now();
  const Claimed next = as<Claimed>(claims_.take("job", {}, 5s));
  EXPECT_EQ(next.attempt, 2);
  EXPECT_GE(clock_.now() - before, 2s);
  EXPECT_LE(clock_.now() - before, 3s);
}

TEST_F(ClaimsTest, WaitingEndsAsBusyWhenItIsOver) {
  claimed("job", {.lease = 1h});
  const Time before = clock_.now();
  as<Busy>(claims_.take("job", {}, 5s));
  EXPECT_EQ(clock_.now() - before, 5s);
}

TEST_F(ClaimsTest, ShowsTheRecord) {
  const Time start = clock_.now();
  const Claimed claim = claimed("job", {.owner = "me", .ttl = 1h});
  clock_.advance(1s);
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
  const ClaimState state = claims_.show("job")->value();
  EXPECT_EQ(state.kind, ClaimState::Kind::done);
  EXPECT_EQ(state.owner, "me");
  EXPECT_EQ(state.fence, claim.fence);
  EXPECT_EQ(state.claimed, start);
  EXPECT_EQ(state.completed, start + 1s);
  EXPECT_EQ(state.kept_until, start + 1s + 1h);
  EXPECT_EQ(state.result, "42");
}

TEST_F(ClaimsTest, ListsTheBusyOnesOfItsNamespaceInPages) {
  LocalClaims others(*faulty_, "others", clock_, entropy_);
  ASSERT_TRUE(others.take("theirs", {}).has_value());
  for (int i = 0; i < 20; ++i) claimed("job/" + std::to_string(i));
  as<Settled>(claims_.complete("finished", claimed("finished").ticket, ""));
  as<Settled>(claims_.release("freed", claimed("freed").ticket, "", Release::retryable));
  std::set<std::string> names;
  std::string cursor;
  do {
    const claims::ClaimPage page = claims_.list(ClaimState::Kind::busy, cursor, 7).value();
    for (const claims::ListedClaim& listed : page.claims) names.insert(listed.name);
    cursor = page.cursor;
  } while (!cursor.empty());
  EXPECT_EQ(names.size(), 20U);
  EXPECT_TRUE(names.contains("job/19"));
  EXPECT_EQ(claims_.list()->claims.size(), 21U);
}

TEST_F(ClaimsTest, BadInputIsInvalidAndChangesNothing) {
  for (const std::string& name : {std::string(), std::string(513, 'x'), std::string("a\nb"),
                                  std::string("\xff\xfe"), std::string("a\0b", 3)}) {
    EXPECT_EQ(claims_.take(name, {}).error().code, ErrorCode::invalid);
  }
  EXPECT_EQ(claims_.take("job", {.lease = 0s}).error().code, ErrorCode::invalid);
  EXPECT_EQ(claims_.take("job", {.ttl = -1s}).error().code, ErrorCode::invalid);
  EXPECT_EQ(claims_.take("job", {.owner = std::string(513, 'x')}).error().code, ErrorCode::invalid);
  EXPECT_EQ(LocalClaims(*memory_, "a/b").take("job", {}).error().code, ErrorCode::invalid);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_F(ClaimsTest, ATicketOfAnotherKeyIsFenced) {
  const Claimed mine = claimed("mine");
  claimed("yours");
  as<Fenced>(claims_.complete("yours", mine.ticket, "42"));
  as<Fenced>(claims_.complete("nobodys", mine.ticket, "42"));
}

TEST_F(ClaimsTest, WhatDoesNotParseIsCorruptAndStaysUntilItIsForgotten) {
  Write nonsense = put(claims::claim_key("default", "job"), Bytes("nonsense"), absent());
  nonsense.version = entropy_.version();
  ASSERT_TRUE(memory_->commit({&nonsense, 1}).has_value());
  EXPECT_EQ(claims_.take("job", {}).error().code, ErrorCode::corrupt);
  EXPECT_EQ(claims_.show("job").error().code, ErrorCode::corrupt);
  EXPECT_EQ(memory_->get(nonsense.key)->value().value, nonsense.value);
  EXPECT_TRUE(claims_.forget("job").value());
  EXPECT_FALSE(claims_.show("job").value().has_value());
}

TEST_F(ClaimsTest, AStoreThatIsDownIsUnavailable) {
  meet({Fault::fail_before});
  EXPECT_EQ(claims_.take("job", {}).error().code, ErrorCode::unavailable);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_F(ClaimsTest, WhenTheStoreIsDownACallerMayProceedUnguarded) {
  claims_.set_if_store_down(IfStoreDown::proceed);
  meet({Fault::fail_before, Fault::fail_before});
  as<Unguarded>(claims_.take("job", {}));
  const std::vector<std::string> ids = {"a", "b", "a"};
  EXPECT_EQ(claims_.seen(ids, 1h).value(), std::vector<bool>(3, true));
  EXPECT_EQ(claims_.take("", {}).error().code, ErrorCode::invalid);
  claimed("job");
}

// --- Which clock decides when a lease is over. ---

class ClaimClocks : public ClaimsFixture {
 protected:
  ClaimClocks() { limits_.clock_error = 2s; }

  Limits limits_ = memory_->limits();
};

TEST_F(ClaimClocks, H15_AClientWhoseClockIsFiveMinutesFastTakesNothingOver) {
  claimed("job", {.lease = 10s});
  testing::ManualClock fast(clock_.now() + 5min);
  LocalClaims hasty(*faulty_, "default", fast, entropy_);
  as<Busy>(hasty.take("job", {}));
  clock_.advance(10s);
  EXPECT_EQ(as<Claimed>(hasty.take("job", {})).lease_until, clock_.now() + 30s);
}

TEST_F(ClaimClocks, H15_WhereClocksDisagreeALeaseIsTakenOverAfterItsEndByAsMuch) {
  testing::LimitedStore shared(*memory_, limits_);
  LocalClaims claims(shared, "default", clock_, entropy_);
  const Claimed claim = as<Claimed>(claims.take("job", {.lease = 10s}));
  clock_.advance(12s - 1ms);
  EXPECT_EQ(as<Busy>(claims.take("job", {})).lease_until, claim.lease_until);
  clock_.advance(1ms);
  EXPECT_EQ(as<Claimed>(claims.take("job", {})).attempt, 2);
}

TEST_F(ClaimClocks, H15_ALeaseEndsToTheMillisecond) {
  claimed("job", {.lease = 10s});
  clock_.advance(10s - 1ms);
  as<Busy>(claims_.take("job", {}));
  clock_.advance(1ms);
  EXPECT_EQ(claimed("job").attempt, 2);
}

}  // namespace
}  // namespace once
