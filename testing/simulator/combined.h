// Plans of one process under the simulator, combined as the batching driver combines them: their
// joins become groups, and each group is performed by one plan. A crash of the client ends all.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "once/plan.h"

namespace once::testing {

namespace detail_of_combined {

template <class T>
class Part final : public detail::PlanState {
 public:
  Part(const Limits& limits, Entropy& entropy, Plan<T> plan, const Time& now)
      : PlanState(limits, entropy, secret_), plan_(std::move(plan)), now_(now) {
    combines = true;
    detail::start(*this, plan_);
  }

  Time now() override { return now_; }
  bool ended() const { return leaf == nullptr; }
  detail::JoinStep* joins() const {
    auto* const* step = std::get_if<detail::JoinStep*>(&this->step);
    return step == nullptr || ended() ? nullptr : *step;
  }
  Result<T> result() { return detail::take_result(plan_); }

 private:
  detail::SecretCell secret_;
  Plan<T> plan_;
  const Time& now_;
};

// Performs a step of a part as a step of the client.
inline Plan<std::monostate> perform_for(detail::PlanState& part) {
  if (auto* const* one = std::get_if<detail::GetOneStep*>(&part.step)) {
    const Key& key = *(*one)->key;
    (*one)->answer = co_await attempt(get(key));
  } else if (auto* const* some = std::get_if<detail::GetStep*>(&part.step)) {
    (*some)->answer = co_await attempt(get((*some)->keys));
  } else if (auto* const* scanned = std::get_if<detail::ScanStep*>(&part.step)) {
    (*scanned)->answer = co_await attempt(scan(*(*scanned)->request));
  } else if (auto* const* written = std::get_if<detail::CommitStep*>(&part.step)) {
    (*written)->answer = co_await attempt(commit((*written)->writes));
  } else if (auto* const* each = std::get_if<detail::CommitEachStep*>(&part.step)) {
    (*each)->answer = co_await attempt(commit_each((*each)->transactions));
  } else if (auto* const* waits = std::get_if<detail::PauseStep*>(&part.step)) {
    const Duration length = (*waits)->length;
    co_await pause(length);
  }
  co_return std::monostate{};
}

// The joins that may be one group: no key twice.
inline std::vector<detail::JoinStep*> one_group(const std::vector<detail::JoinStep*>& waiting) {
  std::vector<detail::JoinStep*> group;
  std::set<Key> keys;
  for (detail::JoinStep* step : waiting) {
    std::vector<detail::Joint::Other> others;
    step->member->list_others(others);
    bool fits = true;
    for (const auto& other : others) fits = fits && (other.shared || !keys.contains(*other.key));
    if (!fits) continue;
    for (const auto& other : others) keys.insert(*other.key);
    group.push_back(step);
  }
  return group;
}

}  // namespace detail_of_combined

// Runs `plans`, all of which join under one key if they join at all. Their results, in order.
template <class T>
Plan<std::vector<Result<T>>> combined(std::vector<Plan<T>> plans) {
  using namespace detail_of_combined;
  const Limits* limits = co_await store_limits();
  Entropy entropy(co_await random_number());
  Time now = co_await store_now();
  std::deque<Part<T>> parts;
  for (Plan<T>& plan : plans) parts.emplace_back(*limits, entropy, std::move(plan), now);
  for (Part<T>& part : parts) detail::go_on(part);
  for (;;) {
    std::vector<detail::JoinStep*> waiting;
    for (Part<T>& part : parts) {
      while (!part.ended() && part.joins() == nullptr) {
        co_await perform_for(part);
        now = co_await store_now();
        detail::go_on(part);
      }
      if (part.joins() != nullptr) waiting.push_back(part.joins());
    }
    if (waiting.empty()) break;
    const std::vector<detail::JoinStep*> group = one_group(waiting);
    std::vector<detail::Joint*> members;
    for (detail::JoinStep* step : group) members.push_back(step->member);
    detail::Joint& first = *members.front();
    co_await first.perform(std::move(members));
    now = co_await store_now();
    for (Part<T>& part : parts) {
      detail::JoinStep* step = part.joins();
      if (step == nullptr || std::ranges::count(group, step) == 0) continue;
      if (step->member->error) step->answer = std::unexpected(*step->member->error);
      detail::go_on(part);
    }
  }
  std::vector<Result<T>> results;
  for (Part<T>& part : parts) results.push_back(part.result());
  co_return std::move(results);
}

}  // namespace once::testing
