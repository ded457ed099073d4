// A plan is an operation as a coroutine that performs nothing itself. It asks for one step at a
// time (get, scan, commit, pause, ...) and ends with an answer; a driver performs the steps.
// The same plan therefore runs blocking, in batches, and under the simulator.
//
//   Plan<std::int64_t> next_number(Key key) {
//     Write one = add(key, 1);
//     const CommitOutcome outcome = co_await commit(one);
//     co_return *std::get<Committed>(outcome).numbers[0];
//   }
//
// A step or an awaited plan that fails ends the plan with that error; `co_await attempt(...)` gives
// the Result instead. `co_return failure(...)` ends with an error. A plan does not throw.
//
// A plan has no clock, no randomness and no threads of its own: `co_await store_now()`,
// `store_limits()`, `fresh_version()`, `random_number()` and the like are answered at once by the
// driver.
//
// What a step refers to (keys, writes, a change) must stay alive until it is answered: name it in
// the plan, do not pass a temporary. Arguments of a plan are taken by value for the same reason.
// g++ 12 destroys some temporaries of a co_await expression twice (`co_await take(key, {.lease =
// 5s})` among them), so name what you pass to an awaited plan, too.
#pragma once

#include <coroutine>
#include <span>
#include <utility>
#include <vector>

#include "once/change.h"
#include "once/detail/joint.h"
#include "once/detail/plan_promise.h"
#include "once/store.h"

namespace once {

// Owns the coroutine. Destroying it at any step abandons the operation there, as a crash would.
template <class T>
class [[nodiscard]] Plan {
 public:
  using promise_type = detail::Promise<T>;
  using Answer = T;

  Plan(Plan&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Plan& operator=(Plan&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Plan() {
    if (handle_) handle_.destroy();
  }

 private:
  friend promise_type;
  friend class detail::PlanAccess;
  explicit Plan(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

// The steps. Each is awaited at once, inside a plan.

inline detail::StepOf<detail::GetStep> get(std::span<const Key> keys) { return {{.keys = keys}}; }
inline detail::StepOf<detail::GetOneStep> get(const Key& key) { return {{.key = &key}}; }

inline detail::StepOf<detail::ScanStep> scan(const ScanRequest& request) {
  return {{.request = &request}};
}

inline detail::StepOf<detail::ListStep> list(const ListRequest& request) {
  return {{.request = &request}};
}

// Writes without a version get a fresh one, in place: the plan knows it even if the reply is lost.
inline detail::StepOf<detail::CommitStep> commit(std::span<Write> writes) {
  return {{.writes = writes}};
}
inline detail::StepOf<detail::CommitStep> commit(Write& write) { return {{.writes = {&write, 1}}}; }

// Independent commits in one round of the store, with an answer for each.
inline detail::StepOf<detail::CommitEachStep> commit_each(
    std::span<const std::span<Write>> transactions) {
  return {{.transactions = transactions}};
}

// One try at a read-modify-write. A driver may merge it with others that wait for the same key. See
// change.h.
Plan<ChangeOutcome> change(Change& wanted);

inline detail::StepOf<detail::PauseStep> pause(Duration length) { return {{.length = length}}; }

// Waits until `key` may have changed: another plan of this driver wrote it, or `poll` is over,
// after which somebody else may have. Of the plans that wait for one key the first alone is woken
// by `poll`, and all when `longest` is over. A plan waits for one key only. `unavailable`, at once,
// if too many wait: ask for it by attempt(), and do without.
inline detail::StepOf<detail::WaitStep> wait_for(const Key& key, Duration poll, Duration longest) {
  return {{.key = &key, .poll = poll, .longest = longest}};
}

// The Result of a step or plan: an error does not end this plan.
template <class S>
detail::Attempted<S> attempt(detail::StepOf<S> step) {
  return {std::move(step)};
}
template <class T>
detail::AttemptedPlan<T> attempt(Plan<T> plan) {
  return {std::move(plan)};
}

inline detail::StoreNow store_now() { return {}; }
inline detail::StoreLimits store_limits() { return {}; }  // A pointer, good for the plan's life.
inline detail::FreshVersion fresh_version() { return {}; }
inline detail::RandomNumber random_number() { return {}; }
inline detail::Unguessable unguessable() { return {}; }  // 128 bits for a secret.

// What this process knows of the store's secret: a pointer, good for the plan's life.
inline detail::KnownSecret store_secret() { return {}; }

// From here on the steps of the whole operation go before those of others, by a way of their own
// where a driver has several: for what is worthless when it is late, as a renewal is.
inline detail::GoFirst go_first() { return {}; }

}  // namespace once
