// Effects: all or nothing, and repeats get the first answer.
#include "once/effects.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "once/blocking_driver.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "stores/decorators/decorator.h"
#include "testing/limited_store.h"
#include "testing/manual_clock.h"
#include "testing/store_under_test.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using effects::Made;
using effects::Request;
using Part = effects::Refused::Part;

// Effects and the other primitives on a memory store with scripted faults.
class EffectsFixture : public testing::FaultyStoreTest {
 protected:
  EffectsFixture() { know_secret(); }

  using Outcome = effects::Outcome;
  using Refused = effects::Refused;

  Result<Outcome> commit(effects::Request request) {
    return driver_.run(effects::commit(std::move(request)));
  }
  effects::Made made(effects::Request request) {
    const Result<Outcome> outcome = commit(std::move(request));
    if (!outcome) ADD_FAILURE() << outcome.error().message;
    if (!outcome) return {};
    const auto* made = std::get_if<effects::Made>(&*outcome);
    EXPECT_NE(made, nullptr) << "refused";
    return made != nullptr ? *made : effects::Made{};
  }
  Refused refused(effects::Request request) {
    const Result<Outcome> outcome = commit(std::move(request));
    if (!outcome) ADD_FAILURE() << outcome.error().message;
    if (!outcome) return {};
    const auto* refused = std::get_if<Refused>(&*outcome);
    EXPECT_NE(refused, nullptr) << "made";
    return refused != nullptr ? *refused : Refused{};
  }

  Ticket claim(std::string_view name) {
    return std::get<Claimed>(claims_.take(name, {}).value()).ticket;
  }
  std::size_t events(std::string_view stream) { return log_.read(stream).value().events.size(); }
  std::int64_t sum(std::string_view name) {
    const auto reading = tallies_.read(name).value();
    return reading ? std::get<std::int64_t>(reading->value) : 0;
  }
  // Empty if it does not exist.
  std::string content(std::string_view name) {
    const auto document = documents_.get(name).value();
    return document ? document->content.bytes : "";
  }
  bool exists(std::string_view name) { return documents_.get(name).value().has_value(); }
  std::string etag(std::string_view name) { return documents_.get(name).value().value().etag; }

  BlockingDriver driver_{*faulty_, clock_, entropy_};
  LocalClaims claims_{*memory_, "default", clock_, entropy_};
  LocalLog log_{*memory_, "default", LogStrategy::conditional, clock_, entropy_};
  LocalDocuments documents_{*memory_, "default", clock_, entropy_};
  LocalTallies tallies_{*memory_, "default", clock_, entropy_};
};

documents::Content text(std::string bytes) { return {std::move(bytes), "text/plain"}; }

// A payment: it completes a claim, and adds a ledger entry, a receipt and revenue.
Effects payment() {
  return Effects()
      .result("paid")
      .append("ledger", "1900")
      .put("receipt", text("thank you"), documents::IfAbsent{})
      .add("revenue", 1900);
}

// The parts have several homes; a commit takes all of them or is refused.
class EffectsTest : public EffectsFixture {
 protected:
  void SetUp() override {
    ONCE_NEEDS_WRITES(*memory_, 2U);
    if (memory_->limits().one_home_per_commit) GTEST_SKIP() << "one home in a commit here";
  }

  Request paying(const Ticket& ticket) {
    return {.claim = effects::ClaimPart{"invoice", ticket}, .effects = payment()};
  }
  // A commit that appends first to a log reads the parts, the log's end and the life of its name.
  void meet_in_commit(Fault fault) { meet({Fault::none, Fault::none, Fault::none, fault}); }
  void expect_paid_once() {
    EXPECT_EQ(events("ledger"), 1U);
    EXPECT_EQ(sum("revenue"), 1900);
    EXPECT_TRUE(exists("receipt"));
    const auto outcome = claims_.take("invoice", {}).value();
    const Done* done = std::get_if<Done>(&outcome);
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->result, "paid");
  }
  void expect_nothing_paid() {
    EXPECT_EQ(events("ledger"), 0U);
    EXPECT_FALSE(tallies_.read("revenue").value().has_value());
    EXPECT_EQ(claims_.show("invoice").value()->kind, ClaimState::Kind::busy);
  }
};

TEST_F(EffectsTest, EveryPartHappensInOneCommit) {
  const Made answer = made(paying(claim("invoice")));
  expect_paid_once();
  EXPECT_EQ(metered_->snapshot().commit.calls, 1U);
  // The parts, and the life of a log that has no events.
  EXPECT_EQ(metered_->snapshot().get.calls, 2U);
  ASSERT_EQ(answer.appended.size(), 1U);
  EXPECT_EQ(answer.appended[0].first, 1);
  EXPECT_EQ(answer.etags, std::vector{etag("receipt")});
  // Not every store returns the sums of a transaction; they were read above.
  if (const auto& told = answer.tallied.at(0).value) {
    EXPECT_EQ(std::get<std::int64_t>(*told), 1900);
  }
}

TEST_F(EffectsTest, NothingAtAllIsMadeOfNothing) {
  EXPECT_FALSE(made({}).replayed);
  EXPECT_EQ(metered_->snapshot().commit.calls, 0U);
}

TEST_F(EffectsTest, AFailingDocumentLeavesEverythingElseUndone) {
  const Ticket ticket = claim("invoice");
  ASSERT_TRUE(documents_.put("receipt", text("another"), documents::IfAbsent{}));
  const auto answer = refused(paying(ticket));
  EXPECT_EQ(answer.part, Part::document);
  EXPECT_EQ(std::get<documents::PreconditionFailed>(answer.why).etag, etag("receipt"));
  expect_nothing_paid();
}

TEST_F(EffectsTest, AnEtagThatWasNeverGivenOutIsADocumentThatFails) {
  Request absent;
  absent.effects.put("none", text("two"), documents::IfMatch{"no-etag"});
  EXPECT_EQ(refused(absent).part, Part::document);
  EXPECT_FALSE(exists("none"));
  ASSERT_TRUE(documents_.put("receipt", text("one"), documents::IfAbsent{}));
  Request request;
  request.effects.put("receipt", text("two"), documents::IfMatch{"no-etag"});
  const auto answer = refused(request);
  EXPECT_EQ(answer.part, Part::document);
  EXPECT_EQ(std::get<documents::PreconditionFailed>(answer.why).etag, etag("receipt"));
}

TEST_F(EffectsTest, ADocumentIsOverwrittenWhateverItHoldsAndARepeatIsKnownAfterItsChange) {
  Request request{.id = "i"};
  request.effects.overwrite("receipt", text("two"));
  EXPECT_FALSE(made(request).replayed);
  ASSERT_TRUE(documents_.put("receipt", text("three"), documents::IfMatch{etag("receipt")}));
  EXPECT_TRUE(made(request).replayed);
  EXPECT_EQ(content("receipt"), "three");
  Request another{.id = "j", .effects = request.effects};
  EXPECT_FALSE(made(another).replayed);
  EXPECT_EQ(content("receipt"), "two");
  Request creating{.id = "i"};
  creating.effects.put("receipt", text("two"), documents::IfAbsent{});
  EXPECT_TRUE(std::holds_alternative<Mismatch>(refused(creating).why));
}

TEST_F(EffectsTest, AnotherKindOfTallyIsNamedAndLeavesEverythingUndone) {
  const Ticket ticket = claim("invoice");
  Request request = paying(ticket);
  request.effects.add("other", 1).merge("levels", {.shape = {.kind = TallyKind::max}, .input = 1L});
  ASSERT_TRUE(tallies_.merge("levels", {.shape = {.kind = TallyKind::min}, .input = 1L}));
  const auto answer = refused(request);
  EXPECT_EQ(answer.part, Part::tally);
  EXPECT_EQ(answer.index, 2U);
  EXPECT_EQ(std::get<OtherTally>(answer.why).kind, "min");
  expect_nothing_paid();
}

TEST_F(EffectsTest, AnOverflowIsInvalidAndNamesItsTally) {
  ASSERT_TRUE(tallies_.merge("revenue", {.input = std::numeric_limits<std::int64_t>::max()}));
  const auto outcome =
      commit({.effects = Effects().append("ledger", "x").add("visits", 1).add("revenue", 1)});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::invalid);
  EXPECT_TRUE(outcome.error().message.starts_with("tally 1: ")) << outcome.error().message;
  EXPECT_EQ(events("ledger"), 0U);
  EXPECT_EQ(sum("visits"), 0);
}

TEST_F(EffectsTest, ATakenOverClaimIsFencedAndNothingHappens) {
  const Ticket old = claim("invoice");
  clock_.advance(31s);
  claim("invoice");
  const auto answer = refused(paying(old));
  EXPECT_EQ(answer.part, Part::claim);
  EXPECT_TRUE(std::holds_alternative<Fenced>(answer.why));
  expect_nothing_paid();
}

TEST_F(EffectsTest, ARenewedClaimIsCompletedWithItsFirstTicket) {
  const Ticket ticket = claim("invoice");
  ASSERT_TRUE(claims_.renew("invoice", ticket, 60s));
  made(paying(ticket));
  expect_paid_once();
}

TEST_F(EffectsTest, H23_ARepeatByTheTicketThatCompletedIsReplayed) {
  const Ticket ticket = claim("invoice");
  const Made first = made(paying(ticket));
  ASSERT_TRUE(log_.append("ledger", {{"another's", {}}}));
  const Made second = made(paying(ticket));
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.appended.at(0).first, first.appended.at(0).first);
  EXPECT_EQ(second.etags, first.etags);
  EXPECT_EQ(events("ledger"), 2U);
  EXPECT_EQ(sum("revenue"), 1900);
}

TEST_F(EffectsTest, H23_ARepeatUnderTheSameIdIsReplayed) {
  const Request request{.id = "p-1", .effects = Effects().append("ledger", "x").add("revenue", 5)};
  EXPECT_FALSE(made(request).replayed);
  EXPECT_TRUE(made(request).replayed);
  EXPECT_EQ(events("ledger"), 1U);
  EXPECT_EQ(sum("revenue"), 5);
}

// A get of several keys is not a snapshot: items may change between the reads.
class TornGets final : public Decorator<Store> {
 public:
  TornGets(Store& inner, std::function<void()> between)
      : Decorator(inner), between_(std::move(between)) {}

 private:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    Result<std::vector<std::optional<Item>>> first = inner_.get(keys.first(1));
    if (between_) std::exchange(between_, nullptr)();
    const auto rest = inner_.get(keys.subspan(1));
    first->insert(first->end(), rest->begin(), rest->end());
    return first;
  }

  std::function<void()> between_;
};

TEST_F(EffectsTest, H23_ATwinThatIsMadeBetweenTwoReadsIsReplayedNotRefused) {
  const Request request{.id = "p-1",
                        .effects = Effects().put("receipt", text("x"), documents::IfAbsent{})};
  TornGets torn(*memory_, [&] { made(request); });
  BlockingDriver driver(torn, clock_, entropy_);
  const auto outcome = driver.run(effects::commit(request));
  ASSERT_TRUE(outcome && std::holds_alternative<Made>(*outcome));
  EXPECT_TRUE(std::get<Made>(*outcome).replayed);
}

TEST_F(EffectsTest, OtherEffectsUnderAKnownTicketOrIdAreAMismatch) {
  const Ticket ticket = claim("invoice");
  made(paying(ticket));
  Request request = paying(ticket);
  request.effects.add("revenue", 1);
  EXPECT_TRUE(std::holds_alternative<Mismatch>(refused(request).why));
  made({.id = "p-1", .effects = Effects().add("visits", 5)});
  const auto answer = refused({.id = "p-1", .effects = Effects().add("visits", 6)});
  EXPECT_EQ(answer.part, Part::id);
  EXPECT_EQ(sum("visits"), 5);
}

TEST_F(EffectsTest, AClaimCompletedAloneIsReplayedOnlyWithoutFurtherEffects) {
  const Ticket ticket = claim("invoice");
  ASSERT_TRUE(claims_.complete("invoice", ticket, "paid"));
  const effects::ClaimPart part{"invoice", ticket};
  EXPECT_TRUE(made({.claim = part, .effects = Effects().result("paid")}).replayed);
  EXPECT_TRUE(std::holds_alternative<Mismatch>(refused(paying(ticket)).why));
  EXPECT_EQ(events("ledger"), 0U);
}

TEST_F(EffectsTest, H7_ALostReplyIsResolvedByTheClaim) {
  const Ticket ticket = claim("invoice");
  meet_in_commit(Fault::fail_after);
  EXPECT_FALSE(made(paying(ticket)).replayed);
  expect_paid_once();
}

TEST_F(EffectsTest, H7_APatchWhoseReplyIsLostIsMadeOnce) {
  ASSERT_TRUE(documents_.put("notes", text("a"), documents::IfAbsent{}));
  const auto one_more =
      [](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
    return documents::Content{current->bytes + "x", current->type};
  };
  const Request request{.id = "p-1", .effects = Effects().patch("notes", {"+x", one_more})};
  meet({Fault::none, Fault::fail_after});
  EXPECT_FALSE(made(request).replayed);
  EXPECT_EQ(content("notes"), "ax");
  EXPECT_TRUE(made(request).replayed);
  EXPECT_EQ(content("notes"), "ax");
  EXPECT_TRUE(made({.effects = Effects().remove("notes")}).etags.at(0).empty());
  EXPECT_EQ(content("notes"), "");
}

TEST_F(EffectsTest, H7_ACommitThatLandsLateIsNotMadeTwice) {
  const Request request{.id = "p-1", .effects = Effects().append("ledger", "x").add("revenue", 5)};
  meet_in_commit(Fault::land_late);
  EXPECT_FALSE(made(request).replayed);
  faulty_->deliver_late();
  EXPECT_EQ(events("ledger"), 1U);
  EXPECT_EQ(sum("revenue"), 5);
}

TEST_F(EffectsTest, H7_WithNeitherClaimNorIdAnUnknownOutcomeIsNotSentAgain) {
  meet({Fault::none, Fault::fail_after});
  const auto outcome = commit({.effects = Effects().add("revenue", 5)});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::unknown);
  EXPECT_EQ(sum("revenue"), 5);
}

TEST_F(EffectsTest, H22_AKeyIsWrittenOnceHoweverManyPartsItServes) {
  const TallyRequest high{.shape = {.kind = TallyKind::max}, .input = 9L};
  const TallyRequest low{.shape = {.kind = TallyKind::max}, .input = 2L};
  const Made answer = made({.effects = Effects()
                                           .append("ledger", "a")
                                           .add("revenue", 1)
                                           .append("ledger", "b")
                                           .add("revenue", 2)
                                           .merge("level", high)
                                           .merge("level", low)});
  EXPECT_EQ(answer.appended.at(0).first, 1);
  EXPECT_EQ(answer.appended.at(1).first, 2);
  EXPECT_EQ(sum("revenue"), 3);
  EXPECT_EQ(sum("level"), 9);
}

TEST_F(EffectsTest, H22_ARaiseToASmallerValueDoesNotCancelTheRest) {
  ASSERT_TRUE(tallies_.merge("level", {.shape = {.kind = TallyKind::max}, .input = 9L}));
  const TallyRequest low{.shape = {.kind = TallyKind::max}, .input = 2L};
  const Made answer = made({.effects = Effects().merge("level", low).append("ledger", "a")});
  EXPECT_EQ(std::get<std::int64_t>(answer.tallied.at(0).value.value()), 9);
  EXPECT_EQ(events("ledger"), 1U);
}

TEST_F(EffectsTest, ATallysKnownIdIsNotMergedAgain) {
  const TallyRequest named{.input = 5L, .id = "e-1"};
  ASSERT_TRUE(tallies_.merge("revenue", named));
  const Made answer = made({.effects = Effects().merge("revenue", named).append("ledger", "x")});
  EXPECT_TRUE(answer.tallied.at(0).replayed);
  EXPECT_EQ(sum("revenue"), 5);
  EXPECT_EQ(events("ledger"), 1U);
  const TallyRequest other{.input = 6L, .id = "e-1"};
  const auto no = refused({.effects = Effects().append("ledger", "x").merge("revenue", other)});
  EXPECT_TRUE(std::holds_alternative<TallyMismatch>(no.why));
  EXPECT_EQ(events("ledger"), 1U);
}

TEST_F(EffectsTest, BadPartsAreInvalidByNameAndChangeNothing) {
  const auto complaint = [&](Request request) {
    const auto outcome = commit(std::move(request));
    EXPECT_FALSE(outcome.has_value());
    return outcome ? "" : outcome.error().message;
  };
  EXPECT_EQ(complaint({.effects = Effects().result("x")}), "a result without a claim to complete");
  EXPECT_EQ(complaint({.effects = Effects().append("a", "x").append("", "x")}).substr(0, 6),
            "log 1:");
  EXPECT_EQ(complaint({.effects = Effects()
                                      .put("a", text("1"), documents::IfAbsent{})
                                      .put("a", text("2"), documents::IfAbsent{})}),
            "doc 1: the same document twice");
  EXPECT_EQ(events("a"), 0U);
  EXPECT_FALSE(exists("a"));
}

class EffectsBeyondLimits : public EffectsFixture {};

TEST_F(EffectsBeyondLimits, AStoreOfOneHomeACommitRefusesEffectsOfSeveralBeforeWriting) {
  Limits limits = memory_->limits();
  limits.one_home_per_commit = true;
  testing::LimitedStore limited(*memory_, limits);
  BlockingDriver driver(limited, clock_, entropy_);
  const auto outcome =
      driver.run(effects::commit({.effects = Effects().append("a", "x").append("b", "x")}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::unsupported);
  EXPECT_EQ(events("a"), 0U);
  EXPECT_EQ(events("b"), 0U);
}

TEST_F(EffectsBeyondLimits, AStoreWithOneWriteACommitRefusesEffectsBeforeWriting) {
  testing::LimitedStore limited(*memory_, 1);
  BlockingDriver driver(limited, clock_, entropy_);
  const auto outcome = driver.run(effects::commit({.effects = Effects().add("revenue", 1)}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::unsupported);
  EXPECT_FALSE(tallies_.read("revenue").value().has_value());
}

TEST_F(EffectsBeyondLimits, MoreWritesThanTheStoreTakesAreRefusedBeforeWriting) {
  testing::LimitedStore limited(*memory_, 3);
  BlockingDriver driver(limited, clock_, entropy_);
  Effects many;
  for (int i = 0; i < 4; ++i) many.append("s" + std::to_string(i), "x");
  const auto outcome = driver.run(effects::commit({.effects = many}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::unsupported);
  EXPECT_EQ(events("s0"), 0U);
}

}  // namespace
}  // namespace once
