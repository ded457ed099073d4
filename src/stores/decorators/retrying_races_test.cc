// What happens between a sending and the next, and what holds for groups.
#include <functional>

#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"
#include "stores/decorators/decorator_fixture.h"

namespace once::testing {
namespace {

// Lets the test act as the rest of the world between two calls of the retrying store.
class Interrupted final : public Decorator<Store> {
 public:
  using Decorator::Decorator;

  std::function<void()> before_commit = [] {};
  std::function<void()> before_get = [] {};

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    before_get();
    return inner_.get(keys);
  }
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    before_commit();
    return inner_.commit(transaction);
  }
};

class RetryingRacesTest : public Decorated {
 protected:
  void next(std::initializer_list<Fault> faults) { faulty_->script(std::vector(faults)); }
  std::uint64_t sent() const { return metered_->snapshot().commit.calls; }

  // Runs `act` before the second sending.
  void before_resend(std::function<void()> act) {
    interrupted_.before_commit = [act, count = 0]() mutable {
      if (++count == 2) act();
    };
  }

  std::unique_ptr<FaultyStore> faulty_ =
      inject_faults(*memory_, {.latest_landing = 1'000'000}, clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*faulty_);
  Interrupted interrupted_{*metered_};
  std::unique_ptr<Store> store_ =
      retry(interrupted_, {.deadline = Duration(3'000)}, clock_, entropy_);
};

TEST_F(RetryingRacesTest, H7_LandedAndOverwrittenIsUnknownNotLost) {
  const Item before = others_put(key("k"), Bytes("before"));
  const Write ours = fresh(put(key("k"), Bytes("ours"), unchanged(before.version)));
  Item theirs;
  interrupted_.before_get = [&] {
    theirs = others_put(key("k"), Bytes("theirs"));
    interrupted_.before_get = [] {};
  };
  next({Fault::lose_reply});
  EXPECT_EQ(error_of(commit(*store_, ours)), ErrorCode::unknown);
  EXPECT_EQ(current(key("k")), theirs);
}

TEST_F(RetryingRacesTest, H7_TheFirstSendingThatLandsBeforeTheSecondIsFound) {
  const Item before = others_put(key("k"), Bytes("before"));
  const Write ours = fresh(put(key("k"), Bytes("ours"), unchanged(before.version)));
  before_resend([&] { faulty_->deliver_late(); });
  next({Fault::land_late});
  EXPECT_TRUE(is_committed(commit(*store_, ours)));
  EXPECT_EQ(sent(), 2U);
  EXPECT_EQ(current(key("k"))->version, ours.version);
}

TEST_F(RetryingRacesTest, H7_TheProofInALostAnswerCountsAlthoughItIsOverwrittenAtOnce) {
  const Item before = others_put(key("k"), Bytes("before"));
  const Write ours = fresh(put(key("k"), Bytes("ours"), unchanged(before.version)));
  before_resend([&] {
    faulty_->deliver_late();
    interrupted_.before_get = [&] { others_put(key("k"), Bytes("theirs")); };
  });
  next({Fault::land_late});
  EXPECT_TRUE(is_committed(commit(*store_, ours)));
}

TEST_F(RetryingRacesTest, H7_ASecondSendingThatLosesToAnotherIsUnknown) {
  const Item before = others_put(key("k"), Bytes("before"));
  const Write ours = fresh(put(key("k"), Bytes("ours"), unchanged(before.version)));
  before_resend([&] {
    faulty_->deliver_late();
    others_put(key("k"), Bytes("theirs"));
  });
  next({Fault::land_late});
  EXPECT_EQ(error_of(commit(*store_, ours)), ErrorCode::unknown);
}

TEST_F(RetryingRacesTest, H7_ASecondSendingThatLosesALastingKeyIsLost) {
  const Write ours = fresh(put(key("k"), Bytes("ours"), absent_lasting()));
  Item theirs;
  before_resend([&] { theirs = others_put(key("k"), Bytes("theirs"), absent()); });
  next({Fault::land_late});
  const auto answer = commit(*store_, ours);
  ASSERT_TRUE(is_lost(answer));
  EXPECT_EQ(std::get<Lost>(*answer).current, theirs);
  faulty_->deliver_late();
  EXPECT_EQ(current(key("k")), theirs);
}

class RetryingGroupsTest : public RetryingRacesTest {
 protected:
  std::vector<Result<CommitOutcome>> commit_each(const std::vector<Write>& writes) {
    std::vector<Transaction> group;
    for (const Write& write : writes) group.emplace_back(&write, 1);
    return store_->commit_each(group);
  }
};

TEST_F(RetryingGroupsTest, EachTransactionIsTreatedByItself) {
  const Item theirs = others_put(key("taken"), Bytes("theirs"));
  next({Fault::fail_before, Fault::fail_after, Fault::none, Fault::land_late});
  const auto answers =
      commit_each({fresh(put(key("a"), Bytes("a"), absent())), fresh(add(key("b"), 1)),
                   fresh(put(key("taken"), Bytes("ours"), absent())), fresh(add(key("c"), 1))});
  EXPECT_TRUE(is_committed(answers[0]));
  EXPECT_TRUE(is_committed(answers[1]));
  EXPECT_TRUE(is_lost(answers[2]));
  EXPECT_EQ(error_of(answers[3]), ErrorCode::unknown);
  faulty_->deliver_late();
  EXPECT_EQ(number(key("b")), 1);
  EXPECT_EQ(number(key("c")), 1);
}

TEST_F(RetryingGroupsTest, H26_WhatALaterOneHasOvertakenIsNotSentAgain) {
  const Write first = fresh(put(key("k"), Bytes("first"), anything()));
  const Write second = fresh(put(key("k"), Bytes("second"), anything()));
  const Write apart = fresh(put(key("apart"), Bytes("v"), anything()));
  next({Fault::fail_before, Fault::fail_before, Fault::none});
  const auto answers = commit_each({apart, first, second});
  EXPECT_TRUE(is_committed(answers[0]));
  EXPECT_EQ(error_of(answers[1]), ErrorCode::unavailable);
  EXPECT_TRUE(is_committed(answers[2]));
  EXPECT_EQ(current(key("k"))->version, second.version);
}

TEST_F(RetryingGroupsTest, H26_ThoseThatFailTogetherAreSentAgainInTheirOrder) {
  const Write first = fresh(put(key("k"), Bytes("first"), absent()));
  const Write second = fresh(put(key("k"), Bytes("second"), absent()));
  next({Fault::fail_before, Fault::fail_before});
  const auto answers = commit_each({first, second});
  EXPECT_TRUE(is_committed(answers[0]));
  EXPECT_TRUE(is_lost(answers[1]));
}

TEST_F(RetryingGroupsTest, H7_TwoLastingPutsInDoubtAreToldApart) {
  const Write first = fresh(put(key("k"), Bytes("same"), absent_lasting()));
  const Write second = fresh(put(key("k"), Bytes("same"), absent_lasting()));
  next({Fault::fail_after, Fault::fail_after});
  const auto answers = commit_each({first, second});
  EXPECT_TRUE(is_committed(answers[0]));
  ASSERT_TRUE(is_lost(answers[1]));
  EXPECT_EQ(std::get<Lost>(*answers[1]).current->version, first.version);
}

}  // namespace
}  // namespace once::testing
