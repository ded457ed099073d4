// Updates that a driver combines.
#include <latch>
#include <map>

#include "drivers/rounds.h"
#include "once/batching_driver.h"
#include "primitives/document_fixture.h"
#include "testing/gated_store.h"

namespace once::documents {
namespace {

const Key kDoc = document_key("test", "doc");

std::string word(int i) { return "<" + std::to_string(i) + ">"; }

int count_of(const Bytes& bytes, const std::string& wanted) {
  int count = 0;
  for (auto at = bytes.find(wanted); at != Bytes::npos; at = bytes.find(wanted, at + 1)) ++count;
  return count;
}

Bytes bytes_in(Store& store) {
  BlockingDriver driver(store);
  const auto document = driver.run(documents::get(kDoc));
  return document->has_value() ? (*document)->content.bytes : "";
}

class CombinedUpdates : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Stores, CombinedUpdates, ::testing::Values(100, 1), name_of_store);

// The gate stands for a slow commit: whoever comes while one is under way waits together.
TEST_P(CombinedUpdates, ThirtyThatStartTogetherNeedAtMostFiveCommits) {
  const auto memory = open_memory();
  testing::LimitedStore limited(*memory, GetParam());
  const auto metered = meter(limited);
  testing::GatedStore store(*metered);
  Contention contention;
  BatchingDriver driver(store);
  std::latch answered(30);
  const auto done = [&](const Result<UpdateOutcome>& outcome) {
    EXPECT_TRUE(outcome && std::holds_alternative<Updated>(*outcome));
    answered.count_down();
  };
  store.close();
  for (int i = 0; i < 30; ++i) {
    auto plan = update(kDoc, append(word(i), "id-" + std::to_string(i)), contention);
    ASSERT_TRUE(driver.start<UpdateOutcome>(std::move(plan), done));
    if (i == 0) store.await_visitor();
  }
  store.open();
  answered.wait();
  EXPECT_LE(metered->snapshot().commit_each.committed, 5U);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(count_of(bytes_in(*memory), word(i)), 1);
}

// Rounds by hand: what several callers of one process meet on a store that fails.
class Process {
 public:
  Process(Store& store, testing::ManualClock& clock, Entropy& entropy)
      : store_(store), clock_(clock), entropy_(entropy), rounds_(store, clock, entropy, 1'024) {}

  void start(Plan<UpdateOutcome> plan, std::function<void(Result<UpdateOutcome>)> done) {
    auto task = std::make_unique<detail::PlanTask<UpdateOutcome>>(store_, entropy_, std::move(plan),
                                                                  std::move(done));
    task->deadline = later(clock_.now(), kAttemptLife);
    rounds_.admit(std::move(task));
  }

  bool busy() const { return rounds_.under_way() > 0; }
  void round() {
    if (rounds_.next_due() <= clock_.now()) rounds_.run_round();
  }

 private:
  Store& store_;
  testing::ManualClock& clock_;
  Entropy& entropy_;
  detail::Rounds rounds_;
};

class FailingGroups : public DocumentsTest {
 protected:
  std::optional<Result<UpdateOutcome>>& start(UpdateRequest request) {
    auto& answer = answers_.emplace_back(std::make_unique<Answer>());
    process_.start(update(kDoc, std::move(request), contention_),
                   [&place = *answer](Result<UpdateOutcome> given) { place = std::move(given); });
    return *answer;
  }

  void run() {
    while (process_.busy()) {
      process_.round();
      clock_.advance(Duration(1));
    }
  }

  using Answer = std::optional<Result<UpdateOutcome>>;
  Contention contention_;
  std::vector<std::unique_ptr<Answer>> answers_;
  Process process_{*faulty_, clock_, entropy_};
};
INSTANTIATE_TEST_SUITE_P(Stores, FailingGroups, ::testing::Values(100, 1), name_of_store);

TEST_P(FailingGroups, H18_EveryCallerGetsTheGroupsFinalBytesAndEtag) {
  for (int i = 0; i < 3; ++i) start(append(word(i)));
  run();
  for (const auto& answer : answers_) {
    EXPECT_EQ(made(**answer).document, *documents_.get("doc"));
    EXPECT_EQ(made(**answer).document->content, text("<0><1><2>"));
  }
}

TEST_P(FailingGroups, H18_AChangeThatFailsHarmsNobodyElse) {
  start(append("a"));
  auto& bad = start({[](const auto&) -> Result<Modified> {
                       return failure(ErrorCode::invalid, "does not apply");
                     },
                     {},
                     {}});
  start(append("b"));
  run();
  EXPECT_EQ(bad->error().code, ErrorCode::invalid);
  EXPECT_EQ(bytes_now(), "ab");
}

TEST_P(FailingGroups, H19_TheSameIdTwiceInOneGroupTakesEffectOnce) {
  auto& first = start(append("a", "id"));
  auto& second = start(append("a", "id"));
  auto& other = start(append("b", "id"));
  run();
  EXPECT_FALSE(made(*first).replayed);
  EXPECT_TRUE(made(*second).replayed);
  EXPECT_TRUE(std::holds_alternative<Mismatch>(other->value()));
  EXPECT_EQ(bytes_now(), "a");
}

TEST_P(FailingGroups, H7_AGroupWhoseReplyWasLostIsFoundByAllButItsFirst) {
  for (int i = 0; i < 5; ++i) start(append(word(i)));
  script({Fault::none, Fault::fail_after});
  run();
  EXPECT_EQ(bytes_now(), "<0><1><2><3><4>");
  // Only the first did not see the group's own version when it was applied; it must not guess.
  EXPECT_EQ(answers_[0]->value_or(failure(ErrorCode::invalid, "")).error().code,
            ErrorCode::unknown);
  for (std::size_t i = 1; i < answers_.size(); ++i) EXPECT_TRUE(answers_[i]->value().has_value());
}

// What became of each word, by what its caller was told.
struct Told {
  int updated = 0;
  int unknown = 0;
};

// Two processes, each with several callers at a time, on one store that fails in every way.
std::string run_processes(std::uint64_t seed, std::size_t writes_per_commit, bool ids) {
  testing::ManualClock clock;
  Entropy entropy(seed);
  const auto memory = open_memory({}, clock);
  testing::LimitedStore limited(*memory, writes_per_commit);
  const FaultPlan faults{.seed = seed, .fail_before = 0.05, .fail_after = 0.1, .land_late = 0.1};
  const auto store = inject_faults(limited, faults, clock);
  Contention contention;
  std::map<std::string, Told> told;
  Process processes[] = {{*store, clock, entropy}, {*store, clock, entropy}};
  std::function<void(Process&, int)> begin = [&](Process& process, int i) {
    const std::string id = ids ? "id-" + std::to_string(i) : "";
    process.start(update(kDoc, append(word(i), id), contention),
                  [&, i](const Result<UpdateOutcome>& outcome) {
                    Told& here = told[word(i)];
                    if (outcome && std::holds_alternative<Updated>(*outcome)) ++here.updated;
                    if (!outcome && outcome.error().code == ErrorCode::unknown) ++here.unknown;
                  });
  };
  for (int i = 0; i < 12; ++i) {
    begin(processes[i % 2], i);
    if (i % 4 == 3) processes[entropy.random() % 2].round();
  }
  while (processes[0].busy() || processes[1].busy()) {
    processes[entropy.random() % 2].round();
    clock.advance(Duration(1));
  }
  store->deliver_late();
  for (const auto& [name, here] : told) {
    const int times = count_of(bytes_in(*memory), name);
    if (times > 1) return name + " was made twice";
    if (here.updated > 0 && times == 0) return name + " was lost";
    if (here.updated + here.unknown == 0 && times > 0)
      return name + " was made, but told not to be";
  }
  return "";
}

TEST_P(CombinedUpdates, H7_AreNeitherLostNorDoubledByTwoProcessesOnAFailingStore) {
  for (const bool ids : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
      ASSERT_EQ(run_processes(seed, GetParam(), ids), "") << "seed " << seed << ", ids " << ids;
    }
  }
}

}  // namespace
}  // namespace once::documents
