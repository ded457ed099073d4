// Appends that wait on one stream and become one commit, or on a store with one write per commit
// one record: consecutive places, each with its own batch id, expectation and answer
// (docs/decisions/0040-appends-combine.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "primitives/log_append.h"

namespace once::logs {

// One append that joins a group: co_await join(member), then read `outcome`. One that is left
// unknown may have been made; its batch id tells, or nothing does.
class GroupedAppend final : public detail::Joint {
 public:
  struct Placed {
    std::int64_t first = 0;
    bool replayed = false;
    std::vector<std::optional<std::int64_t>> numbers;  // Of its other writes that add or raise.
  };
  struct KnownId {  // Nothing was written: its batch id is in use.
    std::optional<Item> id;
  };
  struct Unexpected {  // Nothing was written: `expect` is not the next index, but this.
    std::int64_t next = 0;
  };
  struct Closed {};     // Nothing was written: the log is closed.
  struct Overtaken {};  // Nothing was written: the guard of another write of its own failed.
  using Outcome = std::variant<Overtaken, Placed, KnownId, Unexpected, Closed>;

  // Writes of the same commit, if the batch begins at `first`: always of the same keys. Pure.
  using Also = std::function<std::vector<Write>(std::int64_t first)>;

  // The append, and `known` unless it is null, must outlive it.
  GroupedAppend(PendingAppend& pending, KnownEnds* known_ends, Also also_writes = nullptr);

  const Key& queue() const override { return queue_; }
  void list_others(std::vector<Other>& others) const override;
  std::size_t writes() const override {
    return append.by_one_write ? 0 : append.write_count() + others_.size();
  }
  std::size_t bytes() const override { return append.bytes(); }
  Plan<std::monostate> perform(std::vector<Joint*> members) override;

  PendingAppend& append;  // The group tells it the life of its stream.
  KnownEnds* const known;
  const Also also;
  Outcome outcome;

 private:
  const Key queue_;
  std::optional<Key> id_key_;
  std::vector<std::pair<Key, bool>> others_;
};

// Whether several members can have it as one write of their commit: an add, a raise or a check.
bool can_share(const Write& write);

// Makes the appends of `members`, all to one stream that does not reserve. Fills in each one's
// outcome or error.
Plan<std::monostate> append_together(std::vector<GroupedAppend*> members);

}  // namespace once::logs
