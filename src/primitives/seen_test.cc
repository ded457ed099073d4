#include <algorithm>

#include "once/claims.h"
#include "once/local.h"
#include "once/memory_store.h"
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

TEST_F(SeenTest, ASeenIdIsADoneClaimWithoutAResult) {
  seen({"a"});
  EXPECT_EQ(as<Done>(claims_.take("a", {})).result, "");
  EXPECT_EQ(claims_.show("a")->value().kind, ClaimState::Kind::done);
  EXPECT_TRUE(claims_.forget("a").value());
  EXPECT_EQ(seen({"a"}), Firsts({true}));
}

TEST_F(SeenTest, AClaimedIdIsNotFirst) {
  const Claimed claim = claimed("a");
  EXPECT_EQ(seen({"a"}), Firsts({false}));
  as<Settled>(claims_.release("a", claim.ticket, "", Release::retryable));
  EXPECT_EQ(seen({"a"}), Firsts({true}));
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
