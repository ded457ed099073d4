// Many writers of one document, in virtual time.
#include <queue>

#include "drivers/perform.h"
#include "primitives/document_fixture.h"

namespace once::documents {
namespace {

constexpr int kWriters = 30;
constexpr Duration kGetTakes{20};
constexpr Duration kCommitTakes{60};
constexpr Duration kBase{100};  // Of pauses after a conflict.

// Instances of a program that share only a store, all started in the same millisecond. A step takes
// effect at its end.
class Instances {
 public:
  explicit Instances(std::uint64_t seed) : entropy_(seed) {}

  Store& store() { return *store_; }
  Time now() { return clock_.now(); }

  void add(Plan<UpdateOutcome> plan) {
    runs_.push_back(std::make_unique<Run>(*this, std::move(plan)));
  }

  // When the last instance ended.
  Duration run() {
    const Time start = clock_.now();
    for (const auto& run : runs_) go_on(*run);
    while (!due_.empty()) {
      const Due next = due_.top();
      due_.pop();
      clock_.advance(std::max(next.when - clock_.now(), Duration::zero()));
      detail::perform(next.run->step, *store_, entropy_);
      if (std::holds_alternative<detail::CommitStep*>(next.run->step)) ++commits;
      go_on(*next.run);
    }
    return clock_.now() - start;
  }

  // How many instances were told that their change was made.
  int succeeded() {
    int count = 0;
    for (const auto& run : runs_) {
      const Result<UpdateOutcome> outcome = detail::take_result(run->plan);
      if (outcome && std::holds_alternative<Updated>(*outcome)) ++count;
    }
    return count;
  }

  int commits = 0;

 private:
  struct Run final : detail::PlanState {
    Run(Instances& all, Plan<UpdateOutcome> wanted)
        : PlanState(all.store_->limits(), all.entropy_, all.store_->secret()),
          owner(all),
          plan(std::move(wanted)) {
      detail::start(*this, plan);
    }
    Time now() override { return owner.clock_.now(); }

    Instances& owner;
    Plan<UpdateOutcome> plan;
  };
  struct Due {
    Time when;
    int order;
    Run* run;
    bool operator<(const Due& other) const {
      return std::pair(when, order) > std::pair(other.when, other.order);
    }
  };

  void go_on(Run& run) {
    detail::go_on(run);
    if (run.leaf == nullptr) return;
    Duration takes = kGetTakes;
    if (auto* const* pause = std::get_if<detail::PauseStep*>(&run.step)) takes = (*pause)->length;
    if (std::holds_alternative<detail::CommitStep*>(run.step)) takes = kCommitTakes;
    due_.push({clock_.now() + takes, order_++, &run});
  }

  testing::ManualClock clock_;
  Entropy entropy_;
  std::unique_ptr<Store> store_ = open_memory({}, clock_);
  std::vector<std::unique_ptr<Run>> runs_;
  std::priority_queue<Due> due_;
  int order_ = 0;
};

// The policy of docs/recipes.md#3-etag-documents as written: 100, 200, 400 ms for every writer.
Plan<UpdateOutcome> append_without_jitter(std::string word) {
  const Identity nameless;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::optional<Document> document = co_await documents::get(kDoc);
    const Condition condition =
        document ? Condition(IfMatch{document->etag}) : Condition(IfAbsent{});
    const Content content = text((document ? document->content.bytes : "") + word);
    const WriteOutcome outcome = co_await put(kDoc, content, condition, nameless);
    if (const Updated* updated = std::get_if<Updated>(&outcome)) co_return *updated;
    if (attempt < 3) co_await pause(Duration(100 << attempt));
  }
  co_return Contended{};
}

// Thirty writers; each knows only its own conflicts.
std::vector<std::unique_ptr<Contention>> add_writers(Instances& instances) {
  std::vector<std::unique_ptr<Contention>> apart;
  for (int i = 0; i < kWriters; ++i) {
    Contention& own = *apart.emplace_back(std::make_unique<Contention>());
    instances.add(update(kDoc, append("x"), own));
  }
  return apart;
}

TEST(SeparateInstances, ThirtyThatStartTogetherAllSucceedWithinTenSeconds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Instances instances(seed);
    const auto apart = add_writers(instances);
    EXPECT_LT(instances.run(), std::chrono::seconds(10)) << "seed " << seed;
    ASSERT_EQ(instances.succeeded(), kWriters) << "seed " << seed;
  }
}

TEST(SeparateInstances, InStepWithoutJitterMostFail) {
  Instances instances(1);
  for (int i = 0; i < kWriters; ++i) instances.add(append_without_jitter("x"));
  instances.run();
  EXPECT_EQ(instances.succeeded(), 4);
}

TEST(SeparateInstances, EachIsBackAtTheBaseDelayAfterThreeWritesOfItsOwn) {
  Instances instances(1);
  const auto apart = add_writers(instances);
  instances.run();
  ASSERT_EQ(instances.succeeded(), kWriters);
  const Time now = instances.now();
  BlockingDriver driver(instances.store());
  int slowed = 0;
  for (const auto& own : apart) {
    slowed += own->bound(kDoc, now) > kBase ? 1 : 0;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.run(update(kDoc, append("y"), *own)));
    EXPECT_EQ(own->bound(kDoc, now), kBase);
  }
  EXPECT_GT(slowed, 0);
}

TEST(Contention, ALoneWriterIsBackAtTheBaseDelayAfterwards) {
  Instances instances(5);
  Contention shared;
  for (int i = 0; i < kWriters; ++i) instances.add(update(kDoc, append("x"), shared));
  instances.run();
  ASSERT_EQ(instances.succeeded(), kWriters);
  const Time conflict = instances.now();
  shared.conflicted(kDoc, 5, conflict);
  EXPECT_GT(shared.bound(kDoc, conflict), kBase);
  BlockingDriver driver(instances.store());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.run(update(kDoc, append("y"), shared)));
  EXPECT_EQ(shared.bound(kDoc, conflict), kBase);
}

TEST(Contention, RisesWithConflictsInARowAndIsForgottenWhenQuiet) {
  Contention contention;
  const Time now = Time(std::chrono::days(20'000));
  EXPECT_EQ(contention.conflicted(kDoc, 1, now), Duration(100));
  EXPECT_EQ(contention.conflicted(kDoc, 2, now), Duration(200));
  EXPECT_EQ(contention.conflicted(kDoc, 1, now), Duration(200));
  EXPECT_EQ(contention.conflicted(kDoc, 50, now), Duration(1'000));
  EXPECT_EQ(contention.bound(kDoc, now), Duration(1'000));
  EXPECT_EQ(contention.bound(kDoc, now + std::chrono::seconds(10)), Duration(100));
  EXPECT_EQ(contention.conflicted(kDoc, 1, now + std::chrono::seconds(10)), Duration(100));
}

TEST(Contention, KeepsABoundedNumberOfDocuments) {
  Contention contention;
  const Time now = Time(std::chrono::days(20'000));
  int remembered = 0;
  for (int i = 0; i < 5'000; ++i) {
    contention.conflicted(document_key("test", std::to_string(i)), 5, now);
  }
  for (int i = 0; i < 5'000; ++i) {
    const Key key = document_key("test", std::to_string(i));
    remembered += contention.bound(key, now) > Duration(100) ? 1 : 0;
  }
  EXPECT_EQ(remembered, 1'024);
}

}  // namespace
}  // namespace once::documents
