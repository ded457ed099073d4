#include "once/batching_driver.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <optional>
#include <set>
#include <thread>

#include "base/mutex.h"
#include "base/work_queue.h"
#include "drivers/batch_window.h"
#include "drivers/long_work.h"
#include "drivers/perform.h"
#include "drivers/rounds.h"

namespace once {

class BatchingDriver::Worker : public std::enable_shared_from_this<Worker> {
 public:
  Worker(Store& store, const BatchingOptions& options, Clock& clock, Entropy& entropy)
      : max_plans_(options.max_plans),
        waits_for_batch_(options.batch_window),
        store_(store),
        clock_(clock),
        entropy_(entropy),
        places_(std::make_shared<detail::WaitPlaces>(options.max_waiting,
                                                     options.max_waiting_of_tenant)),
        rounds_(store, clock, entropy, options.max_changes_per_key, ways_on(store, options)) {
    if (options.long_work_threads > 0) {
      long_work_.emplace(options.long_work_threads, options.max_long_work_of_tenant);
    }
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

  void cancel(const Executor& executor) {
    {
      const Lock lock(mutex_);
      cancelled_.push_back(&executor);
    }
    signal_.notify_one();
  }

  // The empty home stands for all of them.
  void hint(const std::string& home) {
    {
      const Lock lock(mutex_);
      hinted_.insert(home);
    }
    signal_.notify_one();
  }

  bool run_long(std::uint64_t tenant, std::move_only_function<void()> job) {
    if (!long_work_) {
      job();
      return true;
    }
    if (!long_work_->has_room(tenant)) return false;
    long_work_->put(tenant,
                    [job = std::move(job)](const detail::LongWork::Turn&) mutable { job(); });
    return true;
  }

  DriverCounts counts() const {
    DriverCounts counts{.plans_waiting = places_->taken(), .waits_refused = places_->refused()};
    if (long_work_) {
      counts.long_work_waiting = long_work_->waiting();
      counts.long_work_refused = long_work_->refused();
    }
    return counts;
  }

 private:
  using LongPart = detail::LongPart;

  // Urgent plans have room that others cannot fill.
  std::size_t most_plans(const detail::Task& task) const {
    constexpr std::size_t kUrgentShare = 8;
    return task.urgent ? max_plans_ + max_plans_ / kUrgentShare + 1 : max_plans_;
  }

  // Where the store takes several calls at once, a thread for each performs them. As many may be
  // under way as there are threads, so none waits for one.
  detail::RoundWays ways_on(const Store& store, const BatchingOptions& options) {
    detail::RoundWays ways{
        .dispatch = [this](std::unique_ptr<detail::Task> task) { dispatch(std::move(task)); },
        .places = places_,
        .watch = options.watch};
    if (store.limits().calls_in_flight > 1) {
      ways.launch = [this](detail::StoreCall call) { callers_->put(call); };
    }
    if (options.long_work_threads > 0) {
      ways.go_long = [this](std::unique_ptr<detail::Task>& task, LongPart part) {
        return go_long(task, part);
      };
    }
    return ways;
  }

  // Lets the plan go on with the long work. Back by the inbox, unless it ends there.
  bool go_long(std::unique_ptr<detail::Task>& task, LongPart part) {
    if (ended_) {
      const Lock lock(mutex_);
      inbox_.push_back(std::move(task));
      return true;
    }
    const bool performs = part == LongPart::step_and_plan;
    const std::uint64_t tenant = task->tenant;
    detail::LongWork::Turn turn = std::move(task->turn);
    if (performs && !turn && !long_work_->has_room(tenant)) return false;
    if (!task->is_group) {
      dispatched_.fetch_add(1, std::memory_order_relaxed);
      under_way_.fetch_sub(1, std::memory_order_relaxed);
    }
    auto job = [self = shared_from_this(), task = std::move(task),
                performs](detail::LongWork::Turn given) mutable {
      task->turn = std::move(given);
      self->run_long(std::move(task), performs);
    };
    if (turn) {
      long_work_->go_on(std::move(turn), std::move(job));
    } else {
      long_work_->put(tenant, std::move(job));
    }
    return true;
  }

  // On a thread of long_work_. Nothing is begun any more once the driver stops.
  void run_long(std::unique_ptr<detail::Task> task, bool performs) {
    if (!is_stopping()) {
      if (performs) detail::perform(task->step, store_, entropy_);
      detail::Rounds::resume(*task);
    }
    go_back(std::move(task));
  }

  bool is_stopping() {
    const Lock lock(mutex_);
    return stopping_;
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
    go_back(std::move(task));
  }

  // A plan that went on elsewhere is at its next step or its end. Those without an executor end on
  // the driver's thread.
  void go_back(std::unique_ptr<detail::Task> task) {
    if (!task->is_group) dispatched_.fetch_sub(1, std::memory_order_relaxed);
    if (task->leaf == nullptr && task->executor != nullptr) return end(*task);
    if (!put_back(task)) return task->finish(detail::stopped(task->saw_unknown));
    signal_.notify_one();
  }

  void end(detail::Task& task) {
    const std::shared_ptr<detail::WaitPlace> waited = std::move(task.waiting);
    task.finish(std::nullopt);
    if (!waited) return;
    {
      const Lock lock(mutex_);
      passed_on_.push_back(waited->key);
    }
    signal_.notify_one();
  }

  // False if the driver is stopping: then nothing is taken from the inbox any more, except what
  // comes from the long work, for which the driver waits.
  bool put_back(std::unique_ptr<detail::Task>& task) {
    const Lock lock(mutex_);
    if (stopping_ && task->executor != nullptr) return false;
    inbox_.push_back(std::move(task));
    return true;
  }

  using Steady = std::chrono::steady_clock;
  using Inbox = std::vector<std::unique_ptr<detail::Task>>;

  void work() {
    while (await_work()) {
      const bool answered = finish_calls();
      finish_waits();
      for (auto& task : take_batch(answered)) rounds_.admit(std::move(task));
      const std::size_t before = rounds_.under_way();
      const Steady::time_point start = Steady::now();
      rounds_.run_round();
      if (!callers_) window_.round_ended(Steady::now() - start, before - rounds_.under_way());
    }
    if (callers_) callers_->finish();
    finish_calls();
    ended_ = true;
    if (long_work_) long_work_->finish();
    // Plans that are still in the inbox are answered like the rest.
    for (Inbox left = take_inbox(); !left.empty(); left = take_inbox()) {
      for (auto& task : left) rounds_.admit(std::move(task));
    }
    rounds_.abandon();
  }

  // Blocks until there is something to do; false when the driver is to stop.
  bool await_work() {
    const Time due = rounds_.next_due();
    Lock lock(mutex_);
    under_way_ = rounds_.under_way();
    while (inbox_.empty() && performed_.empty() && passed_on_.empty() && cancelled_.empty() &&
           hinted_.empty() && !stopping_ && clock_.now() < due) {
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

  // Of callers that have hung up, of plans that ended, and of keys that others have written.
  void finish_waits() {
    std::vector<Key> passed_on;
    std::vector<const Executor*> cancelled;
    std::set<std::string> hinted;
    {
      const Lock lock(mutex_);
      passed_on.swap(passed_on_);
      cancelled.swap(cancelled_);
      hinted.swap(hinted_);
    }
    for (const Executor* executor : cancelled) rounds_.cancel(*executor);
    for (const Key& key : passed_on) rounds_.pass_on(key);
    for (const std::string& home : hinted) rounds_.hint(home);
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
  Store& store_;
  Clock& clock_;
  Entropy& entropy_;
  const std::shared_ptr<detail::WaitPlaces> places_;
  std::condition_variable signal_;
  std::atomic<std::size_t> under_way_ = 0;   // Plans in the rounds; written by the thread alone.
  std::atomic<std::size_t> dispatched_ = 0;  // Plans that go on at their executors right now.

  Mutex mutex_;
  Inbox inbox_ ONCE_GUARDED_BY(mutex_);
  std::size_t wanted_ ONCE_GUARDED_BY(mutex_) = 1;  // Plans in the inbox that wake the thread.
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  std::vector<detail::StoreCall> performed_ ONCE_GUARDED_BY(mutex_);
  std::vector<Key> passed_on_ ONCE_GUARDED_BY(mutex_);  // Of plans that waited and ended.
  std::vector<const Executor*> cancelled_ ONCE_GUARDED_BY(mutex_);
  std::set<std::string> hinted_ ONCE_GUARDED_BY(mutex_);

  // Used by the thread alone.
  bool ended_ = false;  // Nothing is long work any more.
  detail::Rounds rounds_;
  detail::BatchWindow window_;

  // Last: they use all of the above.
  std::optional<WorkQueue<detail::StoreCall>> callers_;
  std::optional<detail::LongWork> long_work_;
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

void BatchingDriver::cancel(const Executor& executor) { worker_->cancel(executor); }

void BatchingDriver::hint(const std::string& home) {
  if (!home.empty()) worker_->hint(home);
}

void BatchingDriver::hint_all() { worker_->hint({}); }

bool BatchingDriver::run_long(std::uint64_t tenant, std::move_only_function<void()> job) {
  return worker_->run_long(tenant, std::move(job));
}

DriverCounts BatchingDriver::counts() const { return worker_->counts(); }

}  // namespace once
