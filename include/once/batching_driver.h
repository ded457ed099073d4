// Runs many plans at once on a thread of its own and turns all commits of a round into one
// commit_each: for servers, and for programs whose threads change the same keys. Changes that wait
// on one key are merged into one read and one write.
//
// Safe to call from any number of threads.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "once/plan.h"

namespace once {

// A thread that runs plans between their steps. Safe to call from any thread.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` on the thread, soon and in the order given.
  virtual void post(std::move_only_function<void()> task) = 0;

  // True once the caller hung up; waiting plans are cancelled.
  virtual bool is_cancelled() const { return false; }
};

namespace detail {

// One plan under way in a batching driver.
class Task : public PlanState {
 public:
  using PlanState::PlanState;
  virtual ~Task() = default;

  // Hands the plan's answer, or the error that cut it short, to its caller.
  virtual void finish(std::optional<Error> cut_short) = 0;

  Executor* executor = nullptr;  // Runs it between its steps; nullptr: the driver's thread does.
  Time deadline = kNever;
  bool saw_unknown = false;  // One of its commits may have been written.
};

template <class T>
class PlanTask final : public Task {
 public:
  using Done = std::move_only_function<void(Result<T>)>;

  PlanTask(Store& store, Entropy& entropy, Plan<T> plan, Done done)
      : Task(store.limits(), entropy, store.secret()),
        store_(store),
        plan_(std::move(plan)),
        done_(std::move(done)) {
    start(*this, plan_);
  }

  Time now() override { return store_.now(); }

  void finish(std::optional<Error> cut_short) override {
    if (cut_short) {
      done_(std::unexpected(std::move(*cut_short)));
    } else {
      done_(take_result(plan_));
    }
  }

 private:
  Store& store_;
  Plan<T> plan_;
  Done done_;
};

}  // namespace detail

struct BatchingOptions {
  std::size_t max_plans = 10'000;           // Under way and waiting; more are refused.
  std::size_t max_changes_per_key = 1'024;  // Waiting on one key; more are refused.

  // Whether a round that follows a long one waits a moment, so that callers that were just answered
  // join it. Pays for threads, which are back at once; clients beyond a network are not.
  bool batch_window = true;
};

class BatchingDriver {
 public:
  // All but the options must outlive the driver.
  explicit BatchingDriver(Store& store, BatchingOptions options = {}, Clock& clock = system_clock(),
                          Entropy& entropy = system_entropy());

  // Plans that have not ended end as `unavailable` (`unknown`, if one of their commits was).
  ~BatchingDriver();

  // Runs the plan and calls `done` with its answer on the driver's thread; `done` must neither
  // block nor throw. Refused as `unavailable` when max_plans are under way: then `done` is never
  // called. `patience` as for the blocking driver.
  //
  // With an `executor`, the plan runs there between its steps, and `done` is called there unless
  // the plan was cut short: this keeps the driver's thread free, for which all plans of a round
  // wait. A plan whose executor is cancelled is cut short at its next pause. The store must outlive
  // the executor, which lives at least as long as `done`; one that drops a task drops its plan.
  template <class T>
  Result<void> start(Plan<T> plan, std::move_only_function<void(Result<T>)> done,
                     Duration patience = kAttemptLife, Executor* executor = nullptr) {
    auto task =
        std::make_unique<detail::PlanTask<T>>(store_, entropy_, std::move(plan), std::move(done));
    task->executor = executor;
    return submit(std::move(task), patience);
  }

  // Runs the plan and waits for its answer. Not for the driver's own thread.
  template <class T>
  Result<T> run(Plan<T> plan, Duration patience = kAttemptLife) {
    std::promise<Result<T>> answered;
    std::future<Result<T>> answer = answered.get_future();
    Result<void> started = start<T>(
        std::move(plan),
        [answered = std::move(answered)](Result<T> result) mutable {
          answered.set_value(std::move(result));
        },
        patience);
    if (!started) return std::unexpected(std::move(started.error()));
    return answer.get();
  }

 private:
  class Worker;

  Result<void> submit(std::unique_ptr<detail::Task> task, Duration patience);

  Store& store_;
  Entropy& entropy_;
  std::shared_ptr<Worker> worker_;  // Plans at their executors come back to it.
};

}  // namespace once
