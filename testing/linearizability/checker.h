// Decides whether a history of concurrent operations on one object could have happened one at a
// time, each between its call and its answer: Wing and Gong's search, with a memory of the
// configurations that were tried (Lowe, "Testing for linearizability", 2017).
//
// A model has
//   using State, which can be ordered; `State start`;
//   using Operation, what was asked and answered;
//   std::vector<State> step(const State&, const Operation&)
// whose answer has every state that the operation may lead to, and is empty if its answer was
// impossible in that state. An operation without an answer may have happened at any time after its
// call, or never; its step() is asked for the effect alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace once::testing {

inline constexpr std::uint64_t kUnanswered = std::numeric_limits<std::uint64_t>::max();

// Moments are numbers of one counter that all clients share, so that they are in real-time order.
template <class Operation>
struct Event {
  Operation operation;
  std::uint64_t called = 0;
  std::uint64_t answered = kUnanswered;
};

template <class Model>
class LinearizabilityChecker {
 public:
  using State = typename Model::State;
  using History = std::vector<Event<typename Model::Operation>>;

  // Empty if the history is linearizable. Otherwise the places in it of events that no order could
  // explain: those that were under way where the search got furthest, in the order of their calls.
  static std::vector<std::size_t> violation(const Model& model, const History& history) {
    LinearizabilityChecker checker(model, history);
    if (checker.explains(model.start)) return {};
    return checker.stuck_;
  }

 private:
  LinearizabilityChecker(const Model& model, const History& history)
      : model_(model), history_(history), placed_(history.size(), false) {
    order_.reserve(history.size());
    for (std::size_t i = 0; i < history.size(); ++i) order_.push_back(i);
    std::ranges::sort(order_, {}, [&](std::size_t i) { return history[i].called; });
  }

  // The operations that may come next: those called before every answer that is still to be placed.
  std::vector<std::size_t> candidates() const {
    std::uint64_t first_answer = kUnanswered;
    std::vector<std::size_t> found;
    for (const std::size_t i : order_) {
      if (placed_[i]) continue;
      if (history_[i].called > first_answer) break;
      first_answer = std::min(first_answer, history_[i].answered);
      found.push_back(i);
    }
    std::erase_if(found, [&](std::size_t i) { return history_[i].called > first_answer; });
    return found;
  }

  bool is_complete(const std::vector<std::size_t>& next) const {
    return std::ranges::all_of(next,
                               [&](std::size_t i) { return history_[i].answered == kUnanswered; });
  }

  bool explains(const State& state) {
    const std::vector<std::size_t> next = candidates();
    if (is_complete(next)) return true;
    for (const std::size_t i : next) {
      placed_[i] = true;
      for (const State& after : model_.step(state, history_[i].operation)) {
        if (tried_.emplace(placed_, after).second && explains(after)) return true;
      }
      placed_[i] = false;
    }
    const auto depth = std::ranges::count(placed_, true);
    if (depth >= deepest_) {
      deepest_ = depth;
      stuck_ = next;
    }
    return false;
  }

  const Model& model_;
  const History& history_;
  std::vector<std::size_t> order_;  // By the time of the call.
  std::vector<bool> placed_;
  std::set<std::pair<std::vector<bool>, State>> tried_;
  std::ptrdiff_t deepest_ = 0;
  std::vector<std::size_t> stuck_;
};

}  // namespace once::testing
