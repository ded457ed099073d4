// The machinery behind Plan<T>, for drivers. Plans never name it.
//
// Plans nest: awaiting a plan starts it as a child. Only the innermost one, the leaf, is suspended
// at a step. An error climbs from the leaf to the first awaiter that asked for it by attempt();
// frames on the way are never resumed and are destroyed with the plan that owns them.
#pragma once

#include <array>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "once/detail/joint.h"
#include "once/entropy.h"
#include "once/store.h"

namespace once {

template <class T>
class Plan;

namespace detail {

struct GetStep {
  std::span<const Key> keys;
  Result<std::vector<std::optional<Item>>> answer;
};
struct GetOneStep {
  const Key* key = nullptr;
  Result<std::optional<Item>> answer;
};
struct ScanStep {
  const ScanRequest* request = nullptr;
  Result<ScanPage> answer;
};
struct ListStep {
  const ListRequest* request = nullptr;
  Result<ListPage> answer;
};
struct CommitStep {
  std::span<Write> writes;
  Result<CommitOutcome> answer;
};
struct CommitEachStep {
  std::span<const std::span<Write>> transactions;
  Result<std::vector<Result<CommitOutcome>>> answer;
};
struct JoinStep {
  Joint* member = nullptr;
  Result<std::monostate> answer;
};
struct PauseStep {
  Duration length{};
  Result<std::monostate> answer;
};
struct WaitStep {
  const Key* key = nullptr;
  Duration poll{};
  Duration longest{};
  Result<std::monostate> answer;
};

using Step = std::variant<std::monostate, GetStep*, GetOneStep*, ScanStep*, ListStep*, CommitStep*,
                          CommitEachStep*, JoinStep*, PauseStep*, WaitStep*>;

class PromiseBase;

// One running plan, children included, as its driver sees it.
class PlanState {
 public:
  PlanState(const Limits& store_limits, Entropy& source, SecretCell& store_secret)
      : limits(store_limits), entropy(source), secret(store_secret) {}
  PlanState(const PlanState&) = delete;
  PlanState& operator=(const PlanState&) = delete;

  virtual Time now() = 0;  // The store's time, as this plan sees it.

  const Limits& limits;
  Entropy& entropy;
  SecretCell& secret;
  bool combines = false;         // The driver takes JoinSteps and groups them.
  bool urgent = false;           // The plan's steps go before those of others.
  PromiseBase* leaf = nullptr;   // Null before the start and after the end.
  std::coroutine_handle<> next;  // Resumed before control goes back to the driver.
  Step step;                     // What the leaf waits for.
  bool step_strict = false;      // The step's error ends the leaf.

 protected:
  ~PlanState() = default;
};

class PromiseBase {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { std::terminate(); }

  PlanState* state = nullptr;
  PromiseBase* parent = nullptr;  // Null for the root.
  bool parent_strict = true;      // Our error ends the parent.
  std::coroutine_handle<> self;

  virtual void fail(Error error) = 0;
  virtual const Error* error() const = 0;

  // What to resume once this plan has its result: the parent; after an error the first ancestor
  // that attempted; null when the root is done.
  std::coroutine_handle<> next_up() noexcept {
    PromiseBase* at = this;
    while (at->parent != nullptr) {
      PromiseBase* up = at->parent;
      const Error* failed = at->error();
      if (failed == nullptr || !at->parent_strict) {
        up->state->leaf = up;
        return up->self;
      }
      up->fail(*failed);
      at = up;
    }
    state->leaf = nullptr;
    return nullptr;
  }

 protected:
  ~PromiseBase() = default;
};

// One plan hands over to another by way of go_on(), not by symmetric transfer: without optimisation
// that is a call, and a loop over plans that never wait would use up the stack.
struct FinalAwaiter {
  bool await_ready() noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) noexcept {
    PlanState& state = *handle.promise().state;
    state.next = handle.promise().next_up();
  }
  void await_resume() noexcept {}
};

// Suspends the leaf at a step; the driver fills in the answer and goes on.
template <class S, bool strict>
struct StepAwaiter {
  S step;

  bool await_ready() noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) noexcept {
    PlanState& state = *handle.promise().state;
    state.step = &step;
    state.step_strict = strict;
  }
  auto await_resume() {
    if constexpr (strict) {
      return std::move(*step.answer);
    } else {
      return std::move(step.answer);
    }
  }
};

template <class S>
struct StepOf {
  S step;
};
template <class S>
struct Attempted {
  StepOf<S> step;
};
template <class T>
struct AttemptedPlan {
  Plan<T> plan;
};

struct StoreNow {};
struct StoreLimits {};
struct Combines {};
struct FreshVersion {};
struct RandomNumber {};
struct Unguessable {};
struct KnownSecret {};
struct GoFirst {};

template <class T>
struct Ready {
  T value;
  bool await_ready() noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) noexcept {}
  T await_resume() noexcept { return value; }
};

template <class T, bool strict>
struct ChildAwaiter;

class PlanAccess {
 public:
  template <class T>
  static auto& promise(Plan<T>& plan) {
    return plan.handle_.promise();
  }
};

template <class T>
class Promise final : public PromiseBase {
 public:
  Plan<T> get_return_object() {
    const auto handle = std::coroutine_handle<Promise>::from_promise(*this);
    self = handle;
    return Plan<T>(handle);
  }
  FinalAwaiter final_suspend() noexcept { return {}; }

  template <class U>
    requires std::constructible_from<Result<T>, U&&>
  void return_value(U&& value) {
    result.emplace(std::forward<U>(value));
  }

  void fail(Error error) override { result.emplace(std::unexpected(std::move(error))); }
  const Error* error() const override {
    return result && !result->has_value() ? &result->error() : nullptr;
  }

  template <class S>
  StepAwaiter<S, true> await_transform(StepOf<S>&& wanted) {
    return {std::move(wanted.step)};
  }
  template <class S>
  StepAwaiter<S, false> await_transform(Attempted<S>&& wanted) {
    return {std::move(wanted.step.step)};
  }
  template <class U>
  ChildAwaiter<U, true> await_transform(Plan<U>&& child) {
    return ChildAwaiter<U, true>{std::move(child)};
  }
  template <class U>
  ChildAwaiter<U, false> await_transform(AttemptedPlan<U>&& child) {
    return ChildAwaiter<U, false>{std::move(child.plan)};
  }
  Ready<Time> await_transform(StoreNow) { return {state->now()}; }
  Ready<const Limits*> await_transform(StoreLimits) { return {&state->limits}; }
  Ready<bool> await_transform(Combines) { return {state->combines}; }
  Ready<Version> await_transform(FreshVersion) { return {state->entropy.version()}; }
  Ready<std::uint64_t> await_transform(RandomNumber) { return {state->entropy.random()}; }
  Ready<std::array<std::uint64_t, 2>> await_transform(Unguessable) {
    return {state->entropy.unguessable()};
  }
  Ready<SecretCell*> await_transform(KnownSecret) { return {&state->secret}; }
  Ready<bool> await_transform(GoFirst) { return {state->urgent = true}; }

  std::optional<Result<T>> result;
};

template <class T, bool strict>
struct ChildAwaiter {
  Plan<T> child;

  bool await_ready() noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) noexcept {
    auto& below = PlanAccess::promise(child);
    below.state = handle.promise().state;
    below.parent = &handle.promise();
    below.parent_strict = strict;
    below.state->leaf = &below;
    below.state->next = below.self;
  }
  auto await_resume() {
    auto& result = *PlanAccess::promise(child).result;
    if constexpr (strict) {
      return std::move(*result);
    } else {
      return std::move(result);
    }
  }
};

// Makes `plan` the root of `state`; go_on() then runs it to its first step.
template <class T>
void start(PlanState& state, Plan<T>& plan) {
  auto& root = PlanAccess::promise(plan);
  root.state = &state;
  state.leaf = &root;
}

// Resumes the plan, whose step has its answer, until its next step or its end (leaf is null).
void go_on(PlanState& state);

// The step's error, if its answer is one.
const Error* error_of(const Step& step);

// Gives the step this error as its answer.
void fail_step(const Step& step, const Error& error);

// What the plan ended with.
template <class T>
Result<T> take_result(Plan<T>& plan) {
  return std::move(*PlanAccess::promise(plan).result);
}

}  // namespace detail
}  // namespace once
