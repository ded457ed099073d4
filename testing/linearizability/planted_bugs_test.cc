// The histories of clients on a store with a planted bug of each kind: the checker finds each, and
// finds nothing wrong with the same store without it.
#include <gtest/gtest.h>

#include <atomic>

#include "once/memory_store.h"
#include "stores/decorators/decorator.h"
#include "testing/linearizability/workload.h"

namespace once::testing {
namespace {

enum class Bug { none, fence_not_compared, read_not_synced, append_doubled };

class BuggyStore final : public Decorator<Store> {
 public:
  BuggyStore(Store& store, Bug bug) : Decorator(store), bug_(bug) {}

 protected:
  // Now and then as it was before the last commit was answered: absent.
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    auto items = inner_.get(keys);
    if (bug_ == Bug::read_not_synced && items && ++gets_ % 4 == 0) items->front().reset();
    return items;
  }

  Result<CommitOutcome> do_commit(Transaction transaction) override {
    std::vector<Write> writes(transaction.begin(), transaction.end());
    if (bug_ == Bug::fence_not_compared) {
      for (Write& write : writes) {
        if (write.guard.kind == Guard::Kind::unchanged) write.guard = anything();
      }
    }
    Result<CommitOutcome> outcome = inner_.commit(writes);
    const bool is_append = writes.front().key.sort > 0 && writes.front().kind == Write::Kind::put;
    if (bug_ == Bug::append_doubled && outcome && committed(*outcome) && is_append) {
      Write again = writes.front();
      ++again.key.sort;
      ++again.version.number;
      (void)inner_.commit(std::span(&again, 1));
    }
    return outcome;
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    std::vector<Result<CommitOutcome>> outcomes;
    for (const Transaction& transaction : transactions) outcomes.push_back(do_commit(transaction));
    return outcomes;
  }

 private:
  const Bug bug_;
  std::atomic<int> gets_ = 0;
};

std::vector<std::string> faults_with(Bug bug) {
  const std::unique_ptr<MemoryStore> memory = open_memory({});
  const auto open = [&] { return Once(std::make_unique<BuggyStore>(*memory, bug), "test"); };
  const Workload workload;
  const Histories histories = run_workload(workload, open);
  Once judge = open();
  return faults_of(workload, histories, judge);
}

bool has(const std::vector<std::string>& faults, std::string_view noun) {
  return std::ranges::any_of(faults,
                             [&](const std::string& fault) { return fault.starts_with(noun); });
}

TEST(PlantedBug, AStoreWithoutOneHasNoFault) {
  EXPECT_EQ(faults_with(Bug::none), std::vector<std::string>());
}

TEST(PlantedBug, AFenceThatIsNotComparedIsFound) {
  EXPECT_TRUE(has(faults_with(Bug::fence_not_compared), "claim"));
}

TEST(PlantedBug, AReadThatIsNotSyncedIsFound) {
  EXPECT_TRUE(has(faults_with(Bug::read_not_synced), "document"));
}

TEST(PlantedBug, AnAppendThatIsDoubledIsFound) {
  EXPECT_TRUE(has(faults_with(Bug::append_doubled), "log"));
}

}  // namespace
}  // namespace once::testing
