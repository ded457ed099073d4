// Sixteen threads merge into one distinct tally on rocksdb, synced: combined by the batching
// driver, against plain compare-and-swap with the same backoff.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/directory.h"
#include "bench/harness.h"
#include "once/batching_driver.h"
#include "once/metered_store.h"
#include "once/rocksdb_store.h"
#include "once/tallies.h"
#include "primitives/sketches/distinct.h"

namespace once::bench {
namespace {

constexpr std::size_t kThreads = 16;

// A store that counts its commits.
class CountedStore {
 public:
  explicit CountedStore(const std::string& below) : directory_(below) {
    auto opened = open_rocksdb({.directory = directory_.path() / "db"});
    insist(opened.has_value(), "opening rocksdb");
    store_ = std::move(*opened);
    metered_ = meter(*store_);
  }

  Store& store() { return *metered_; }

  struct Commits {
    std::uint64_t sent = 0;
    std::uint64_t made = 0;
  };
  Commits commits() const {
    const StoreMetrics seen = metered_->snapshot();
    const std::uint64_t made = seen.commit.committed + seen.commit_each.committed;
    return {made + seen.commit.lost + seen.commit_each.lost, made};
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<MeteredStore> metered_;
};

constexpr std::size_t kItemsBefore = 100'000;
constexpr std::size_t kItemsAtOnce = 10'000;

std::string item_of(std::size_t number) { return "user-" + std::to_string(number); }

class Combined {
 public:
  explicit Combined(Store& store) : driver_(store) {
    for (std::size_t first = 0; first < kItemsBefore; first += kItemsAtOnce) {
      merge(first, kItemsAtOnce);
    }
  }

  void merge(std::size_t number) { merge(kItemsBefore + number, 1); }

 private:
  void merge(std::size_t first, std::size_t count) {
    std::vector<CountedItem> items;
    for (std::size_t i = 0; i < count; ++i) items.push_back({item_of(first + i)});
    const TallyRequest request{.shape = {.kind = TallyKind::distinct}, .input = std::move(items)};
    const auto outcome = driver_.run(tallies::merge(tallies::tally_key("bench", "hot"), request));
    insist(outcome && std::holds_alternative<Tallied>(*outcome), "merge");
  }

  BatchingDriver driver_;
};

// Read, merge, write if unchanged; after a lost race, wait as ours does and try again.
class CompareAndSwap {
 public:
  explicit CompareAndSwap(Store& store) : store_(store) {
    for (std::size_t first = 0; first < kItemsBefore; first += kItemsAtOnce) {
      insist(try_merge(first, kItemsAtOnce), "the first merges");
    }
  }

  void merge(std::size_t number) {
    for (int retry = 0; !try_merge(kItemsBefore + number, 1); ++retry) {
      const Duration bound = std::min(Duration(1'000), Duration(10) * (1 << std::min(retry, 10)));
      system_clock().sleep(system_entropy().random_below(bound));
    }
  }

 private:
  bool try_merge(std::size_t first, std::size_t count) {
    const auto current = store_.get(key_);
    insist(current.has_value(), "get");
    sketches::Distinct sketch;
    if (*current) sketch = *sketches::Distinct::decode(std::get<Bytes>((*current)->value));
    for (std::size_t i = 0; i < count; ++i) sketch.add(item_of(first + i));
    const Guard guard = *current ? unchanged((*current)->version) : absent();
    Write write = put(key_, sketch.encode(), guard);
    write.version = system_entropy().version();
    const auto outcome = store_.commit({&write, 1});
    insist(outcome.has_value(), "commit");
    return committed(*outcome);
  }

  Store& store_;
  const Key key_{{"tally/bench/hot", ""}, 0};
};

CountedStore::Commits since(const CountedStore::Commits& before, const CountedStore::Commits& now) {
  return {now.sent - before.sent, now.made - before.made};
}

// Seconds for all merges; adds what they cost to `commits`.
template <class Merger>
double merge_all(std::size_t merges, const std::string& directory, CountedStore::Commits& commits) {
  CountedStore counted(directory);
  Merger merger(counted.store());
  const CountedStore::Commits before = counted.commits();
  std::vector<std::pair<std::size_t, std::size_t>> blocks(kThreads);
  const double seconds =
      seconds_of({.threads = kThreads,
                  .operations = merges,
                  .block = merges / kThreads,
                  .prepare = [&](std::size_t thread, std::size_t first,
                                 std::size_t count) { blocks[thread] = {first, count}; },
                  .perform =
                      [&](std::size_t thread) {
                        const auto [first, count] = blocks[thread];
                        for (std::size_t i = 0; i < count; ++i) merger.merge(first + i);
                      }});
  const CountedStore::Commits taken = since(before, counted.commits());
  commits.sent += taken.sent;
  commits.made += taken.made;
  return seconds;
}

void print_commits(const char* name, std::uint64_t ours, std::uint64_t yardstick, double target) {
  const double ratio = static_cast<double>(ours) / static_cast<double>(yardstick);
  std::printf("%-44s %13llu %13llu %7.3f", name, static_cast<unsigned long long>(ours),
              static_cast<unsigned long long>(yardstick), ratio);
  if (target != 0)
    std::printf("  target at most %.3f %s", target, ratio <= target ? "met" : "MISSED");
  std::printf("\n");
}

void run_all(const Options& options) {
  const std::size_t merges = kThreads * (options.quick ? 20 : 500);
  CountedStore::Commits ours;
  CountedStore::Commits yardstick;
  print_heading("16 threads, one distinct tally, rocksdb, synced",
                "compare-and-swap, same backoff");
  run({.name = std::to_string(merges) + " merges",
       .operations = merges,
       .target = 8,
       .rounds = options.quick ? 1UL : 5UL,
       .ours = [&] { return merge_all<Combined>(merges, options.directory, ours); },
       .yardstick =
           [&] { return merge_all<CompareAndSwap>(merges, options.directory, yardstick); }});
  print_commits("  commits made", ours.made, yardstick.made, 0.125);
  print_commits("  commits sent, lost ones included", ours.sent, yardstick.sent, 0);
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  once::bench::run_all(once::bench::options_from(count, words));
  return once::bench::exit_code();
}
