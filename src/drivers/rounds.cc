#include "drivers/rounds.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "drivers/long_work.h"
#include "drivers/perform.h"

namespace once::detail {
namespace {

bool is_cancelled(const Task& task) {
  return task.executor != nullptr && task.executor->is_cancelled();
}

// The commits that are large, and the later ones of their tenants.
std::vector<Task*> take_large_commits(std::vector<Task*>& tasks) {
  std::vector<Task*> large;
  std::vector<std::uint64_t> tenants;
  std::erase_if(tasks, [&](Task* task) {
    if (task->urgent) return false;
    const bool is_large = written_bytes(task->step) > kLongWorkBytes;
    if (is_large) tenants.push_back(task->tenant);
    const bool taken =
        is_large || (!tenants.empty() && std::ranges::count(tenants, task->tenant) > 0);
    if (taken) large.push_back(task);
    return taken;
  });
  return large;
}

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

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

// Where there is long work: reads in one call, each of which may be as large as the store takes;
// and bytes of large commits in one round, of which one may be larger.
constexpr std::size_t kReadsInPart = 16;
constexpr std::size_t kLargeCommitBytes = 4U << 20;

// When a plan that waited for a key ends, so many others look: if the claim is done, all of them
// know in a few rounds.
constexpr std::size_t kLookNext = 2;

}  // namespace

Rounds::Rounds(Store& store, Clock& clock, Entropy& entropy, std::size_t max_changes_per_key,
               RoundWays ways)
    : store_(store),
      clock_(clock),
      entropy_(entropy),
      ways_(std::move(ways)),
      parked_(ways_.places ? ways_.places : std::make_shared<WaitPlaces>(kAny, kAny), ways_.watch),
      queues_(store.limits(), max_changes_per_key) {
  if (ways_.launch) calls_.emplace(store);
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
  owner_of(added).emplace(&added, std::move(task));
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
  std::vector<Task*> performed;
  perform_commits(std::move(waiting[0]), performed);
  const std::size_t commits = performed.size();
  perform_reads(CallKind::get, std::move(waiting[1]), performed);
  perform_reads(CallKind::scan, std::move(waiting[2]), performed);
  heavy_.round_ended();
  std::vector<Task*> woken;
  if (!parked_.empty()) woken = take_waiting_for(std::span(performed).first(commits));
  for (Task* task : performed) settle(*task);
  wake(woken);
}

void Rounds::perform_part(CallKind kind, std::vector<Task*> part, std::vector<Task*>& performed) {
  StoreCall call{.kind = kind, .tasks = std::move(part)};
  call.stamp(entropy_);
  call.perform(store_, entropy_);
  performed.insert(performed.end(), call.tasks.begin(), call.tasks.end());
}

// Large commits go after the small ones, and few in a round: others do not wait until all of them
// are written. Those of a tenant keep their order.
void Rounds::perform_commits(std::vector<Task*> tasks, std::vector<Task*>& performed) {
  put_urgent_first(tasks);
  std::vector<Task*> large;
  if (ways_.go_long) large = take_large_commits(tasks);
  const std::size_t most = most_in_call(CallKind::commit, store_.limits());
  const auto perform = [&](std::vector<Task*> part) {
    perform_part(CallKind::commit, std::move(part), performed);
  };
  in_parts(tasks, most, perform);
  std::size_t bytes = 0;
  auto next = large.begin();
  while (next != large.end() && bytes < kLargeCommitBytes) bytes += written_bytes((*next++)->step);
  in_parts({large.begin(), next}, most, perform);
  waiting_[0].insert(waiting_[0].begin(), next, large.end());
}

void Rounds::perform_reads(CallKind kind, std::vector<Task*> tasks, std::vector<Task*>& performed) {
  put_urgent_first(tasks);
  const std::size_t most = most_in_call(kind, store_.limits());
  if (!ways_.go_long) {
    return in_parts(tasks, most, [&](std::vector<Task*> part) {
      perform_part(kind, std::move(part), performed);
    });
  }
  // What was read may make its tenant a heavy reader: then the rest is long work.
  in_parts(tasks, std::min(most, kReadsInPart), [&](std::vector<Task*> part) {
    std::erase_if(part, [&](Task* task) {
      if (!goes_long(*task)) return false;
      if (go_long(*task, LongPart::step_and_plan)) return true;
      fail_step(task->step, {ErrorCode::unavailable, "too much long work waits"});
      performed.push_back(task);
      return true;
    });
    if (part.empty()) return;
    const std::size_t before = performed.size();
    perform_part(kind, std::move(part), performed);
    for (const Task* task : std::span(performed).subspan(before)) {
      const std::size_t bytes = answered_bytes(task->step);
      if (bytes > kLongWorkBytes) heavy_.read(task->tenant, bytes, clock_.now());
    }
  });
}

// Of reads.
bool Rounds::goes_long(const Task& task) {
  if (task.urgent) return false;
  return std::holds_alternative<ListStep*>(task.step) ||
         (!heavy_.empty() && heavy_.contains(task.tenant, clock_.now()));
}

// False if too much of it waits.
bool Rounds::go_long(Task& task, LongPart part) {
  Owned& owner = owner_of(task);
  auto owned = owner.extract(&task);
  if (ways_.go_long(owned.mapped(), part)) return true;
  owner.insert(std::move(owned));
  return false;
}

void Rounds::finish(const StoreCall& call) {
  calls_->finish(call);
  std::vector<Task*> woken;
  if (call.kind == CallKind::commit && !parked_.empty()) woken = take_waiting_for(call.tasks);
  for (Task* task : call.tasks) settle(*task);
  wake(woken);
}

void Rounds::launch_calls() {
  while (std::optional<StoreCall> call = calls_->take_next()) {
    std::erase_if(call->tasks, [this](Task* task) { return end_if_late(*task); });
    if (call->tasks.empty()) {
      calls_->finish(*call);
      continue;
    }
    call->stamp(entropy_);
    ways_.launch(std::move(*call));
  }
}

Time Rounds::next_due() const {
  const auto waits = [](const std::vector<Task*>& tasks) { return !tasks.empty(); };
  if (queues_.ready() || std::ranges::any_of(waiting_, waits)) return Time::min();
  const Time parked = parked_.next_due();
  return paused_.empty() ? parked : std::min(parked, paused_.begin()->first);
}

void Rounds::abandon() {
  groups_.clear();
  for (auto& [task, owned] : tasks_) {
    task->finish(stopped(task->saw_unknown));
  }
  tasks_.clear();
}

void Rounds::settle(Task& task) {
  if (ways_.go_long && answered_bytes(task.step) + task.weight > kLongWorkBytes) {
    go_long(task, LongPart::plan);
    return;
  }
  if (task.executor != nullptr) return ways_.dispatch(std::move(tasks_.extract(&task).mapped()));
  do {
    resume(task);
    if (task.leaf == nullptr) return end(task, std::nullopt);
    if (end_if_late(task)) return;
  } while (!place(task));
}

// A plan that waits for others gives up its turn among the long work: they may need it.
bool Rounds::place(Task& task) {
  if (auto* const* pause = std::get_if<PauseStep*>(&task.step)) {
    task.turn.reset();
    paused_.emplace(std::min(later(clock_.now(), (*pause)->length), task.deadline), &task);
  } else if (std::holds_alternative<WaitStep*>(task.step)) {
    return park(task);
  } else if (std::holds_alternative<JoinStep*>(task.step)) {
    task.turn.reset();
    if (queues_.push(task)) return true;
    fail_step(task.step, {ErrorCode::unavailable, "too many operations wait on one key"});
    return false;
  } else if (calls_) {
    calls_->push(task);
  } else {
    waiting_[static_cast<std::size_t>(kind_of(task.step))].push_back(&task);
  }
  return true;
}

bool Rounds::park(Task& task) {
  task.turn.reset();
  if (is_cancelled(task)) {
    end(task, stopped(task.saw_unknown));
    return true;
  }
  if (parked_.add(task, clock_.now())) return true;
  fail_step(task.step, {ErrorCode::unavailable, "too many wait for keys"});
  return false;
}

void Rounds::end(Task& task, std::optional<Error> cut_short) {
  const auto owned = owner_of(task).extract(&task);
  const std::shared_ptr<WaitPlace> waited = std::move(task.waiting);
  task.finish(std::move(cut_short));
  if (waited) pass_on(waited->key);
}

bool Rounds::end_if_late(Task& task) {
  if (task.deadline == kNever || clock_.now() < task.deadline) return false;
  end(task, out_of_time(task.saw_unknown));
  return true;
}

void Rounds::wake() {
  const Time now = clock_.now();
  std::vector<Task*> due = parked_.take_due(now);
  while (!paused_.empty() && paused_.begin()->first <= now) {
    due.push_back(paused_.extract(paused_.begin()).mapped());
  }
  wake(due);
}

void Rounds::wake(const std::vector<Task*>& tasks) {
  for (Task* task : tasks) {
    if (is_cancelled(*task)) {
      end(*task, stopped(task->saw_unknown));
    } else if (!end_if_late(*task)) {
      settle(*task);
    }
  }
}

// The first in the line for each key that was written.
std::vector<Task*> Rounds::take_waiting_for(std::span<Task* const> committed) {
  std::vector<Task*> woken;
  const auto look = [&](std::span<const Write> writes, const Result<CommitOutcome>& outcome) {
    if (!outcome || !once::committed(*outcome)) return;
    for (const Write& write : writes) {
      const std::vector<Task*> first = parked_.take_for_write(write.key, clock_.now());
      woken.insert(woken.end(), first.begin(), first.end());
    }
  };
  for (const Task* task : committed) {
    if (auto* const* one = std::get_if<CommitStep*>(&task->step)) {
      look((*one)->writes, (*one)->answer);
    } else if (auto* const* each = std::get_if<CommitEachStep*>(&task->step); (*each)->answer) {
      for (std::size_t i = 0; i < (*each)->transactions.size(); ++i) {
        look((*each)->transactions[i], (*(*each)->answer)[i]);
      }
    }
  }
  return woken;
}

void Rounds::pass_on(const Key& key) { wake(parked_.take_after(key, kLookNext, clock_.now())); }

void Rounds::hint(const std::string& home) {
  for (const Key& key : parked_.keys_in(home)) wake(parked_.take_for_write(key, clock_.now()));
}

void Rounds::cancel(const Executor& executor) {
  wake(parked_.take_cancelled(executor, clock_.now()));
}

void Rounds::start_groups() {
  for (KeyQueues::Group& group : queues_.take_ready()) {
    std::erase_if(group.members, [this](Task* member) { return end_if_late(*member); });
    if (group.members.empty()) {
      queues_.finish(group.key);
      continue;
    }
    std::vector<Joint*> members;
    std::size_t weight = 0;
    for (Task* task : group.members) {
      members.push_back(join_step(*task).member);
      weight += members.back()->weight();
    }
    const std::uint64_t tenant = group.members.front()->tenant;
    Joint& first = *members.front();
    auto done = [this, group](const Result<std::monostate>&) { finish_group(group); };
    auto task = std::make_unique<PlanTask<std::monostate>>(
        store_, entropy_, first.perform(std::move(members)), std::move(done));
    Task& added = *task;
    added.is_group = true;
    added.tenant = tenant;
    added.weight = weight;
    groups_.emplace(&added, std::move(task));
    settle(added);
  }
}

void Rounds::finish_group(const KeyQueues::Group& group) {
  queues_.finish(group.key);
  for (Task* member : group.members) {
    JoinStep& step = join_step(*member);
    if (step.member->error) step.answer = std::unexpected(*step.member->error);
    settle(*member);
  }
}

}  // namespace once::detail
