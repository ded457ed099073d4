// Steps that wait for a call of a store on which several calls are in flight, and which of them may
// go next. Each place has at most one call of a kind under way; what comes meanwhile joins the
// next, so a place that is slow uses one of the calls and holds up only itself
// (docs/hazards.md#h37). Reads of a place wait for its commits.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "drivers/store_call.h"

namespace once::detail {

// Not safe to share: belongs to the driver's thread.
class CallQueues {
 public:
  explicit CallQueues(const Store& store);

  void push(Task& task);

  // The next call that may start now: urgent ones first, otherwise in order of arrival. It counts
  // as under way until finish().
  std::optional<StoreCall> take_next();

  void finish(const StoreCall& call);

  // The most calls under way at a time.
  std::size_t max_calls() const { return ways_[0].max_calls + ways_[1].max_calls; }

 private:
  // Waiting steps that may go together.
  struct Queue {
    std::uint64_t number;  // In order of arrival.
    CallKind kind;
    std::vector<std::uint64_t> places;
    std::vector<Task*> waiting;
  };
  using Queues = std::list<Queue>;
  using Name = std::pair<CallKind, std::vector<std::uint64_t>>;

  // Urgent steps have calls of their own, which nothing else can use up.
  struct Way {
    bool urgent = false;
    std::size_t max_calls = 0;
    std::size_t under_way = 0;
    std::size_t slow_under_way = 0;
    Queues queues;                             // In order of arrival.
    std::map<Name, Queues::iterator> by_name;  // The last of each.
  };

  bool may_join(const Queue& queue) const;
  bool may_start(const Way& way, const Queue& queue) const;
  bool is_after_commits(const Queue& queue) const;
  StoreCall take(Way& way, Queues::iterator queue);
  void remove(Way& way, Queues::iterator queue);
  bool is_slow(const std::vector<std::uint64_t>& places) const;

  const Store& store_;
  std::array<Way, 2> ways_;                                // The urgent one first.
  std::unordered_map<std::uint64_t, unsigned> under_way_;  // By place: a bit for each sort of call.
  std::unordered_set<std::uint64_t> slow_;                 // Places whose last call was slow.
  std::uint64_t last_number_ = 0;
  // By place: the numbers of the queues of commits that wait.
  std::unordered_map<std::uint64_t, std::set<std::uint64_t>> waiting_commits_;
};

}  // namespace once::detail
