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

#include "once/home_watch.h"
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

struct WaitPlace;

// One plan under way in a batching driver.
class Task : public PlanState {
 public:
  using PlanState::PlanState;
  virtual ~Task() = default;

  // Hands the plan's answer, or the error that cut it short, to its caller.
  virtual void finish(std::optional<Error> cut_short) = 0;

  Executor* executor = nullptr;  // Runs it between its steps; nullptr: the driver's thread does.
  std::uint64_t tenant = 0;      // Whose share of what is bounded it uses.
  Time deadline = kNever;
  std::size_t weight = 0;    // Bytes that it goes through besides what its steps give it.
  bool saw_unknown = false;  // One of its commits may have been written.
  bool is_group = false;     // The driver's own, for the changes of several others.
  std::shared_ptr<WaitPlace>
      waiting;                 // Its place in the line for a key, if it ever waited for one.
  std::shared_ptr<void> turn;  // Its turn among the long work, while it has one.
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
  std::size_t max_plans = 10'000;           // Under way; more are refused.
  std::size_t max_changes_per_key = 1'024;  // Waiting on one key; more are refused.

  // Plans that wait for a key to change, of all tenants and of each. They are not under way.
  std::size_t max_waiting = 10'000;
  std::size_t max_waiting_of_tenant = 2'500;

  // Threads for what takes long: lists, large reads of a store in this process, and what plans do
  // with more than 64 KiB. At least two. 0: all of that is done like the rest.
  std::size_t long_work_threads = 0;
  std::size_t max_long_work_of_tenant = 256;  // Waiting; more is refused.

  // Whether a round that follows a long one waits a moment, so that callers that were just answered
  // join it. Pays for threads, which are back at once; clients beyond a network are not.
  bool batch_window = true;

  // Is told for which homes plans wait, and must outlive the driver. What it tells goes to hint().
  HomeWatch* watch = nullptr;
};

// What a plan is started with besides what it does.
struct PlanOptions {
  Duration patience = kAttemptLife;  // As for the blocking driver.
  Executor* executor = nullptr;
  std::uint64_t tenant = 0;  // A number for each tenant: shares are counted by it.
  std::size_t weight = 0;    // About how many bytes the plan goes through by itself.
};

// What waits, and what was refused since the start.
struct DriverCounts {
  std::size_t plans_waiting = 0;  // For keys.
  std::uint64_t waits_refused = 0;
  std::size_t long_work_waiting = 0;
  std::uint64_t long_work_refused = 0;
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
  // called.
  //
  // With an `executor`, the plan runs there between its steps, and `done` is called there unless
  // the plan was cut short: this keeps the driver's thread free, for which all plans of a round
  // wait. What takes long runs on threads for that instead, and `done` may be called there. A plan
  // whose executor is cancelled is cut short at its next pause, or by cancel(). The store must
  // outlive the executor, which lives at least as long as `done`; one that drops a task drops its
  // plan.
  template <class T>
  Result<void> start(Plan<T> plan, std::move_only_function<void(Result<T>)> done,
                     const PlanOptions& options = {}) {
    auto task =
        std::make_unique<detail::PlanTask<T>>(store_, entropy_, std::move(plan), std::move(done));
    task->executor = options.executor;
    task->tenant = options.tenant;
    task->weight = options.weight;
    return submit(std::move(task), options.patience);
  }

  // The executor's caller has hung up: its plans that wait for a key end at once.
  void cancel(const Executor& executor);

  // Another process has written to this home, or to any, or may have: plans that wait for a key
  // there look at it.
  void hint(const std::string& home);
  void hint_all();

  // Runs `job` with the tenant's long work, or here if there are no threads for that. False, and
  // never called, if too much of it waits.
  bool run_long(std::uint64_t tenant, std::move_only_function<void()> job);

  DriverCounts counts() const;

  // Runs the plan and waits for its answer. Not for the driver's own thread.
  template <class T>
  Result<T> run(Plan<T> plan, Duration patience = kAttemptLife) {
    std::promise<Result<T>> answered;
    std::future<Result<T>> answer = answered.get_future();
    Result<void> started = start<T>(std::move(plan),
                                    [answered = std::move(answered)](Result<T> result) mutable {
                                      answered.set_value(std::move(result));
                                    },
                                    {.patience = patience});
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
