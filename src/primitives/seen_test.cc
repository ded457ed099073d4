#include <algorithm>

#include "once/claims.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "primitives/claim_record.h"
#include "primitives/claims_fixture.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<std::string>;
using Firsts = std::vector<bool>;

class SeenTest : public ClaimsFixture {
 protected:
  Firsts seen(const Ids& ids, std::string request = "", Duration ttl = 1h) {
    const Result<Firsts> first = claims_.seen(ids, ttl, std::move(request));
    EXPECT_TRUE(first.has_value());
    return first.value_or(Firsts());
  }
};

TEST_F(SeenTest, AnIdIsFirstOnceInOneCall) {
  EXPECT_EQ(seen({"a", "b"}), Firsts({true, true}));
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(seen({"b", "c", "a"}), Firsts({false, true, false}));
  EXPECT_EQ(calls(), 1U);
}

TEST_F(SeenTest, AnIdTwiceInOneCallIsFirstOnce) {
  EXPECT_EQ(seen({"a", "b", "a"}), Firsts({true, true, false}));
  EXPECT_EQ(seen({"c", "c"}, "r"), Firsts({true, false}));
  EXPECT_EQ(seen({"c", "c"}, "r"), Firsts({true, false}));
}

TEST_F(SeenTest, AnIdIsForgottenAfterItsTtlAndThenFirstAgain) {
  EXPECT_EQ(seen({"a"}, "", 10s), Firsts({true}));
  clock_.advance(9'999ms);
  EXPECT_EQ(seen({"a"}), Firsts({false}));
  clock_.advance(1ms);
  EXPECT_EQ(seen({"a"}), Firsts({true}));
}

TEST_F(SeenTest, H11_ARepeatOfTheSameRequestGetsTheSameAnswer) {
  EXPECT_EQ(seen({"a", "b"}, "r1"), Firsts({true, true}));
  EXPECT_EQ(seen({"a", "b"}, "r1"), Firsts({true, true}));
  EXPECT_EQ(seen({"a", "b", "c"}, "r2"), Firsts({false, false, true}));
  EXPECT_EQ(seen({"a", "b", "c"}, "r2"), Firsts({false, false, true}));
}

TEST_F(SeenTest, H11_ALostReplyLosesNoEvent) {
  meet({Fault::fail_after, Fault::none, Fault::land_late});
  EXPECT_EQ(seen({"a", "b", "c"}), Firsts({true, true, true}));
  faulty_->deliver_late();
  EXPECT_EQ(seen({"a", "b", "c"}), Firsts({false, false, false}));
}

TEST_F(SeenTest, H11_AnIdTwiceInOneCallIsFirstOnceWhateverBecameOfTheReplies) {
  int call = 0;
  for (const Fault one : {Fault::none, Fault::fail_after, Fault::land_late}) {
    for (const Fault other : {Fault::none, Fault::fail_after, Fault::land_late}) {
      const std::string id = std::to_string(++call);
      meet({one, other});
      const Firsts first = seen({id, id});
      faulty_->deliver_late();
      EXPECT_EQ(std::ranges::count(first, true), 1) << id;
      EXPECT_EQ(seen({id}), Firsts({false})) << id;
    }
  }
}

TEST_F(SeenTest, ASeenIdAndAClaimOfItsNameKnowNothingOfEachOther) {
  seen({"a"});
  EXPECT_FALSE(claims_.show("a")->has_value());
  EXPECT_FALSE(claims_.forget("a").value());
  EXPECT_TRUE(claims_.list()->claims.empty());
  const Claimed claim = claimed("a");
  EXPECT_EQ(claim.attempt, 1);
  EXPECT_EQ(seen({"a"}), Firsts({false}));
  claimed("b");
  EXPECT_EQ(seen({"b"}), Firsts({true})) << "a busy claim is not a seen id";
  EXPECT_TRUE(claims_.forget_seen("b").value());
  as<Busy>(claims_.take("b", {}));
}

TEST_F(SeenTest, AMarkTellsWhenItWasFirstSeenAndMayBeForgotten) {
  const Time start = clock_.now();
  seen({"a"});
  clock_.advance(1s);
  const claims::Seen both = claims_.mark(Ids{"a", "b", "b"}, 1h).value();
  EXPECT_EQ(both.first, Firsts({false, true, false}));
  EXPECT_EQ(both.at, (std::vector<Time>{start, start + 1s, start + 1s}));
  EXPECT_EQ(claims_.show_seen("a").value()->at, start);
  EXPECT_EQ(claims_.show_seen("b").value()->until, start + 1s + 1h);
  EXPECT_FALSE(claims_.show_seen("c").value().has_value());
  EXPECT_TRUE(claims_.forget_seen("a").value());
  EXPECT_FALSE(claims_.forget_seen("a").value());
  EXPECT_FALSE(claims_.show_seen("a").value().has_value());
  EXPECT_EQ(seen({"a"}), Firsts({true}));
}

TEST_F(SeenTest, WhatEndedIsGoneWithinTenMinutes) {
  const Ids ids = {"a", "b"};
  ASSERT_TRUE(claims_.seen(ids, 1s).has_value());
  ASSERT_TRUE(claims_.seen(Ids{"c"}, 1s, "request").has_value());
  const Claimed done = claimed("done", {.ttl = 1s});
  as<Settled>(claims_.complete("done", done.ticket, "42"));
  clock_.advance(1s + 5min);
  while (!memory_->sweep(1'000).value().finished) {
  }
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

// A store of an earlier version: marks are where claims are, and its secret says so.
class OldMarksTest : public SeenTest {
 protected:
  OldMarksTest() {
    StoreSecret secret = *faulty_->secret().get();
    secret.old_marks = true;
    faulty_->secret().set(secret);
    mark("plain", "");
    mark("asked", "r1");
  }

  void mark(const std::string& id, const std::string& request) {
    claims::ClaimRecord record = claims::mark_at(clock_.now(), 2h);
    record.request = request;
    Value value = request.empty() ? Value(record.ttl.count()) : claims::encode(record);
    Write write = put(keys::claim("default", id), std::move(value), absent(),
                      later(record.kept_until, claims::kFenceMemory));
    write.version = {entropy_.random()};
    ASSERT_TRUE(memory_->commit({&write, 1}).has_value());
  }
};

TEST_F(OldMarksTest, WhatAnEarlierVersionMarkedIsStillSeen) {
  const Time then = clock_.now();
  clock_.advance(1h);
  const claims::Seen seen_before = claims_.mark(Ids{"plain", "asked", "new"}, 1h).value();
  EXPECT_EQ(seen_before.first, Firsts({false, false, true}));
  EXPECT_EQ(seen_before.at, (std::vector<Time>{then, then, then + 1h}));
  EXPECT_EQ(seen({"asked"}, "r1"), Firsts({true})) << "a repeat gets the same answer";
  EXPECT_EQ(claims_.show_seen("plain").value()->until, then + 2h);
  clock_.advance(1h);
  EXPECT_EQ(seen({"plain"}), Firsts({true}));
}

TEST_F(OldMarksTest, AnOldMarkIsNoClaimAndAClaimDoesNotErase) {
  EXPECT_FALSE(claims_.show("plain")->has_value());
  EXPECT_TRUE(claims_.list()->claims.empty());
  EXPECT_FALSE(claims_.forget("plain").value());
  const Claimed claim = claimed("plain");
  claimed("asked");
  EXPECT_EQ(seen({"plain"}), Firsts({false}));
  EXPECT_EQ(seen({"asked"}, "r1"), Firsts({true}));
  EXPECT_EQ(seen({"asked"}), Firsts({false}));
  as<Settled>(claims_.complete("plain", claim.ticket, "42"));
}

TEST_F(OldMarksTest, AnOldMarkMayBeForgotten) {
  EXPECT_TRUE(claims_.forget_seen("plain").value());
  EXPECT_FALSE(claims_.show_seen("plain").value().has_value());
  EXPECT_EQ(seen({"plain"}), Firsts({true}));
  claimed("asked");
  EXPECT_TRUE(claims_.forget_seen("asked").value());
  as<Busy>(claims_.take("asked", {}));
}

TEST_F(SeenTest, AStoreThatHadClaimsBeforeItsSecretMayHaveOldMarks) {
  EXPECT_FALSE(faulty_->secret().get()->old_marks);
  const auto old = testing::store_under_test(clock_);
  Write write = put(keys::claim("default", "a"), std::int64_t{1}, absent(), clock_.now() + 2h);
  write.version = {1};
  ASSERT_TRUE(old->commit({&write, 1}).has_value());
  const auto secret = BlockingDriver(*old, clock_, entropy_).run(read_store_secret());
  EXPECT_TRUE(secret.value()->old_marks);
}

TEST_F(SeenTest, H17_AFloodOfSeenIdsEvictsNoClaimThatIsHeld) {
  const auto small = open_memory({.max_bytes = 64U << 10}, clock_);
  LocalClaims claims(*small, "default", clock_, entropy_);
  const Claimed claim = as<Claimed>(claims.take("job", {.lease = 1h}));
  for (int i = 0; i < 5'000; ++i) {
    const Ids id = {"id-" + std::to_string(i)};
    ASSERT_EQ(claims.seen(id, 1h).value(), Firsts({true}));
  }
  EXPECT_GT(small->usage().evicted, 0U);
  as<Busy>(claims.take("job", {}));
  as<Settled>(claims.complete("job", claim.ticket, "42"));
}

TEST_F(SeenTest, BadInputMarksNothing) {
  EXPECT_EQ(claims_.seen(Ids{"a", "\n"}, 1h).error().code, ErrorCode::invalid);
  EXPECT_EQ(claims_.seen(Ids(10'001, "a"), 1h).error().code, ErrorCode::invalid);
  EXPECT_EQ(claims_.seen(Ids{"a"}, -1h).error().code, ErrorCode::invalid);
  EXPECT_EQ(claims_.seen(Ids{"a"}, 1h, std::string(513, 'r')).error().code, ErrorCode::invalid);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
  EXPECT_EQ(seen({}), Firsts());
}

TEST_F(SeenTest, TenThousandIdsAreOneCall) {
  // A server may need longer for that many ids than a call may take.
  const std::size_t count = testing::as_many_as(10'000, 500);
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("id-" + std::to_string(i));
  EXPECT_EQ(seen(ids), Firsts(count, true));
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(seen(ids), Firsts(count, false));
}

}  // namespace
}  // namespace once
