#include "drivers/rounds.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "drivers/perform.h"
#include "kernel/change.h"

namespace once::detail {
namespace {

// Urgent ones go before the others; both keep their order.
void put_urgent_first(std::vector<Task*>& tasks) {
  const auto is_urgent = [](const Task* task) { return task->urgent; };
  if (std::ranges::none_of(tasks, is_urgent)) return;
  std::vector<Task*> sorted;
  sorted.reserve(tasks.size());
  std::ranges::copy_if(tasks, std::back_inserter(sorted), is_urgent);
  std::ranges::copy_if(tasks, std::back_inserter(sorted), std::not_fn(is_urgent));
  tasks = std::move(sorted);
}

// Splits `tasks` so that each part is as large as the store takes at most in one call. A larger
// task is a part of its own.
template <class Part>
void in_parts(const std::vector<Task*>& tasks, std::size_t limit, Part part) {
  std::vector<Task*> taken;
  std::size_t total = 0;
  for (Task* task : tasks) {
    const std::size_t more = size_of(task->step);
    if (!taken.empty() && total + more > limit) {
      part(std::exchange(taken, {}));
      total = 0;
    }
    taken.push_back(task);
    total += more;
  }
  if (!taken.empty()) part(std::move(taken));
}

}  // namespace

Rounds::Rounds(Store& store, Clock& clock, Entropy& entropy, std::size_t max_changes_per_key,
               Dispatch dispatch, Launch launch)
    : store_(store),
      clock_(clock),
      entropy_(entropy),
      dispatch_(std::move(dispatch)),
      launch_(std::move(launch)),
      queues_(store.limits(), max_changes_per_key) {
  if (launch_) calls_.emplace(store);
}

void Rounds::begin(Task& task) {
  task.combines = true;
  go_on(task);
}

void Rounds::resume(Task& task) {
  task.saw_unknown |= is_unknown(task.step);
  go_on(task);
}

void Rounds::admit(std::unique_ptr<Task> task) {
  Task& added = *task;
  tasks_.emplace(&added, std::move(task));
  if (added.leaf == nullptr) return end(added, std::nullopt);
  if (end_if_late(added) || place(added)) return;
  settle(added);
}

void Rounds::run_round() {
  wake();
  start_groups();
  if (calls_) return launch_calls();
  std::array<std::vector<Task*>, kKinds> waiting;
  waiting.swap(waiting_);
  for (const CallKind kind : {CallKind::commit, CallKind::get, CallKind::scan}) {
    std::vector<Task*>& tasks = waiting[static_cast<std::size_t>(kind)];
    put_urgent_first(tasks);
    in_parts(tasks, most_in_call(kind, store_.limits()), [&](std::vector<Task*> part) {
      StoreCall call{.kind = kind, .tasks = std::move(part)};
      call.stamp(entropy_);
      call.perform(store_, entropy_);
    });
  }
  for (const std::vector<Task*>& performed : waiting) {
    for (Task* task : performed) settle(*task);
  }
}

void Rounds::finish(const StoreCall& call) {
  calls_->finish(call);
  for (Task* task : call.tasks) settle(*task);
}

void Rounds::launch_calls() {
  while (std::optional<StoreCall> call = calls_->take_next()) {
    std::erase_if(call->tasks, [this](Task* task) { return end_if_late(*task); });
    if (call->tasks.empty()) {
      calls_->finish(*call);
      continue;
    }
    call->stamp(entropy_);
    launch_(std::move(*call));
  }
}

Time Rounds::next_due() const {
  const auto waits = [](const std::vector<Task*>& tasks) { return !tasks.empty(); };
  if (queues_.ready() || std::ranges::any_of(waiting_, waits)) return Time::min();
  return paused_.empty() ? kNever : paused_.begin()->first;
}

void Rounds::abandon() {
  groups_.clear();
  for (auto& [task, owned] : tasks_) {
    task->finish(stopped(task->saw_unknown));
  }
  tasks_.clear();
}

void Rounds::settle(Task& task) {
  if (task.executor != nullptr) return dispatch_(std::move(tasks_.extract(&task).mapped()));
  do {
    resume(task);
    if (task.leaf == nullptr) return end(task, std::nullopt);
    if (end_if_late(task)) return;
  } while (!place(task));
}

bool Rounds::place(Task& task) {
  if (auto* const* pause = std::get_if<PauseStep*>(&task.step)) {
    paused_.emplace(std::min(later(clock_.now(), (*pause)->length), task.deadline), &task);
  } else if (std::holds_alternative<ChangeStep*>(task.step)) {
    if (queues_.push(task)) return true;
    fail_step(task.step, {ErrorCode::unavailable, "too many changes wait on one key"});
    return false;
  } else if (calls_) {
    calls_->push(task);
  } else {
    waiting_[static_cast<std::size_t>(kind_of(task.step))].push_back(&task);
  }
  return true;
}

void Rounds::end(Task& task, std::optional<Error> cut_short) {
  auto owned = tasks_.extract(&task);
  if (owned.empty()) owned = groups_.extract(&task);
  task.finish(std::move(cut_short));
}

bool Rounds::end_if_late(Task& task) {
  if (task.deadline == kNever || clock_.now() < task.deadline) return false;
  end(task, out_of_time(task.saw_unknown));
  return true;
}

void Rounds::wake() {
  const Time now = clock_.now();
  while (!paused_.empty() && paused_.begin()->first <= now) {
    Task& task = *paused_.extract(paused_.begin()).mapped();
    if (task.executor != nullptr && task.executor->is_cancelled()) {
      end(task, stopped(task.saw_unknown));
    } else if (!end_if_late(task)) {
      settle(task);
    }
  }
}

void Rounds::start_groups() {
  for (KeyQueues::Group& group : queues_.take_ready()) {
    std::erase_if(group.members, [this](Task* member) { return end_if_late(*member); });
    std::vector<ChangeStep*> steps;
    for (Task* member : group.members) steps.push_back(&change_step(*member));
    auto done = [this, group](const Result<std::monostate>&) { finish_group(group); };
    auto task = std::make_unique<PlanTask<std::monostate>>(
        store_, entropy_, perform_changes(std::move(steps)), std::move(done));
    Task& added = *task;
    groups_.emplace(&added, std::move(task));
    settle(added);
  }
}

void Rounds::finish_group(const KeyQueues::Group& group) {
  queues_.finish(group.key);
  for (Task* member : group.members) settle(*member);
}

}  // namespace once::detail
