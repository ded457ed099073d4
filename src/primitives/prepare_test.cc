// Effects that are prepared here and applied by another transaction.
#include <gtest/gtest.h>

#include <memory>

#include "once/blocking_driver.h"
#include "once/effects.h"
#include "once/local.h"
#include "testing/manual_clock.h"
#include "testing/sealing_store.h"
#include "testing/store_under_test.h"

namespace once {
namespace {

using effects::Made;
using effects::PrepareOutcome;
using effects::Refused;
using effects::Request;
using effects::Sealed;
using Part = Refused::Part;
using namespace std::chrono_literals;

class PrepareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_WRITES(*inner_, 2U);
    if (inner_->limits().one_home_per_commit) GTEST_SKIP() << "one home in a commit here";
  }

  PrepareOutcome prepare(Request request) {
    return driver_.run(effects::prepare(std::move(request))).value();
  }
  std::string token(Request request) { return std::get<Sealed>(prepare(std::move(request))).token; }
  Made commit(Request request) {
    return std::get<Made>(driver_.run(effects::commit(std::move(request))).value());
  }
  bool apply(const std::string& token) { return committed(store_.apply(token).value()); }

  Request paying() {
    if (ticket_.text.empty()) {
      ticket_ = std::get<Claimed>(claims_.take("invoice", {}).value()).ticket;
    }
    return {.claim = effects::ClaimPart{"invoice", ticket_},
            .effects = Effects()
                           .result("paid")
                           .append("ledger", "1900")
                           .append("audit", "a")
                           .append("ledger", "1901")
                           .put("receipt", {"thanks", "text/plain"}, documents::IfAbsent{})
                           .add("revenue", 1900)};
  }
  std::int64_t next(std::string_view stream) { return log_.ends(stream).value().next; }
  std::int64_t sum() {
    const auto found = tallies_.read("revenue").value();
    return found ? std::get<std::int64_t>(found->value) : 0;
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<Store> inner_ = testing::store_under_test(clock_);
  testing::SealingStore store_{*inner_};
  BlockingDriver driver_{store_, clock_, entropy_};
  LocalClaims claims_{store_, "default", clock_, entropy_};
  LocalLog log_{store_, "default", LogStrategy::conditional, clock_, entropy_};
  LocalDocuments documents_{store_, "default", clock_, entropy_};
  LocalTallies tallies_{store_, "default", clock_, entropy_};
  Ticket ticket_;
};

TEST_F(PrepareTest, NothingHappensUntilTheTokenIsApplied) {
  const std::string made = token(paying());
  EXPECT_EQ(next("ledger"), 1);
  EXPECT_EQ(sum(), 0);
  EXPECT_EQ(claims_.show("invoice").value()->kind, ClaimState::Kind::busy);
  EXPECT_TRUE(apply(made));
  EXPECT_EQ(next("ledger"), 3);
  EXPECT_EQ(next("audit"), 2);
  EXPECT_EQ(sum(), 1900);
  EXPECT_TRUE(documents_.get("receipt").value().has_value());
  EXPECT_EQ(claims_.show("invoice").value()->kind, ClaimState::Kind::done);
}

TEST_F(PrepareTest, AppliedItIsACommitThatRepeatsAreToldOf) {
  ASSERT_TRUE(apply(token(paying())));
  const Made again = commit(paying());
  EXPECT_TRUE(again.replayed);
  ASSERT_EQ(again.appended.size(), 3U);
  EXPECT_EQ(again.appended[0].first, 1);
  EXPECT_EQ(again.appended[2].first, 2);
  EXPECT_EQ(again.etags.at(0), documents_.get("receipt").value()->etag);
  EXPECT_TRUE(std::get<Made>(prepare(paying())).replayed);
}

// A store that is a server may take the second application for a copy of the first, and say that it
// was made: what counts is that nothing changes. (Of once.apply() itself, see apply_test.cc.)
TEST_F(PrepareTest, ATokenIsAppliedOnce) {
  const std::string made = token(paying());
  EXPECT_TRUE(apply(made));
  (void)apply(made);
  EXPECT_EQ(sum(), 1900);
  EXPECT_EQ(next("ledger"), 3);
}

TEST_F(PrepareTest, OfTwoTokensOfOneTicketOneIsApplied) {
  const std::string one = token(paying());
  const std::string other = token(paying());
  EXPECT_TRUE(apply(other));
  EXPECT_FALSE(apply(one));
}

TEST_F(PrepareTest, WithoutClaimOrIdItStillCannotBeAppliedTwice) {
  const std::string made = token({.effects = Effects().add("revenue", 5)});
  EXPECT_TRUE(apply(made));
  (void)apply(made);
  EXPECT_EQ(sum(), 5);
  EXPECT_TRUE(apply(token({.effects = Effects().add("revenue", 5)})));
  EXPECT_EQ(sum(), 10);
}

TEST_F(PrepareTest, AddsToOneTallyDoNotGetInEachOthersWay) {
  ASSERT_TRUE(apply(token({.effects = Effects().add("revenue", 1)})));
  const std::string one = token({.effects = Effects().add("revenue", 10)});
  const std::string other = token({.effects = Effects().add("revenue", 100)});
  EXPECT_TRUE(apply(one));
  EXPECT_TRUE(apply(other));
  EXPECT_EQ(sum(), 111);
}

TEST_F(PrepareTest, AnAppendInBetweenMakesTheTokenFailByItsLog) {
  const std::string made = token(paying());
  ASSERT_TRUE(log_.append("ledger", {{"other"}}).has_value());
  const CommitOutcome outcome = store_.apply(made).value();
  ASSERT_FALSE(committed(outcome));
  EXPECT_EQ(store_.kept(made).parts[std::get<Lost>(outcome).write], "logs[0]");
  EXPECT_TRUE(apply(token(paying())));
}

TEST_F(PrepareTest, EachWriteNamesItsPartAndTheProofComesFirst) {
  Request request = paying();
  request.id = "i";
  const auto kept = store_.kept(token(request));
  const std::vector<std::string> parts = {"id",      "claim",      "logs[0]",   "logs[1]",
                                          "docs[0]", "tallies[0]", "tallies[0]"};
  EXPECT_EQ(kept.parts, parts);
  for (const Write& write : kept.writes) {
    EXPECT_TRUE(write.version || write.kind == Write::Kind::check);
  }
}

TEST_F(PrepareTest, ATokenLivesForAMinute) {
  const Time now = store_.now();
  EXPECT_EQ(store_.kept(token(paying())).until, now + 1min);
}

TEST_F(PrepareTest, ConditionsThatDoNotHoldAreToldAtOnce) {
  const documents::Content content{"x", "text/plain"};
  ASSERT_TRUE(documents_.put("receipt", content, documents::IfAbsent{}));
  const auto by_document = std::get<Refused>(prepare(paying()));
  EXPECT_EQ(by_document.part, Part::document);
  ASSERT_TRUE(claims_.forget("invoice"));
  EXPECT_EQ(std::get<Refused>(prepare(paying())).part, Part::claim);
  ticket_.text = "nonsense";
  EXPECT_EQ(std::get<Refused>(prepare(paying())).part, Part::claim);
}

TEST_F(PrepareTest, AClosedLogIsToldAtOnce) {
  ASSERT_TRUE(log_.append("audit", {{"e"}}));
  ASSERT_TRUE(log_.close("audit", {}));
  const auto refused = std::get<Refused>(prepare(paying()));
  EXPECT_EQ(refused.part, Part::log);
  EXPECT_EQ(refused.index, 1U);
}

TEST_F(PrepareTest, AStoreWithoutTransactionsOfItsUsersRefuses) {
  BlockingDriver plain(*inner_, clock_, entropy_);
  const auto outcome = plain.run(effects::prepare({.effects = Effects().add("t", 1)}));
  EXPECT_EQ(inner_->limits().sealer != nullptr, outcome.has_value());
  if (!outcome) {
    EXPECT_EQ(outcome.error().code, ErrorCode::unsupported);
  }
}

TEST_F(PrepareTest, WhatIsTooLargeForATokenIsRefused) {
  const std::size_t most = inner_->limits().value_bytes;
  Effects effects;
  for (std::size_t total = 0, i = 0; total <= (9U << 20); ++i) {
    const std::size_t size = std::min<std::size_t>(most / 2, 1U << 20);
    effects.put("d" + std::to_string(i), {Bytes(size, 'x'), "text/plain"}, documents::IfAbsent{});
    total += size;
    if (i > 900) GTEST_SKIP() << "values are small here";
  }
  const auto outcome = driver_.run(effects::prepare({.effects = effects}));
  EXPECT_EQ(outcome.error().code, ErrorCode::too_large);
}

}  // namespace
}  // namespace once
