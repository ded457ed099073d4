// Tickets that the store did not give out, and records that are damaged.
#include <limits>
#include <thread>

#include "once/batching_driver.h"
#include "once/effects.h"
#include "primitives/claims_fixture.h"
#include "primitives/forged_ticket.h"

namespace once {
namespace {

using namespace std::chrono_literals;

using claims::OpenTicket;
using testing::forged;
using testing::old_form;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

class ForgedTickets : public ClaimsFixture {
 protected:
  Key key(std::string_view name) const { return claims::claim_key("default", name); }

  void put_at(const Key& at, Value value, Time expiry = kNever) {
    Write write = put(at, std::move(value), anything(), expiry);
    write.version = entropy_.version();
    ASSERT_TRUE(committed(memory_->commit({&write, 1}).value()));
  }

  void expect_refused(std::string_view name, const Ticket& ticket) {
    as<Fenced>(claims_.renew(name, ticket, 1h));
    as<Fenced>(claims_.complete(name, ticket, "forged"));
    as<Fenced>(claims_.release(name, ticket, "forged", Release::retryable));
    as<Fenced>(claims_.release(name, ticket, "forged", Release::final));
    if (faulty_->limits().writes_per_commit == 1) return;
    effects::Request request;
    request.claim = effects::ClaimPart{std::string(name), ticket};
    const auto outcome =
        BlockingDriver(*faulty_, clock_, entropy_).run(effects::commit(std::move(request)));
    const auto* refused = std::get_if<effects::Refused>(&outcome.value());
    ASSERT_NE(refused, nullptr);
    EXPECT_TRUE(std::holds_alternative<Fenced>(refused->why));
  }
};

TEST_F(ForgedTickets, H46_AHolderCannotRaiseItsFence) {
  const Claimed mine = claimed("job", {.owner = "me"});
  const auto raise = [](OpenTicket& ticket) { ticket.record.fence = kLargest; };
  expect_refused("job", forged(mine.ticket, key("job"), raise));
  expect_refused("job", old_form(mine.ticket, raise));
  EXPECT_EQ(claims_.show("job").value()->fence, mine.fence);
  as<Settled>(claims_.complete("job", mine.ticket, "mine"));
}

// Versions and nonces count up from a seed, so that a holder can guess those of the next claims.
TEST_F(ForgedTickets, H46_AnothersClaimIsNotSettledByAGuess) {
  const Claimed mine = claimed("mine");
  const Claimed victims = claimed("victims", {.owner = "victim"});
  const OpenTicket guessed = testing::changed(victims.ticket, [](OpenTicket&) {});
  const auto guess = [&](OpenTicket& ticket) { ticket = guessed; };
  expect_refused("victims", forged(mine.ticket, key("victims"), guess));
  expect_refused("victims", old_form(mine.ticket, guess));
  EXPECT_EQ(claims_.show("victims").value()->owner, "victim");
  as<Settled>(claims_.complete("victims", victims.ticket, "done"));
}

TEST_F(ForgedTickets, H46_ATicketOfOneKeyDoesNotSettleAnother) {
  const Claimed mine = claimed("mine");
  claimed("victims");
  expect_refused("victims", mine.ticket);
}

TEST_F(ForgedTickets, H46_WhatIsNoTicketIsFenced) {
  claimed("job");
  for (const std::string text : {"", "x", "AAAA", "%%%", "dAE"}) expect_refused("job", {text});
}

// The store was written by a version of Once that had no secret.
TEST_F(ForgedTickets, H46_ATicketFromBeforeTheSecretStillSettlesItsClaim) {
  const auto before = [&](const std::string& name) {
    Claimed claim = claimed(name, {.ttl = 1h});
    const Item item = memory_->get(key(name)).value().value();
    claims::ClaimRecord record = claims::decode_claim(item).value();
    record.nonce = entropy_.random();
    put_at(key(name), claims::encode(record));
    claim.ticket = old_form(claim.ticket, [&](OpenTicket& ticket) { ticket.record = record; });
    return claim;
  };
  const Claimed one = before("one");
  as<Renewed>(claims_.renew("one", one.ticket, 1min));
  as<Settled>(claims_.complete("one", one.ticket, "r"));
  EXPECT_TRUE(as<Settled>(claims_.complete("one", one.ticket, "r")).replayed);
  as<Mismatch>(claims_.complete("one", one.ticket, "another"));
  const Claimed two = before("two");
  as<Settled>(claims_.release("two", two.ticket, "", Release::retryable));
  EXPECT_EQ(claimed("two").attempt, 2);
  // What the ticket says besides is not believed.
  const Claimed three = before("three");
  const Ticket longer =
      old_form(three.ticket, [](OpenTicket& ticket) { ticket.record.ttl = std::chrono::years(9); });
  as<Settled>(claims_.complete("three", longer, "r"));
  EXPECT_EQ(claims_.show("three").value()->kept_until, clock_.now() + 1h);
  // And it is still a proof of its own claim only.
  const Claimed four = before("four");
  expect_refused("four", old_form(four.ticket, [](OpenTicket& ticket) { ++ticket.record.nonce; }));
  expect_refused("four", old_form(four.ticket, [](OpenTicket& ticket) { ++ticket.record.fence; }));
}

TEST_F(ForgedTickets, TheSecretCostsAProcessOneReadAndAClaimNothing) {
  const auto metered = meter(*memory_);
  const auto gets = [&] { return metered->snapshot().get.calls; };
  LocalClaims another(*metered, "default", clock_, entropy_);
  for (int i = 0; i < 3; ++i) {
    const std::string name = "job-" + std::to_string(i);
    const Claimed claim = as<Claimed>(another.take(name, {}));
    as<Settled>(another.complete(name, claim.ticket, ""));
    EXPECT_EQ(gets(), 1U);
  }
  EXPECT_EQ(metered->snapshot().commit.calls, 6U);
}

TEST_F(ForgedTickets, ATicketOfOneProcessIsGoodInAnother) {
  const auto another = meter(*memory_);
  LocalClaims there(*another, "default", clock_, entropy_);
  as<Settled>(there.complete("job", claimed("job").ticket, "r"));
}

TEST_F(ForgedTickets, AllThatComeFirstAtOnceGetOneSecret) {
  const std::unique_ptr<Store> fresh = testing::store_under_test(clock_);
  std::vector<std::unique_ptr<MeteredStore>> processes;
  std::vector<StoreSecret> got(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < got.size(); ++i) {
    processes.push_back(meter(*fresh));
    threads.emplace_back([&, i, store = processes.back().get()] {
      got[i] = *BlockingDriver(*store, clock_).run(read_store_secret()).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const StoreSecret& secret : got) EXPECT_EQ(secret, got[0]);
}

TEST_F(ForgedTickets, ALostReplyToTheFirstWriteOfTheSecretIsResolved) {
  const std::unique_ptr<Store> fresh = testing::store_under_test(clock_);
  // Before the write there is a get, and a listing of as many pages as the store makes of it.
  const std::unique_ptr<Store> another = testing::store_under_test(clock_);
  const auto counted = meter(*another);
  ASSERT_TRUE(BlockingDriver(*counted, clock_).run(read_store_secret()));
  ASSERT_EQ(counted->snapshot().commit.calls, 1U);
  std::vector<Fault> faults(counted->snapshot().get.calls + counted->snapshot().list.calls);
  faults.push_back(Fault::lose_reply);
  const auto faulty = inject_faults(*fresh, {}, clock_);
  faulty->script(faults);
  BlockingDriver driver(*faulty, clock_, entropy_);
  const StoreSecret made = *driver.run(read_store_secret()).value();
  EXPECT_EQ(*BlockingDriver(*fresh, clock_).run(read_store_secret()).value(), made);
}

TEST_F(ForgedTickets, AStoreThatWasEmptiedGetsAnotherSecretAndItsNewTicketsAreGood) {
  const auto another = meter(*memory_);
  LocalClaims there(*another, "default", clock_, entropy_);
  Write gone = erase(keys::store_secret(), anything());
  ASSERT_TRUE(memory_->commit({&gone, 1}));
  const Claimed claim = as<Claimed>(there.take("job", {}));
  EXPECT_NE(*another->secret().get(), *faulty_->secret().get());
  as<Settled>(claims_.complete("job", claim.ticket, "r"));
  EXPECT_EQ(*another->secret().get(), *faulty_->secret().get());
}

TEST_F(ForgedTickets, ADamagedSecretIsReplacedAndANewerOneIsNot) {
  put_at(keys::store_secret(), "damaged");
  const auto another = meter(*memory_);
  LocalClaims there(*another, "default", clock_, entropy_);
  as<Claimed>(there.take("job", {}));
  EXPECT_TRUE(decode_secret(memory_->get(keys::store_secret()).value()->value).has_value());
  put_at(keys::store_secret(), RecordWriter(RecordKind::secret, 3).finish());
  const auto third = meter(*memory_);
  EXPECT_EQ(LocalClaims(*third, "default", clock_, entropy_).take("other", {}).error().code,
            ErrorCode::unsupported);
}

TEST_F(ForgedTickets, H46_ADamagedRecordIsListedAsSuchAndCanBeForgotten) {
  const Claimed before = claimed("job");
  claimed("sound");
  put_at(key("job"), "damaged");
  EXPECT_EQ(claims_.show("job").error().code, ErrorCode::corrupt);
  EXPECT_EQ(claims_.take("job", {}).error().code, ErrorCode::corrupt);
  const claims::ClaimPage all = claims_.list().value();
  EXPECT_EQ(all.claims.size(), 2U);
  const claims::ClaimPage damaged = claims_.list({.kind = ClaimState::Kind::corrupt}).value();
  ASSERT_EQ(damaged.claims.size(), 1U);
  EXPECT_EQ(damaged.claims[0].name, "job");
  EXPECT_EQ(claims_.list({.kind = ClaimState::Kind::busy}).value().claims.size(), 1U);
  EXPECT_TRUE(claims_.forget("job").value());
  EXPECT_TRUE(claims_.list({.kind = ClaimState::Kind::corrupt}).value().claims.empty());
  as<Fenced>(claims_.complete("job", before.ticket, "late"));
  EXPECT_GT(claimed("job").fence, before.fence);
}

TEST_F(ForgedTickets, ARecordOfANewerVersionIsNotForgotten) {
  put_at(key("job"), RecordWriter(RecordKind::claim, 9).finish());
  EXPECT_EQ(claims_.forget("job").error().code, ErrorCode::unsupported);
  EXPECT_EQ(claims_.list().error().code, ErrorCode::unsupported);
}

// As forged tickets left it behind.
TEST_F(ForgedTickets, H46_AFenceAtTheEndOfItsRangeIsDamageThatCanBeForgotten) {
  claimed("job", {.lease = 1s});
  claims::ClaimRecord record = claims::decode_claim(*memory_->get(key("job")).value()).value();
  record.fence = kLargest;
  put_at(key("job"), claims::encode(record));
  clock_.advance(1min);
  EXPECT_EQ(claims_.take("job", {}).error().code, ErrorCode::corrupt);
  EXPECT_EQ(claims_.list().value().claims.size(), 1U);
  EXPECT_TRUE(claims_.forget("job").value());
  const std::int64_t fence = claimed("job").fence;
  EXPECT_LT(fence, kLargest);
  EXPECT_GE(fence, clock_.now().time_since_epoch().count());
}

}  // namespace
}  // namespace once
