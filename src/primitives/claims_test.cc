#include "once/claims.h"
#include "once/local.h"

#include <set>
#include <tuple>

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
  EXPECT_TRUE(
      as<Settled>(claims_.release("job", claim.ticket, "no luck", Release::retryable)).replayed);
  as<Fenced>(claims_.complete("job", claim.ticket, "42"));
  const Claimed next = claimed("job");
  EXPECT_EQ(next.attempt, 2);
  EXPECT_GT(next.fence, claim.fence);
}

TEST_F(ClaimsTest, AFailureIsKeptWithTheFreeKeyAndToldToTheNextAttempts) {
  const Time start = clock_.now();
  const Claimed first = claimed("job", {.owner = "me", .lease = 1s, .ttl = 1h});
  as<Settled>(claims_.release("job", first.ticket, "no luck", Release::retryable));
  const ClaimState free = claims_.show("job")->value();
  EXPECT_EQ(free.kind, ClaimState::Kind::free);
  EXPECT_EQ(free.result, "no luck");
  EXPECT_EQ(free.completed, start);
  EXPECT_EQ(free.attempt, 1);
  EXPECT_EQ(claims_.list({.kind = ClaimState::Kind::free})->claims.size(), 1U);
  const EarlierFailure wanted{"no luck", start, 1};
  const Claimed second = claimed("job", {.request = "r", .lease = 1s, .ttl = 1h});
  EXPECT_EQ(second.previous, wanted);
  EXPECT_EQ(claimed("job", {.request = "r"}).previous, wanted) << "an equal request";
  as<Renewed>(claims_.renew("job", second.ticket, 2s));
  clock_.advance(5s);
  const Claimed third = claimed("job", {.ttl = 1h});
  EXPECT_EQ(third.attempt, 3);
  EXPECT_EQ(third.previous, wanted) << "the second left no failure of its own";
  as<Settled>(claims_.release("job", third.ticket, "", Release::retryable));
  EXPECT_FALSE(claims_.show("job")->has_value());
  EXPECT_FALSE(claimed("job").previous.has_value());
}

TEST_F(ClaimsTest, AFailureIsKeptForTheTtlOfTheClaim) {
  const Claimed claim = claimed("job", {.ttl = 3h});
  as<Settled>(claims_.release("job", claim.ticket, "no luck", Release::retryable));
  clock_.advance(3h - 1ms);
  EXPECT_TRUE(claims_.show("job")->has_value());
  clock_.advance(1ms);
  EXPECT_FALSE(claims_.show("job")->has_value());
  EXPECT_FALSE(claimed("job").previous.has_value());
}

TEST_F(ClaimsTest, AFailureThatHasNoRoomFreesTheKeyAllTheSame) {
  const Claimed claim = claimed("job");
  const std::string large(memory_->limits().value_bytes, 'x');
  as<Settled>(claims_.release("job", claim.ticket, large, Release::retryable));
  EXPECT_FALSE(claims_.show("job")->has_value());
  EXPECT_EQ(claimed("job").attempt, 2);
}

TEST_F(ClaimsTest, AClaimWhoseLeaseIsOverIsAbandonedUntilItEnds) {
  const Duration error = memory_->limits().clock_error;
  const Claimed claim = claimed("job", {.lease = 1min, .keep_abandoned = 2h});
  EXPECT_EQ(claims_.show("job")->value().kind, ClaimState::Kind::busy);
  clock_.advance(1min + error);
  EXPECT_EQ(claims_.show("job")->value().kind, ClaimState::Kind::abandoned);
  EXPECT_TRUE(claims_.list({.kind = ClaimState::Kind::busy})->claims.empty());
  EXPECT_TRUE(
      claims_.list({.kind = ClaimState::Kind::abandoned, .older_than = 1h})->claims.empty());
  clock_.advance(1h);
  const auto old = claims_.list({.kind = ClaimState::Kind::abandoned, .older_than = 1h});
  ASSERT_EQ(old->claims.size(), 1U);
  EXPECT_EQ(old->claims[0].name, "job");
  clock_.advance(1h);
  EXPECT_FALSE(claims_.show("job")->has_value()) << "it has ended";
  EXPECT_GT(claimed("job").fence, claim.fence);
}

TEST_F(ClaimsTest, ARenewedClaimIsKeptFromTheEndOfItsNewLease) {
  const Claimed claim = claimed("job", {.lease = 1min});
  clock_.advance(50s);
  as<Renewed>(claims_.renew("job", claim.ticket, 1h));
  clock_.advance(1h + std::chrono::days(7) - 1min);
  EXPECT_EQ(claims_.show("job")->value().kind, ClaimState::Kind::abandoned);
  as<Settled>(claims_.complete("job", claim.ticket, "42"));
}

TEST_F(ClaimsTest, WhatWasAbandonedLeavesNothingBehind) {
  claimed("job", {.lease = 1min});
  clock_.advance(std::chrono::days(7) + 2h);
  while (!memory_->sweep(1'000).value().finished) {
  }
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_F(ClaimsTest, ADayOfTrafficLeavesNothingOnceAllOfItHasEnded) {
  const auto hours = static_cast<int>(testing::as_many_as(24, 3));
  for (int hour = 0; hour < hours; ++hour) {
    for (int i = 0; i < 5; ++i) {
      const std::string name = std::to_string(hour) + "/" + std::to_string(i);
      const Claimed claim = claimed(name, {.lease = 1min, .ttl = 1h});
      if (i == 0) as<Settled>(claims_.complete(name, claim.ticket, "42"));
      if (i == 1) as<Settled>(claims_.release(name, claim.ticket, "no", Release::retryable));
      if (i == 2) as<Settled>(claims_.release(name, claim.ticket, "no", Release::final));
      if (i == 3) std::ignore = claims_.forget(name);
      const std::vector<std::string> ids = {name, name + "'"};
      ASSERT_TRUE(claims_.seen(ids, 1h, i % 2 == 0 ? "r" : "").has_value());
    }
    clock_.advance(1h);
  }
  EXPECT_GT(testing::items_in(*memory_), 0U);
  clock_.advance(std::chrono::days(7) + 2h);
  while (!memory_->sweep(1'000).value().finished) {
  }
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_F(ClaimsTest, ListsByPrefixOwnerStateAndAge) {
  claimed("a/1", {.owner = "me", .lease = 1h});
  claimed("a/2", {.owner = "you", .lease = 1h});
  as<Settled>(claims_.complete("b/1", claimed("b/1", {.owner = "me"}).ticket, "1"));
  clock_.advance(1min);
  const auto count = [&](const claims::ClaimFilter& filter) {
    return claims_.list(filter)->claims.size();
  };
  EXPECT_EQ(count({.prefix = "a/"}), 2U);
  EXPECT_EQ(count({.owner = "me"}), 2U);
  EXPECT_EQ(count({.prefix = "a/", .owner = "me"}), 1U);
  EXPECT_EQ(count({.older_than = 1min}), 1U);
  EXPECT_EQ(count({.kind = ClaimState::Kind::done, .older_than = 2min}), 0U);
  EXPECT_EQ(claims_.list({.prefix = "\n"}).error().code, ErrorCode::invalid);
}

TEST_F(ClaimsTest, ForgetsInBulkWhatIsMeantAndNothingElse) {
  for (int i = 0; i < 7; ++i) {
    const std::string name = "a/" + std::to_string(i);
    as<Settled>(claims_.complete(name, claimed(name).ticket, ""));
  }
  claimed("a/busy", {.lease = 1h});
  as<Settled>(claims_.complete("b", claimed("b").ticket, ""));
  claims::BulkRequest request{.filter = {.prefix = "a/", .kind = ClaimState::Kind::done},
                              .limit = 3};
  const auto all = [&](bool dry_run) {
    std::size_t count = 0;
    request.dry_run = dry_run;
    do {
      const claims::BulkOutcome step = claims_.forget_all(request).value();
      EXPECT_LE(step.count, 3U);
      count += step.count;
      request.cursor = step.cursor;
    } while (!request.cursor.empty());
    return count;
  };
  EXPECT_EQ(all(true), 7U);
  EXPECT_EQ(claims_.list()->claims.size(), 9U);
  EXPECT_EQ(all(false), 7U);
  EXPECT_EQ(claims_.list()->claims.size(), 2U);
  EXPECT_EQ(claims_.forget_all({}).error().code, ErrorCode::invalid);
}

TEST_F(ClaimsTest, RetriesFailedClaimsInBulkAndKeepsTheirFailure) {
  const Claimed failed = claimed("a/1");
  as<Settled>(claims_.release("a/1", failed.ticket, "broken", Release::final));
  as<Settled>(claims_.complete("a/2", claimed("a/2").ticket, ""));
  EXPECT_EQ(claims_.retry_all({.filter = {.prefix = "a/"}})->count, 1U);
  EXPECT_EQ(claims_.show("a/1")->value().kind, ClaimState::Kind::free);
  as<Fenced>(claims_.complete("a/1", failed.ticket, "late"));
  const Claimed next = claimed("a/1");
  EXPECT_EQ(next.attempt, 2);
  EXPECT_EQ(next.previous->failure, "broken");
  EXPECT_EQ(claims_.retry_all({.name = "a/1"})->count, 0U) << "it is busy";
}

TEST_F(ClaimsTest, ReleasesHeldClaimsInBulkAndFencesTheirHolders) {
  const Claimed held = claimed("a/1");
  as<Settled>(claims_.complete("a/2", claimed("a/2").ticket, ""));
  EXPECT_EQ(claims_.release_all({.filter = {.prefix = "a/"}, .dry_run = true})->count, 1U);
  EXPECT_EQ(claims_.show("a/1")->value().kind, ClaimState::Kind::busy);
  EXPECT_EQ(claims_.release_all({.filter = {.prefix = "a/"}})->count, 1U);
  as<Fenced>(claims_.complete("a/1", held.ticket, "late"));
  EXPECT_EQ(claims_.show("a/2")->value().kind, ClaimState::Kind::done);
  EXPECT_EQ(claimed("a/1").attempt, 2);
  EXPECT_EQ(claims_.release_all({}).error().code, ErrorCode::invalid);
}

TEST_F(ClaimsTest, ABulkStepWhoseRepliesAreLostCountsWhatItDid) {
  for (const char* name : {"a", "b", "c"}) {
    as<Settled>(claims_.complete(name, claimed(name).ticket, ""));
  }
  meet({Fault::none, Fault::fail_after, Fault::none, Fault::land_late});
  EXPECT_EQ(claims_.forget_all({.filter = {.kind = ClaimState::Kind::done}})->count, 3U);
  faulty_->deliver_late();
  EXPECT_TRUE(claims_.list()->claims.empty());
}

TEST_F(ClaimsTest, AbandonedClaimsOfAllNamespacesAreFound) {
  LocalClaims others(*faulty_, "others", clock_, entropy_);
  as<Claimed>(others.take("theirs", {.owner = "x", .lease = 1s}));
  claimed("ours", {.lease = 1h});
  clock_.advance(10s);
  const auto page = BlockingDriver(*memory_, clock_, entropy_).run(claims::list_abandoned(""));
  ASSERT_EQ(page.value().claims.size(), 1U);
  EXPECT_EQ(page->claims[0].name_space, "others");
  EXPECT_EQ(page->claims[0].name, "theirs");
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
    const claims::ClaimPage page =
        claims_.list({.kind = ClaimState::Kind::busy}, cursor, 7).value();
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
