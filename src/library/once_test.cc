// The front door: work that runs once, with a lease kept by itself. The same on a store in this
// process and through a server.
#include "once/once.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "once/blocking_driver.h"
#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "primitives/store_secret.h"
#include "remote/remote.h"
#include "stores/decorators/decorator.h"
#include "testing/code_of.h"
#include "testing/in_process_server.h"
#include "testing/manual_clock.h"
#include "testing/sealing_store.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using testing::code_of;
using Why = NotRun::Why;

enum class Where { here, through_a_server };

class OnceTest : public ::testing::TestWithParam<Where> {
 protected:
  // What each of two machines would hold: a door of its own on the same store.
  Once door() {
    if (server_ != nullptr) {
      return Once(remote::connect(server_->url(), "", "test", clock_, entropy_).value());
    }
    auto here = std::make_unique<Decorator<Store>>(*faulty_);
    here->secret().set(known_secret_);
    return Once(std::move(here), "test", clock_, entropy_);
  }

  // So that what a test lets go wrong is a call of its own, not the first look at the store.
  StoreSecret learn_secret() {
    const StoreSecret* const secret =
        BlockingDriver(*memory_, clock_, entropy_).run(read_store_secret()).value();
    faulty_->secret().set(*secret);
    return *secret;
  }

  RunResult run(std::string_view key, const Once::Work& work) { return once_.run(key, {}, work); }

  static Once::Work returning(Effects effects) {
    return [effects](Attempt&) -> Result<Effects> { return effects; };
  }
  static Result<Effects> must_not_run(Attempt&) {
    ADD_FAILURE() << "it ran again";
    return Effects();
  }

  std::optional<Error> error_of(const RunResult& result, Why why) {
    EXPECT_FALSE(result.has_value());
    if (result) return std::nullopt;
    EXPECT_EQ(result.error().why, why) << result.error().error.message;
    return result.error().error;
  }

  // As a transaction of the caller's own does.
  bool apply(const Result<effects::PrepareOutcome>& prepared) {
    return committed(sealing_.apply(std::get<effects::Sealed>(prepared.value()).token).value());
  }

  void meet(std::vector<Fault> faults) { faulty_->script(faults); }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  testing::SealingStore sealing_{*memory_};
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(sealing_, {}, clock_);
  const StoreSecret known_secret_ = learn_secret();
  std::unique_ptr<testing::InProcessServer> server_ =
      GetParam() == Where::here ? nullptr : std::make_unique<testing::InProcessServer>(*faulty_);
  Once once_ = door();
};

INSTANTIATE_TEST_SUITE_P(Doors, OnceTest, ::testing::Values(Where::here, Where::through_a_server),
                         [](const auto& info) {
                           return info.param == Where::here ? "here" : "through_a_server";
                         });

TEST_P(OnceTest, RunsOnceAndReplaysTheResult) {
  const RunResult first = run("job", returning(Effects().result("42")));
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(first->replayed);
  clock_.advance(1h);
  const RunResult second = run("job", must_not_run);
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->replayed);
  EXPECT_EQ(second->result, "42");
  EXPECT_EQ(second->completed, first->completed);
}

TEST_P(OnceTest, EffectsHappenTogetherWithTheOutcome) {
  const auto paid =
      run("job", returning(Effects().result("r").append("ledger", "r").add("sum", 5)));
  ASSERT_TRUE(paid.has_value());
  EXPECT_EQ(paid->made.appended.at(0).first, 1);
  EXPECT_EQ(once_.log().read("ledger")->events.size(), 1U);
  ASSERT_TRUE(run("job", must_not_run).has_value());
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("sum").value()->value), 5);
}

TEST_P(OnceTest, TwoAreNeverAtItAtATime) {
  Once other = door();
  run("job", [&](Attempt&) -> Result<Effects> {
    const RunResult second = other.run("job", {}, must_not_run);
    error_of(second, Why::busy);
    EXPECT_EQ(second.error().until, clock_.now() + 30s);
    return Effects();
  });
}

TEST_P(OnceTest, AnErrorFreesTheKeyForTheNextAttempt) {
  const auto failed = run("job", [](Attempt& attempt) -> Result<Effects> {
    EXPECT_EQ(attempt.number(), 1);
    return attempt.retry_later("the bank is closed");
  });
  EXPECT_EQ(error_of(failed, Why::retry)->message, "the bank is closed");
  std::int64_t fence = 0;
  const auto second = run("job", [&](Attempt& attempt) -> Result<Effects> {
    EXPECT_EQ(attempt.number(), 2);
    fence = attempt.fence();
    return Effects();
  });
  EXPECT_TRUE(second.has_value());
  EXPECT_GT(fence, 0);
}

TEST_P(OnceTest, GivingUpIsTheOutcome) {
  const auto failed = run("job", [](Attempt& attempt) -> Result<Effects> {
    return attempt.give_up("no such account");
  });
  error_of(failed, Why::failed);
  EXPECT_EQ(error_of(run("job", must_not_run), Why::failed)->message, "no such account");
}

TEST_P(OnceTest, AnExceptionFreesTheKeyAndPassesOn) {
  const Once::Work throwing = [](Attempt&) -> Result<Effects> { throw std::runtime_error("oh"); };
  EXPECT_THROW(run("job", throwing), std::runtime_error);
  EXPECT_TRUE(run("job", returning({})).has_value());
}

TEST_P(OnceTest, AnotherPayloadIsRefused) {
  ASSERT_TRUE(once_.run("job", {.payload = "a"}, returning({})).has_value());
  error_of(once_.run("job", {.payload = "b"}, must_not_run), Why::mismatch);
}

// Waits, in real time but not for any certain time, until the keeper has done something.
void wait_until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::yield();
}

TEST_P(OnceTest, TheLeaseIsKeptWhileTheWorkRuns) {
  Once other = door();
  const auto ran = run("job", [&](Attempt& attempt) -> Result<Effects> {
    for (int i = 0; i < 12; ++i) {
      const Time before = once_.claims().show("job").value()->lease_until;
      clock_.advance(10s);
      wait_until([&] { return once_.claims().show("job").value()->lease_until > before; });
    }
    error_of(other.run("job", {}, must_not_run), Why::busy);
    EXPECT_FALSE(attempt.lost());
    return Effects().result("slow");
  });
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(ran->result, "slow");
}

TEST_P(OnceTest, AClaimWhoseAnswerWasSlowIsRenewedBeforeTheWork) {
  const Time start = clock_.now();
  meet({Fault::lose_reply, Fault::lose_reply, Fault::lose_reply});
  const auto ran = once_.run("job", {.wait = 1min}, [&](Attempt& attempt) -> Result<Effects> {
    EXPECT_GE(clock_.now() - start, 10s);
    EXPECT_GE(once_.claims().show("job").value()->lease_until - clock_.now(), 20s);
    EXPECT_FALSE(attempt.lost());
    return Effects();
  });
  EXPECT_TRUE(ran.has_value());
}

TEST_P(OnceTest, AWaitThatTheCallerEndsIsBusyAndNothingRuns) {
  Once other = door();
  int pauses = 0;
  run("job", [&](Attempt&) -> Result<Effects> {
    const RunOptions options{.wait = 1h, .pause = [&](Duration) { return ++pauses < 3; }};
    error_of(other.run("job", options, must_not_run), Why::busy);
    return Effects();
  });
  EXPECT_EQ(pauses, 3);
}

TEST_P(OnceTest, AWaitWithAPauseOfTheCallersFindsTheOutcomeOfTheOther) {
  Once other = door();
  const Ticket held = std::get<Claimed>(other.claims().take("job", {}).value()).ticket;
  const auto complete = [&](Duration) { return other.claims().complete("job", held, "42"); };
  const RunOptions options{.wait = 1h,
                           .pause = [&](Duration length) { return complete(length).has_value(); }};
  const RunResult ran = once_.run("job", options, must_not_run);
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(ran->result, "42");
}

TEST_P(OnceTest, ALostLeaseIsToldToTheWorkAndItsEffectsAreRefused) {
  Once other = door();
  const auto late = run("job", [&](Attempt& attempt) -> Result<Effects> {
    EXPECT_TRUE(other.claims().forget("job").value());
    EXPECT_TRUE(other.run("job", {}, returning(Effects().result("theirs").add("sum", 1))));
    clock_.advance(10s);
    wait_until([&] { return attempt.lost(); });
    return Effects().result("ours").add("sum", 100);
  });
  error_of(late, Why::fenced);
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("sum").value()->value), 1);
  EXPECT_EQ(run("job", must_not_run)->result, "theirs");
}

TEST_P(OnceTest, AStoreThatIsDownWhenTheWorkIsDoneIsWaitedFor) {
  const auto ran = run("job", [&](Attempt&) -> Result<Effects> {
    meet({Fault::fail_before, Fault::fail_before, Fault::fail_before, Fault::none, Fault::none});
    return Effects().result("r").add("sum", 5);
  });
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("sum").value()->value), 5);
}

TEST_P(OnceTest, AStoreThatStaysDownEndsTheRunWithinItsPatience) {
  const Time start = clock_.now();
  const auto ran = run("job", [&](Attempt&) -> Result<Effects> {
    meet(std::vector<Fault>(1'000, Fault::fail_before));
    return Effects().result("r");
  });
  EXPECT_EQ(error_of(ran, Why::store_error)->code, ErrorCode::unavailable);
  EXPECT_LT(clock_.now() - start, 3min);
}

TEST_P(OnceTest, ALostReplyWhenRecordingIsNotASecondOutcome) {
  const auto ran = run("job", [&](Attempt&) -> Result<Effects> {
    meet({Fault::none, Fault::fail_after});
    return Effects().result("r").add("sum", 5);
  });
  EXPECT_TRUE(ran.has_value());
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("sum").value()->value), 5);
}

TEST_P(OnceTest, H16_AResultTooLargeToKeepIsAFailureForGoodAndTheWorkIsNotRepeated) {
  const Bytes huge(memory_->limits().value_bytes + 1, 'x');
  error_of(run("job", returning(Effects().result(huge))), Why::failed);
  const auto again = error_of(run("job", must_not_run), Why::failed);
  EXPECT_TRUE(again->message.starts_with("the outcome could not be stored")) << again->message;
}

TEST_P(OnceTest, H16_AResultThatIsTooLargeMayBeRecordedSmaller) {
  const Bytes huge(memory_->limits().value_bytes + 1, 'x');
  const RunOptions options{.smaller = [] { return Effects().result("cut"); }};
  const auto ran = once_.run("job", options, returning(Effects().result(huge)));
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(ran->result, "cut");
  EXPECT_EQ(run("job", must_not_run)->result, "cut");
}

TEST_P(OnceTest, H39_EffectsThatAreInvalidFreeTheKeyAndBuryNothing) {
  const auto ran = run("job", returning(Effects().append("", "e")));
  EXPECT_EQ(error_of(ran, Why::retry)->code, ErrorCode::invalid);
  EXPECT_TRUE(run("job", returning(Effects().append("s", "e"))).has_value());
}

TEST_P(OnceTest, AFailureThatTheStoreIsNotToldOfIsStillAFailure) {
  const auto ran = run("job", [&](Attempt& attempt) -> Result<Effects> {
    meet(std::vector<Fault>(1'000, Fault::fail_before));
    return attempt.retry_later("the bank is closed");
  });
  EXPECT_EQ(error_of(ran, Why::retry)->message, "the bank is closed");
  EXPECT_EQ(ran.error().unrecorded->code, ErrorCode::unavailable);
}

TEST_P(OnceTest, H38_AKeyIsNotFreedForLongerThanItsLease) {
  const Time start = clock_.now();
  const RunOptions options{.lease = 5s};
  const auto ran = once_.run("job", options, [&](Attempt& attempt) -> Result<Effects> {
    EXPECT_EQ(attempt.lease_until(), start + 5s);
    meet(std::vector<Fault>(1'000, Fault::fail_before));
    return attempt.retry_later("the bank is closed");
  });
  EXPECT_TRUE(ran.error().unrecorded);
  EXPECT_LT(clock_.now() - start, 15s);
}

TEST_P(OnceTest, H38_WhatIsDoneIsRecordedAlthoughItsLeaseIsOver) {
  const auto ran = run("job", [&](Attempt& attempt) -> Result<Effects> {
    meet(std::vector<Fault>(1, Fault::fail_before));  // Of the only renewal.
    clock_.advance(31s);
    wait_until([&] { return attempt.lost(); });
    return Effects().result("r");
  });
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(run("job", must_not_run)->result, "r");
}

TEST_P(OnceTest, ARefusedConditionFreesTheKeyAndNamesThePart) {
  const documents::Content content{"x", "text/plain"};
  ASSERT_TRUE(once_.documents().put("doc", content, documents::IfAbsent{}));
  const auto refused = run("job", returning(Effects().put("doc", content, documents::IfAbsent{})));
  error_of(refused, Why::refused);
  EXPECT_EQ(refused.error().refused->part, effects::Refused::Part::document);
  EXPECT_TRUE(run("job", returning({})).has_value());
}

TEST_P(OnceTest, ABadKeyRunsNothing) {
  EXPECT_EQ(error_of(run("", must_not_run), Why::store_error)->code, ErrorCode::invalid);
}

TEST_P(OnceTest, ACallThatHasNoTimeBeginsNothing) {
  constexpr Duration none{0};
  const std::uint64_t calls = faulty_->counts().calls;
  const std::vector<std::string> names = {"x"};
  const documents::UpdateRequest update{
      .modify = [](const auto&) -> Result<documents::Modified> { return Keep{}; }};
  Claims& claims = once_.claims();
  Log& log = once_.log();
  Documents& documents = once_.documents();
  Tallies& tallies = once_.tallies();
  const std::vector<std::optional<ErrorCode>> codes = {
      code_of(claims.take("x", {}, none, none)),
      code_of(claims.renew("x", {}, 1s, none)),
      code_of(claims.complete("x", {}, "", none)),
      code_of(claims.release("x", {}, "", Release::final, none)),
      code_of(claims.forget("x", none)),
      code_of(claims.show("x", none)),
      code_of(claims.list({}, "", 1, none)),
      code_of(claims.seen(names, 1h, "", none)),
      code_of(log.append("x", {{"e"}}, {}, none)),
      code_of(log.read("x", {}, none)),
      code_of(log.ends("x", none)),
      code_of(log.trim("x", 1, none)),
      code_of(documents.get("x", none)),
      code_of(documents.put("x", {"y"}, documents::IfAbsent{}, {}, none)),
      code_of(documents.remove("x", "e", {}, none)),
      code_of(documents.update_if("x", "e", update, none)),
      code_of(documents.update("x", update, none)),
      code_of(tallies.merge("x", {.input = 1}, none)),
      code_of(tallies.read("x", {}, {}, none)),
      code_of(tallies.read_all(names, {}, {}, none)),
      code_of(once_.commit(Effects().add("x", 1), "", none)),
      code_of(once_.prepare(Effects().add("x", 1), "", none)),
  };
  EXPECT_EQ(codes, std::vector(codes.size(), std::optional(ErrorCode::unavailable)));
  EXPECT_EQ(faulty_->counts().calls, calls);
}

TEST_P(OnceTest, WhatTheWorkAppliedItselfIsTheOutcome) {
  const auto ran = run("job", [&](Attempt& attempt) -> Result<Effects> {
    const auto prepared = attempt.prepare(Effects().result("r").add("sum", 5));
    EXPECT_TRUE(apply(prepared));
    return Effects();
  });
  ASSERT_TRUE(ran.has_value()) << ran.error().error.message;
  EXPECT_EQ(ran->result, "r");
  EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read("sum").value()->value), 5);
  EXPECT_EQ(run("job", must_not_run)->result, "r");
}

TEST_P(OnceTest, WhatIsPreparedAndNotAppliedIsNotCommittedAndFreesTheKey) {
  const auto ran = run("job", [&](Attempt& attempt) -> Result<Effects> {
    EXPECT_TRUE(attempt.prepare(Effects().result("r").add("sum", 5)).has_value());
    return Effects().result("r").add("sum", 5);
  });
  EXPECT_EQ(error_of(ran, Why::retry)->message, "what was prepared was not applied");
  EXPECT_FALSE(once_.tallies().read("sum").value().has_value());
  EXPECT_TRUE(run("job", returning({})).has_value());
}

TEST_P(OnceTest, ATokenWhoseClaimWasTakenOverIsNotApplied) {
  const auto ran = run("job", [&](Attempt& attempt) -> Result<Effects> {
    const auto prepared = attempt.prepare(Effects().result("mine").add("sum", 5));
    clock_.advance(31s);
    EXPECT_TRUE(door().run("job", {}, returning(Effects().result("theirs"))).has_value());
    EXPECT_FALSE(apply(prepared));
    return Effects();
  });
  error_of(ran, Why::fenced);
  EXPECT_EQ(run("job", must_not_run)->result, "theirs");
}

TEST_P(OnceTest, ALeaseIsRenewedBeforeATokenIsMadeAndNotWhileItIsOut) {
  const auto ran = run("job", [&](Attempt& attempt) -> Result<Effects> {
    const auto first = attempt.prepare(Effects().result("r").add("sum", 5));
    clock_.advance(25s);
    const auto second = attempt.prepare(Effects().result("r").add("sum", 5));
    clock_.advance(25s);
    EXPECT_FALSE(apply(first));
    EXPECT_TRUE(apply(second));
    return Effects();
  });
  EXPECT_TRUE(ran.has_value());
}

TEST_P(OnceTest, EffectsAloneArePrepared) {
  const auto prepared = once_.prepare(Effects().add("sum", 5), "c-1");
  EXPECT_TRUE(apply(prepared));
  EXPECT_TRUE(std::get<effects::Made>(*once_.prepare(Effects().add("sum", 5), "c-1")).replayed);
  const auto repeat = once_.commit(Effects().add("sum", 5), "c-1");
  EXPECT_TRUE(std::get<effects::Made>(*repeat).replayed);
}

TEST_P(OnceTest, ACommitUnderAnIdIsMadeOnce) {
  for (int i = 0; i < 2; ++i) {
    const auto outcome = once_.commit(Effects().add("sum", 5), "c-1");
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(std::get<effects::Made>(*outcome).replayed, i == 1);
  }
}

}  // namespace
}  // namespace once
