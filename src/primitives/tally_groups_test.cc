// Merges that the batching driver joins, one round at a time.
#include <deque>

#include "drivers/rounds.h"
#include "once/local.h"
#include "once/metered_store.h"
#include "primitives/tallies_fixture.h"

namespace once {
namespace {

using enum TallyKind;

class TallyGroupsTest : public ::testing::Test {
 protected:
  static TallyRequest of(TallyKind kind, TallyInput input, std::string id = "") {
    return {.shape = {.kind = kind}, .input = std::move(input), .id = std::move(id)};
  }

  void admit(TallyRequest request) {
    auto& answer = answers_.emplace_back();
    Plan<TallyOutcome> plan = tallies::merge(kKey, std::move(request));
    auto task = std::make_unique<detail::PlanTask<TallyOutcome>>(
        *store_, entropy_, std::move(plan),
        [&answer](Result<TallyOutcome> given) { answer = std::move(given); });
    detail::Rounds::begin(*task);
    rounds_.admit(std::move(task));
  }

  // Runs the admitted merges; returns how many commits they took beside the tally's first.
  std::uint64_t commits() {
    while (rounds_.next_due() <= clock_.now()) rounds_.run_round();
    return store_->snapshot().commit_each.committed - 1;
  }

  template <class T>
  T value_at(std::size_t place) {
    return std::get<T>(*std::get<Tallied>(answers_[place]->value()).value);
  }

  const Key kKey = tallies::tally_key("test", "hot");
  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<Store> memory_ = testing::store_under_test(clock_);
  std::unique_ptr<MeteredStore> store_ = meter(*memory_);
  detail::Rounds rounds_{*store_, clock_, entropy_, 100};
  LocalTallies tallies_{*store_, "test", clock_, entropy_};
  std::deque<std::optional<Result<TallyOutcome>>> answers_;
};

TEST_F(TallyGroupsTest, AllItemsArriveAndEveryoneIsToldTheWholeTally) {
  admit(of(distinct, std::vector<CountedItem>{{"item-0"}}, "first"));
  EXPECT_EQ(commits(), 1U);
  for (int i = 0; i < 20; ++i) {
    const std::vector<CountedItem> item = {{"item-" + std::to_string(i % 15)}};
    admit(of(distinct, item, i % 2 == 0 ? "" : "id-" + std::to_string(i)));
  }
  EXPECT_EQ(commits(), 2U);
  for (std::size_t i = 1; i <= 20; ++i) EXPECT_EQ(value_at<std::int64_t>(i), 15);
}

TEST_F(TallyGroupsTest, AnIdThatIsKnownIsNotMergedWithTheRest) {
  admit(of(top, std::vector<CountedItem>{{"a", 5}}, "x"));
  commits();
  admit(of(top, std::vector<CountedItem>{{"a", 10}}));
  admit(of(top, std::vector<CountedItem>{{"a", 5}}, "x"));
  admit(of(top, std::vector<CountedItem>{{"a", 100}}));
  commits();
  EXPECT_TRUE(std::get<Tallied>(answers_[2]->value()).replayed);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(value_at<std::vector<HeavyItem>>(i), (std::vector<HeavyItem>{{"a", 115, 0}}));
  }
}

TEST_F(TallyGroupsTest, H18_AMergeThatFailsHarmsNobodyElse) {
  for (const double number : {1e308, 1e308, -1e308}) admit(of(real, number));
  EXPECT_EQ(commits(), 1U);
  EXPECT_EQ(value_at<double>(0), 0.0);
  EXPECT_EQ(answers_[1]->error().code, ErrorCode::invalid);
  EXPECT_EQ(value_at<double>(2), 0.0);
}

TEST_F(TallyGroupsTest, TheLatestChangesWordOnRetentionCounts) {
  for (const int seconds : {100, 1, 10}) {
    TallyRequest request = of(distinct, std::vector<CountedItem>{{"a"}});
    request.ttl = std::chrono::seconds(seconds);
    admit(std::move(request));
  }
  commits();
  EXPECT_EQ(memory_->get(kKey)->value().expiry, clock_.now() + std::chrono::seconds(10));
}

}  // namespace
}  // namespace once
