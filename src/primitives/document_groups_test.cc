// Updates that a driver combines.
#include <latch>
#include <map>

#include "once/batching_driver.h"
#include "primitives/document_fixture.h"
#include "testing/gated_store.h"
#include "testing/process.h"

namespace once::documents {
namespace {

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

// The gate is a slow commit: updates that arrive meanwhile wait together.
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

// A store whose commits take 20 ms, however many are given together.
class SlowStore final : public Decorator<Store> {
 public:
  SlowStore(Store& inner, testing::ManualClock& clock) : Decorator(inner), clock_(clock) {}

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    clock_.advance(Duration(20));
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    clock_.advance(Duration(20));
    return inner_.commit_each(transactions);
  }

 private:
  testing::ManualClock& clock_;
};

// The same in simulated time. Updates that arrive during a commit are the next group.
TEST_P(CombinedUpdates, ThirtyOnAStoreThatTakesTwentyMillisecondsNeedAtMostFiveCommits) {
  for (const Duration apart : {Duration(0), Duration(1)}) {
    testing::ManualClock clock;
    Entropy entropy(1);
    const auto memory = open_memory({}, clock);
    testing::LimitedStore limited(*memory, GetParam());
    const auto metered = meter(limited);
    SlowStore store(*metered, clock);
    Contention contention;
    testing::Process process(store, clock, entropy);
    const Time start = clock.now();
    int started = 0;
    int succeeded = 0;
    while (started < 30 || process.busy()) {
      for (; started < 30 && start + started * apart <= clock.now(); ++started) {
        const auto id = "id-" + std::to_string(started);
        process.start(update(kDoc, append(word(started), id), contention),
                      [&](const Result<UpdateOutcome>& outcome) {
                        succeeded += outcome && std::holds_alternative<Updated>(*outcome) ? 1 : 0;
                      });
      }
      process.round();
      clock.advance(Duration(1));
    }
    EXPECT_EQ(succeeded, 30);
    EXPECT_LE(metered->snapshot().commit_each.committed, 5U);
    EXPECT_LE(clock.now() - start, Duration(150));
    for (int i = 0; i < 30; ++i) EXPECT_EQ(count_of(bytes_in(*memory), word(i)), 1);
  }
}

// Several callers of one process on a store that fails.
class FailingGroups : public DocumentsTest {
 protected:
  std::optional<Result<UpdateOutcome>>& start(UpdateRequest request) {
    auto& answer = answers_.emplace_back(std::make_unique<Answer>());
    process_.start(update(kDoc, std::move(request), contention_),
                   [&place = *answer](Result<UpdateOutcome> given) { place = std::move(given); });
    return *answer;
  }

  using Answer = std::optional<Result<UpdateOutcome>>;
  Contention contention_;
  std::vector<std::unique_ptr<Answer>> answers_;
  testing::Process process_{*faulty_, clock_, entropy_};
};
INSTANTIATE_TEST_SUITE_P(Stores, FailingGroups, ::testing::Values(100, 1), name_of_store);

TEST_P(FailingGroups, H18_EveryCallerGetsTheGroupsFinalBytesAndEtag) {
  for (int i = 0; i < 3; ++i) start(append(word(i)));
  process_.finish();
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
  process_.finish();
  EXPECT_EQ(bad->error().code, ErrorCode::invalid);
  EXPECT_EQ(bytes_now(), "ab");
}

TEST_P(FailingGroups, H18_ConditionalCallersAreNotCombined) {
  ASSERT_TRUE(documents_.put("doc", text("a"), IfAbsent{}));
  const std::string etag = etag_now();
  std::vector<std::optional<Result<WriteOutcome>>> puts(2);
  for (std::size_t i = 0; i < 2; ++i) {
    process_.start(documents::put(kDoc, text(word(static_cast<int>(i))), IfMatch{etag}, {}),
                   [&put = puts[i]](Result<WriteOutcome> given) { put = std::move(given); });
  }
  start(append("u"));
  process_.finish();
  const Document& winner = *made(*puts[0]).document;
  EXPECT_EQ(winner.content, text("<0>"));
  EXPECT_EQ(std::get<PreconditionFailed>(puts[1]->value()).etag, winner.etag);
  EXPECT_EQ(bytes_now(), "<0>u");
}

TEST_P(FailingGroups, H19_TheSameIdTwiceInOneGroupTakesEffectOnce) {
  auto& first = start(append("a", "id"));
  auto& second = start(append("a", "id"));
  auto& other = start(append("b", "id"));
  process_.finish();
  EXPECT_FALSE(made(*first).replayed);
  EXPECT_TRUE(made(*second).replayed);
  EXPECT_TRUE(std::holds_alternative<Mismatch>(other->value()));
  EXPECT_EQ(bytes_now(), "a");
}

TEST_P(FailingGroups, H7_AGroupWhoseReplyWasLostIsFoundByAllButItsFirst) {
  for (int i = 0; i < 5; ++i) start(append(word(i)));
  script({Fault::none, Fault::fail_after});
  process_.finish();
  EXPECT_EQ(bytes_now(), "<0><1><2><3><4>");
  // Only the first was not applied to the group's own version; it must not guess.
  EXPECT_EQ(answers_[0]->value_or(failure(ErrorCode::invalid, "")).error().code,
            ErrorCode::unknown);
  for (std::size_t i = 1; i < answers_.size(); ++i) EXPECT_TRUE(answers_[i]->value().has_value());
}

// The answer that the caller of each word got.
struct Told {
  int updated = 0;
  int unknown = 0;
};

// Two processes, each with several concurrent callers, on one store that fails in every way.
std::string run_processes(std::uint64_t seed, std::size_t writes_per_commit, bool ids) {
  testing::ManualClock clock;
  Entropy entropy(seed);
  const auto memory = open_memory({}, clock);
  testing::LimitedStore limited(*memory, writes_per_commit);
  const FaultPlan faults{.seed = seed, .fail_before = 0.05, .fail_after = 0.1, .land_late = 0.1};
  const auto store = inject_faults(limited, faults, clock);
  Contention contention;
  std::map<std::string, Told> told;
  testing::Process processes[] = {{*store, clock, entropy}, {*store, clock, entropy}};
  std::function<void(testing::Process&, int)> begin = [&](testing::Process& process, int i) {
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
