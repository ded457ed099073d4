// Performs commits: evaluates every write, reserves the space, and only then changes anything.
// Safe to share between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/apply.h"
#include "once/error.h"
#include "once/time.h"
#include "once/write.h"
#include "stores/memory/evictor.h"
#include "stores/memory/shards.h"

namespace once::memory {

class Committer {
 public:
  Committer(Shards& shards, Room& room, Evictor& evictor, Clock& clock)
      : shards_(shards), room_(room), evictor_(evictor), clock_(clock) {}

  Result<CommitOutcome> commit(Transaction writes);

  // As if one by one: each sees those before it that have a key in common with it.
  std::vector<Result<CommitOutcome>> commit_each(std::span<const Transaction> transactions);

 private:
  static constexpr std::size_t kFetched = 16;   // Commits whose items are fetched together.
  static constexpr std::size_t kMany = 512;     // Commits that are worth sorting by shard.
  static constexpr std::size_t kTogether = 32;  // Commits that one lock is held for, at most.

  // One write on its way.
  struct Step {
    Place place;
    Shard::Spot spot;
    Effect effect;
  };

  // In bytes, as items are charged.
  struct Sizes {
    std::size_t written = 0;
    std::size_t replaced = 0;
    std::size_t spared = 0;  // Of the current items, those that could be evicted.

    std::size_t growth() const { return written > replaced ? written - replaced : 0; }
  };

  // One of several commits: where its only write belongs, and its place among them.
  struct Ranked {
    Place place;
    std::uint32_t at = 0;
  };

  std::vector<Result<CommitOutcome>> commit_by_shard(std::span<const Transaction> transactions);
  static std::vector<Ranked> sorted_by_shard(std::span<const Transaction> transactions);
  void commit_in_shard(std::span<const Ranked> group, std::span<const Transaction> transactions,
                       std::span<Result<CommitOutcome>> answers);
  void fetch(std::span<const Transaction> transactions);
  Result<CommitOutcome> commit(Transaction writes, std::span<Step> steps);
  Result<std::optional<Lost>> judge(Transaction writes, std::span<Step> steps,
                                    LockedShards& locked);
  Sizes sizes_of(Transaction writes, std::span<const Step> steps, LockedShards& locked) const;
  Draft draft_of(const Write& write, const Effect& effect) const;
  void apply(Transaction writes, std::span<Step> steps, LockedShards& locked);
  Result<void> make_room(Transaction writes, const Sizes& sizes, std::size_t reserved);

  Shards& shards_;
  Room& room_;
  Evictor& evictor_;
  Clock& clock_;
};

}  // namespace once::memory
