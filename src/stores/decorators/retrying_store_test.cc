#include "once/retrying_store.h"

#include "stores/decorators/decorator_fixture.h"

namespace once::testing {
namespace {

// retrying > metered > faulty > memory: `metered_` counts what is sent.
class RetryingStoreTest : public Decorated {
 protected:
  void next(std::initializer_list<Fault> faults) { faulty_->script(std::vector(faults)); }
  std::uint64_t sent() const { return metered_->snapshot().commit.calls; }
  std::uint64_t read_back() const { return metered_->snapshot().get.calls; }

  static constexpr RetryOptions kOptions = {.deadline = Duration(3'000)};

  // A late commit stays under way until the test delivers it.
  std::unique_ptr<FaultyStore> faulty_ =
      inject_faults(*memory_, {.timeout = Duration(100), .latest_landing = 1'000'000}, clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*faulty_);
  std::unique_ptr<Store> store_ = retry(*metered_, kOptions, clock_, entropy_);
};

TEST_F(RetryingStoreTest, UnavailableIsSentAgainAddsIncluded) {
  next({Fault::fail_before, Fault::fail_before, Fault::none});
  EXPECT_TRUE(is_committed(commit(*store_, fresh(add(key("k"), 1)))));
  EXPECT_EQ(number(key("k")), 1);
  EXPECT_EQ(sent(), 3U);
  EXPECT_EQ(read_back(), 0U);
}

TEST_F(RetryingStoreTest, ReadsAreRepeated) {
  const Item item = others_put(key("k"), Bytes("v"));
  next({Fault::fail_before, Fault::fail_after});
  EXPECT_EQ(*store_->get(key("k")), item);
  next({Fault::fail_before});
  EXPECT_EQ(store_->scan({.partition = key("k").partition})->entries.size(), 1U);
  next({Fault::fail_before});
  EXPECT_EQ(store_->list({})->items.size(), 1U);
  next({Fault::fail_before});
  EXPECT_TRUE(store_->sweep(10).has_value());
}

TEST_F(RetryingStoreTest, TheDeadlineEndsItAndTheErrorIsTheStoresOwn) {
  const std::vector<Fault> always(10'000, Fault::fail_before);
  faulty_->script(always);
  const Time before = clock_.now();
  EXPECT_EQ(error_of(commit(*store_, fresh(add(key("k"), 1)))), ErrorCode::unavailable);
  EXPECT_LE(clock_.now(), before + kOptions.deadline);
  EXPECT_GE(sent(), 3U);
  const Time between = clock_.now();
  EXPECT_EQ(error_of(store_->get(key("k"))), ErrorCode::unavailable);
  EXPECT_LE(clock_.now(), between + kOptions.deadline);
}

TEST_F(RetryingStoreTest, NothingIsSentAfterTheAttemptsLifeWhateverTheDeadline) {
  const std::vector<Fault> always(10'000, Fault::fail_before);
  faulty_->script(always);
  const auto patient = retry(*metered_, {.deadline = 3 * kAttemptLife}, clock_, entropy_);
  const Time before = clock_.now();
  EXPECT_EQ(error_of(patient->get(key("k"))), ErrorCode::unavailable);
  EXPECT_LE(clock_.now(), before + kAttemptLife);
}

TEST_F(RetryingStoreTest, OtherErrorsArePassedOnAtOnce) {
  others_put(key("k"), Bytes("text"));
  EXPECT_EQ(error_of(commit(*store_, fresh(add(key("k"), 1)))), ErrorCode::invalid);
  EXPECT_EQ(sent(), 1U);
}

TEST_F(RetryingStoreTest, H7_LandedWithItsReplyLostIsCommitted) {
  next({Fault::lose_reply});
  EXPECT_TRUE(is_committed(commit(*store_, fresh(put(key("k"), Bytes("v"), absent())))));
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(read_back(), 1U);
}

TEST_F(RetryingStoreTest, H7_AnAddFoundByItsVersionTellsItsNumber) {
  others_put(key("k"), std::int64_t{41});
  next({Fault::fail_after});
  const auto answer = commit(*store_, fresh(add(key("k"), 1)));
  ASSERT_TRUE(is_committed(answer));
  EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), 42);
}

TEST_F(RetryingStoreTest, H7_AnotherItemOnALastingKeyIsALoss) {
  const Item theirs = others_put(key("k"), Bytes("theirs"));
  next({Fault::lose_reply});
  const auto answer = commit(*store_, fresh(put(key("k"), Bytes("ours"), absent_lasting())));
  ASSERT_TRUE(is_lost(answer));
  EXPECT_EQ(std::get<Lost>(*answer).current, theirs);
  EXPECT_EQ(sent(), 1U);
}

TEST_F(RetryingStoreTest, H7_StillUnderWayIsSentAgainWhereThatIsSafeAndTheLateOneLoses) {
  const Item before = others_put(key("k"), Bytes("before"));
  const Write ours = fresh(put(key("k"), Bytes("ours"), unchanged(before.version)));
  next({Fault::land_late});
  EXPECT_TRUE(is_committed(commit(*store_, ours)));
  EXPECT_EQ(sent(), 2U);
  const Item next_one = others_put(key("k"), Bytes("next"));
  faulty_->deliver_late();
  EXPECT_EQ(current(key("k")), next_one);
}

TEST_F(RetryingStoreTest, H7_ALastingPutStillUnderWayIsSentAgain) {
  const Write ours = fresh(put(key("k"), Bytes("ours"), absent_lasting()));
  next({Fault::land_late});
  EXPECT_TRUE(is_committed(commit(*store_, ours)));
  faulty_->deliver_late();
  EXPECT_EQ(current(key("k"))->version, ours.version);
}

TEST_F(RetryingStoreTest, H7_WhatMayLandTwiceIsNotSentAgainAndStaysUnknown) {
  for (const Guard guard : {anything(), absent()}) {
    next({Fault::land_late});
    const std::uint64_t before = sent();
    EXPECT_EQ(error_of(commit(*store_, fresh(put(key("k"), Bytes("v"), guard)))),
              ErrorCode::unknown);
    EXPECT_EQ(sent(), before + 1);
  }
}

TEST_F(RetryingStoreTest, H7_AnEraseFoundGoneStaysUnknown) {
  const Item before = others_put(key("k"), Bytes("before"));
  next({Fault::fail_after});
  EXPECT_EQ(error_of(commit(*store_, erase(key("k"), unchanged(before.version)))),
            ErrorCode::unknown);
  EXPECT_EQ(sent(), 2U);
  EXPECT_EQ(current(key("k")), std::nullopt);
}

TEST_F(RetryingStoreTest, AnAddIsNeverSentTwiceAfterAnUnknownOutcome) {
  for (const Fault fault : {Fault::fail_after, Fault::lose_reply, Fault::land_late}) {
    const std::uint64_t before = sent();
    next({fault});
    commit(*store_, fresh(add(key("k"), 1)));
    EXPECT_EQ(sent(), before + 1);
  }
  faulty_->deliver_late();
  EXPECT_EQ(number(key("k")), 3);
}

TEST_F(RetryingStoreTest, ALateAddIsUnknownAndNotDoubled) {
  next({Fault::land_late});
  EXPECT_EQ(error_of(commit(*store_, fresh(add(key("k"), 5)))), ErrorCode::unknown);
  EXPECT_EQ(number(key("k")), 0);
  faulty_->deliver_late();
  EXPECT_EQ(number(key("k")), 5);
}

TEST_F(RetryingStoreTest, AnAddInDoubtIsNotSentAgainAlsoAfterFailuresBeforeAndAmongOthers) {
  next({Fault::fail_before, Fault::land_late, Fault::fail_before});
  const std::vector<Write> both = {fresh(put(key("p"), Bytes("v"), absent_lasting())),
                                   fresh(add(key("k"), 1))};
  EXPECT_EQ(error_of(store_->commit(both)), ErrorCode::unknown);
  EXPECT_EQ(sent(), 2U);
  EXPECT_EQ(read_back(), 2U);
  faulty_->deliver_late();
  EXPECT_EQ(number(key("k")), 1);
}

TEST_F(RetryingStoreTest, AFailedReadBackIsRepeated) {
  next({Fault::fail_after, Fault::fail_before, Fault::fail_before, Fault::none});
  EXPECT_TRUE(is_committed(commit(*store_, fresh(put(key("k"), Bytes("v"), absent())))));
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(read_back(), 3U);
}

TEST_F(RetryingStoreTest, ACommitInDoubtIsUnknownWhenTheDeadlineComes) {
  std::vector<Fault> never_seen(10'000, Fault::fail_before);
  never_seen[0] = Fault::fail_after;
  faulty_->script(never_seen);
  const Time before = clock_.now();
  EXPECT_EQ(error_of(commit(*store_, fresh(put(key("k"), Bytes("v"), absent_lasting())))),
            ErrorCode::unknown);
  EXPECT_LE(clock_.now(), before + kOptions.deadline);
}

}  // namespace
}  // namespace once::testing
