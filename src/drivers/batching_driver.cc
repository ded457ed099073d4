#include "once/batching_driver.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <optional>
#include <thread>

#include "base/mutex.h"
#include "base/work_queue.h"
#include "drivers/batch_window.h"
#include "drivers/perform.h"
#include "drivers/rounds.h"

namespace once {

class BatchingDriver::Worker : public std::enable_shared_from_this<Worker> {
 public:
  Worker(Store& store, const BatchingOptions& options, Clock& clock, Entropy& entropy)
      : max_plans_(options.max_plans),
        waits_for_batch_(options.batch_window),
        clock_(clock),
        rounds_(
            store, clock, entropy, options.max_changes_per_key,
            [this](std::unique_ptr<detail::Task> task) { dispatch(std::move(task)); },
            launch_on(store)) {
    if (const std::size_t calls = store.limits().calls_in_flight; calls > 1) {
      callers_.emplace(calls, calls, [this, &store, &entropy] {
        return [this, &store, &entropy](detail::StoreCall call) {
          call.perform(store, entropy);
          came_back(std::move(call));
        };
      });
    }
    thread_ = std::thread([this] { work(); });
  }

  void stop() {
    {
      const Lock lock(mutex_);
      stopping_ = true;
    }
    signal_.notify_one();
    thread_.join();
  }

  Result<void> submit(std::unique_ptr<detail::Task> task, Duration patience) {
    task->deadline = later(clock_.now(), patience);
    detail::Rounds::begin(*task);
    bool enough = false;
    {
      const Lock lock(mutex_);
      if (inbox_.size() + under_way_ + dispatched_ >= most_plans(*task)) {
        return failure(ErrorCode::unavailable, "too many operations are under way");
      }
      inbox_.push_back(std::move(task));
      enough = inbox_.size() >= wanted_;
    }
    if (enough) signal_.notify_one();
    return {};
  }

 private:
  // Urgent plans have room that others cannot fill.
  std::size_t most_plans(const detail::Task& task) const {
    constexpr std::size_t kUrgentShare = 8;
    return task.urgent ? max_plans_ + max_plans_ / kUrgentShare + 1 : max_plans_;
  }

  // Where the store takes several calls at once, a thread for each performs them. As many may be
  // under way as there are threads, so none waits for one.
  detail::Rounds::Launch launch_on(const Store& store) {
    if (store.limits().calls_in_flight <= 1) return nullptr;
    return [this](detail::StoreCall call) { callers_->put(call); };
  }

  // On a thread of callers_.
  void came_back(detail::StoreCall call) {
    {
      const Lock lock(mutex_);
      performed_.push_back(std::move(call));
    }
    signal_.notify_one();
  }

  // Lets the plan go on at its executor.
  void dispatch(std::unique_ptr<detail::Task> task) {
    dispatched_.fetch_add(1, std::memory_order_relaxed);
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    Executor& executor = *task->executor;
    executor.post([self = shared_from_this(), task = std::move(task)]() mutable {
      self->resume(std::move(task));
    });
  }

  // On the executor's thread.
  void resume(std::unique_ptr<detail::Task> task) {
    detail::Rounds::resume(*task);
    dispatched_.fetch_sub(1, std::memory_order_relaxed);
    if (task->leaf == nullptr) return task->finish(std::nullopt);
    if (!put_back(task)) return task->finish(detail::stopped(task->saw_unknown));
    signal_.notify_one();
  }

  // False if the driver is stopping: then nothing is taken from the inbox any more.
  bool put_back(std::unique_ptr<detail::Task>& task) {
    const Lock lock(mutex_);
    if (!stopping_) inbox_.push_back(std::move(task));
    return !stopping_;
  }

  using Steady = std::chrono::steady_clock;
  using Inbox = std::vector<std::unique_ptr<detail::Task>>;

  void work() {
    while (await_work()) {
      const bool answered = finish_calls();
      for (auto& task : take_batch(answered)) rounds_.admit(std::move(task));
      const std::size_t before = rounds_.under_way();
      const Steady::time_point start = Steady::now();
      rounds_.run_round();
      if (!callers_) window_.round_ended(Steady::now() - start, before - rounds_.under_way());
    }
    if (callers_) callers_->finish();
    finish_calls();
    // Plans that are still in the inbox are answered like the rest.
    for (auto& task : take_inbox()) rounds_.admit(std::move(task));
    rounds_.abandon();
  }

  // Blocks until there is something to do; false when the driver is to stop.
  bool await_work() {
    const Time due = rounds_.next_due();
    Lock lock(mutex_);
    under_way_ = rounds_.under_way();
    while (inbox_.empty() && performed_.empty() && !stopping_ && clock_.now() < due) {
      clock_.wait(signal_, lock.native(), due);
    }
    return !stopping_;
  }

  // Lets the plans go on whose calls were performed. Whether there were any.
  bool finish_calls() {
    std::vector<detail::StoreCall> performed;
    {
      const Lock lock(mutex_);
      performed.swap(performed_);
    }
    for (const detail::StoreCall& call : performed) {
      const std::size_t before = rounds_.under_way();
      rounds_.finish(call);
      window_.round_ended(call.took, before - rounds_.under_way());
    }
    return !performed.empty();
  }

  Inbox take_batch(bool answered) {
    Inbox arrived;
    Lock lock(mutex_);
    if (answered || !callers_) wait_for_batch(lock);
    arrived.swap(inbox_);
    under_way_ = rounds_.under_way() + arrived.size();
    return arrived;
  }

  void wait_for_batch(Lock& lock) ONCE_REQUIRES(mutex_) {
    const std::size_t wanted = window_.wanted(inbox_.size());
    if (!waits_for_batch_ || wanted <= inbox_.size()) return;
    wanted_ = wanted;
    const Steady::time_point end = Steady::now() + window_.longest_wait();
    while (inbox_.size() < wanted_ && !stopping_) {
      if (signal_.wait_until(lock.native(), end) == std::cv_status::timeout) break;
    }
    window_.wait_ended(inbox_.size());
    wanted_ = 1;
  }

  Inbox take_inbox() {
    const Lock lock(mutex_);
    return std::move(inbox_);
  }

  // Constant after construction.
  const std::size_t max_plans_;
  const bool waits_for_batch_;

  // Self-synchronised.
  Clock& clock_;
  std::condition_variable signal_;
  std::atomic<std::size_t> under_way_ = 0;   // Plans in the rounds; written by the thread alone.
  std::atomic<std::size_t> dispatched_ = 0;  // Plans that go on at their executors right now.

  Mutex mutex_;
  Inbox inbox_ ONCE_GUARDED_BY(mutex_);
  std::size_t wanted_ ONCE_GUARDED_BY(mutex_) = 1;  // Plans in the inbox that wake the thread.
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  std::vector<detail::StoreCall> performed_ ONCE_GUARDED_BY(mutex_);

  // Used by the thread alone.
  detail::Rounds rounds_;
  detail::BatchWindow window_;

  // Last: they use all of the above.
  std::optional<WorkQueue<detail::StoreCall>> callers_;
  std::thread thread_;
};

BatchingDriver::BatchingDriver(Store& store, BatchingOptions options, Clock& clock,
                               Entropy& entropy)
    : store_(store),
      entropy_(entropy),
      worker_(std::make_shared<Worker>(store, options, clock, entropy)) {}

BatchingDriver::~BatchingDriver() { worker_->stop(); }

Result<void> BatchingDriver::submit(std::unique_ptr<detail::Task> task, Duration patience) {
  return worker_->submit(std::move(task), patience);
}

}  // namespace once
