#include "drivers/rounds.h"

#include <algorithm>
#include <iterator>

#include "drivers/perform.h"
#include "kernel/change.h"

namespace once::detail {
namespace {

std::span<const Key> keys_of(const Step& step) {
  if (auto* const* one = std::get_if<GetOneStep*>(&step)) return {(*one)->key, 1};
  return std::get<GetStep*>(step)->keys;
}

std::span<const std::span<Write>> transactions_of(const Step& step) {
  if (auto* const* one = std::get_if<CommitStep*>(&step)) return {&(*one)->writes, 1};
  return std::get<CommitEachStep*>(step)->transactions;
}

// Gives a step its part of a joint answer.
void answer_commits(const Step& step, std::span<Result<CommitOutcome>> outcomes) {
  if (auto* const* one = std::get_if<CommitStep*>(&step)) {
    (*one)->answer = std::move(outcomes.front());
    return;
  }
  std::get<CommitEachStep*>(step)->answer = std::vector(std::make_move_iterator(outcomes.begin()),
                                                        std::make_move_iterator(outcomes.end()));
}

void answer_get(const Step& step, std::span<std::optional<Item>> items) {
  if (auto* const* one = std::get_if<GetOneStep*>(&step)) {
    (*one)->answer = std::move(items.front());
    return;
  }
  std::get<GetStep*>(step)->answer =
      std::vector(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
}

// Splits `tasks` so that the sizes in each part add up to at most `limit`. A larger task is a part
// of its own.
template <class Size, class Part>
void in_parts(const std::vector<Task*>& tasks, std::size_t limit, Size size, Part part) {
  std::vector<Task*> taken;
  std::size_t total = 0;
  for (Task* task : tasks) {
    const std::size_t more = size(*task);
    if (!taken.empty() && total + more > limit) {
      part(std::exchange(taken, {}));
      total = 0;
    }
    taken.push_back(task);
    total += more;
  }
  if (!taken.empty()) part(taken);
}

}  // namespace

Rounds::Rounds(Store& store, Clock& clock, Entropy& entropy, std::size_t max_changes_per_key,
               Dispatch dispatch)
    : store_(store),
      clock_(clock),
      entropy_(entropy),
      dispatch_(std::move(dispatch)),
      queues_(store.limits(), max_changes_per_key) {}

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
  const std::vector<Task*> getting = std::exchange(getting_, {});
  const std::vector<Task*> scanning = std::exchange(scanning_, {});
  const std::vector<Task*> committing = std::exchange(committing_, {});
  in_parts(
      committing, store_.limits().commits_per_group,
      [](Task& task) { return transactions_of(task.step).size(); },
      [this](const std::vector<Task*>& part) { perform_commits(part); });
  in_parts(
      getting, store_.limits().keys_per_get, [](Task& task) { return keys_of(task.step).size(); },
      [this](const std::vector<Task*>& part) { perform_gets(part); });
  for (Task* task : scanning) perform(task->step, store_, entropy_);
  for (const auto* performed : {&committing, &getting, &scanning}) {
    for (Task* task : *performed) settle(*task);
  }
}

Time Rounds::next_due() const {
  if (!getting_.empty() || !scanning_.empty() || !committing_.empty() || queues_.ready()) {
    return Time::min();
  }
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
  if (std::holds_alternative<ScanStep*>(task.step) ||
      std::holds_alternative<ListStep*>(task.step)) {
    scanning_.push_back(&task);
  } else if (std::holds_alternative<CommitStep*>(task.step) ||
             std::holds_alternative<CommitEachStep*>(task.step)) {
    committing_.push_back(&task);
  } else if (auto* const* pause = std::get_if<PauseStep*>(&task.step)) {
    paused_.emplace(std::min(later(clock_.now(), (*pause)->length), task.deadline), &task);
  } else if (!std::holds_alternative<ChangeStep*>(task.step)) {
    getting_.push_back(&task);
  } else if (!queues_.push(task)) {
    fail_step(task.step, {ErrorCode::unavailable, "too many changes wait on one key"});
    return false;
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

// A joint get that fails is repeated one by one, so that a bad key fails only its own get.
void Rounds::perform_gets(const std::vector<Task*>& tasks) {
  std::vector<Key> keys;
  for (const Task* task : tasks) {
    const std::span<const Key> wanted = keys_of(task->step);
    keys.insert(keys.end(), wanted.begin(), wanted.end());
  }
  Result<std::vector<std::optional<Item>>> items = failure(ErrorCode::unavailable, "");
  if (tasks.size() > 1) items = store_.get(keys);
  std::size_t at = 0;
  for (const Task* task : tasks) {
    if (!items) {
      perform(task->step, store_, entropy_);
      continue;
    }
    const std::size_t count = keys_of(task->step).size();
    answer_get(task->step, std::span(*items).subspan(at, count));
    at += count;
  }
}

void Rounds::perform_commits(const std::vector<Task*>& tasks) {
  std::vector<Transaction> transactions;
  transactions.reserve(tasks.size());
  for (const Task* task : tasks) {
    const std::vector<Transaction> wanted = stamped(transactions_of(task->step), entropy_);
    transactions.insert(transactions.end(), wanted.begin(), wanted.end());
  }
  std::vector<Result<CommitOutcome>> outcomes = store_.commit_each(transactions);
  std::size_t at = 0;
  for (const Task* task : tasks) {
    const std::size_t count = transactions_of(task->step).size();
    answer_commits(task->step, std::span(outcomes).subspan(at, count));
    at += count;
  }
}

}  // namespace once::detail
