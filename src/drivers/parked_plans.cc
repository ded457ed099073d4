#include "drivers/parked_plans.h"

#include <algorithm>

namespace once::detail {
namespace {

const WaitStep& wait_step(const Task& task) { return *std::get<WaitStep*>(task.step); }

}  // namespace

bool WaitPlaces::take(std::uint64_t tenant) {
  const Lock lock(mutex_);
  const auto found = by_tenant_.find(tenant);
  const std::size_t of_tenant = found != by_tenant_.end() ? found->second : 0;
  if (taken_ >= most_ || of_tenant >= most_of_tenant_) {
    ++refused_;
    return false;
  }
  ++taken_;
  by_tenant_[tenant] = of_tenant + 1;
  return true;
}

void WaitPlaces::give_back(std::uint64_t tenant) {
  const Lock lock(mutex_);
  --taken_;
  const auto found = by_tenant_.find(tenant);
  if (--found->second == 0) by_tenant_.erase(found);
}

std::size_t WaitPlaces::taken() const {
  const Lock lock(mutex_);
  return taken_;
}

bool ParkedPlans::add(Task& task, Time now) {
  const WaitStep& step = wait_step(task);
  const bool looked = task.waiting && task.waiting->key == *step.key;
  if (!looked) {
    if (!places_->take(task.tenant)) return false;
    task.waiting = std::make_shared<WaitPlace>(places_, task.tenant, *step.key, ++last_number_);
  }
  const auto [at, fresh] = lines_.try_emplace(task.waiting->key);
  if (fresh && watch_ != nullptr) watch_->add(at->first.partition.home);
  Line& line = at->second;
  line.waiting.emplace(task.waiting->number, &task);
  const bool met_all = !looked || line.writes == task.waiting->seen;
  if (looked) --line.looking;
  const Time until = std::min(later(now, step.longest), task.deadline);
  const auto due = due_.emplace(met_all ? due_of(task, line, until, now) : now, &task);
  parked_.emplace(&task, Parked{until, due});
  if (task.executor != nullptr) by_executor_.emplace(task.executor, &task);
  return true;
}

// The first in the line looks for all of it.
Time ParkedPlans::due_of(const Task& task, const Line& line, Time until, Time now) const {
  if (line.waiting.begin()->second != &task) return until;
  return std::min(later(now, wait_step(task).poll), until);
}

void ParkedPlans::remove(Task& task, Time now) {
  const auto parked = parked_.find(&task);
  due_.erase(parked->second.due);
  parked_.erase(parked);
  const auto [first, last] = by_executor_.equal_range(task.executor);
  const auto known = std::find_if(first, last, [&](const auto& at) { return at.second == &task; });
  if (known != last) by_executor_.erase(known);
  Line& line = lines_.at(task.waiting->key);
  const bool was_first = line.waiting.begin()->second == &task;
  line.waiting.erase(task.waiting->number);
  ++line.looking;
  task.waiting->seen = line.writes;
  if (was_first && !line.waiting.empty()) {
    Task& next = *line.waiting.begin()->second;
    Parked& moved = parked_.at(&next);
    due_.erase(moved.due);
    moved.due = due_.emplace(due_of(next, line, moved.until, now), &next);
  }
}

std::vector<Task*> ParkedPlans::take_due(Time now) {
  std::vector<Task*> taken;
  while (!due_.empty() && due_.begin()->first <= now) {
    taken.push_back(due_.begin()->second);
    remove(*taken.back(), now);
  }
  return taken;
}

std::vector<Task*> ParkedPlans::take_first(Line& line, std::size_t most, Time now) {
  std::vector<Task*> taken;
  while (!line.waiting.empty() && taken.size() < most) {
    taken.push_back(line.waiting.begin()->second);
    remove(*taken.back(), now);
  }
  return taken;
}

std::vector<Task*> ParkedPlans::take_for_write(const Key& key, Time now) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return {};
  ++line->second.writes;
  return line->second.looking > 0 ? std::vector<Task*>() : take_first(line->second, 1, now);
}

std::vector<Task*> ParkedPlans::take_after(const Key& key, std::size_t most, Time now) {
  const auto line = lines_.find(key);
  if (--line->second.looking > 0 || !line->second.waiting.empty()) {
    return take_first(line->second, most, now);
  }
  if (watch_ != nullptr) watch_->remove(key.partition.home);
  lines_.erase(line);
  return {};
}

std::vector<Key> ParkedPlans::keys_in(const std::string& home) const {
  std::vector<Key> keys;
  for (auto at = lines_.lower_bound({{home, ""}, 0}); at != lines_.end(); ++at) {
    if (!home.empty() && at->first.partition.home != home) break;
    keys.push_back(at->first);
  }
  return keys;
}

std::vector<Task*> ParkedPlans::take_cancelled(const Executor& executor, Time now) {
  std::vector<Task*> taken;
  const auto [first, last] = by_executor_.equal_range(&executor);
  for (auto at = first; at != last; ++at) {
    if (at->first->is_cancelled()) taken.push_back(at->second);
  }
  for (Task* task : taken) remove(*task, now);
  return taken;
}

}  // namespace once::detail
