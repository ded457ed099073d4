#include "drivers/key_queues.h"

#include <map>
#include <utility>

#include "kernel/change.h"

namespace once::detail {

bool KeyQueues::push(Task& task) {
  const Key& key = join_step(task).member->queue();
  Queue& queue = queues_[key];
  if (queue.waiting.size() >= max_waiting_) return false;
  queue.waiting.push_back(&task);
  if (!queue.busy && queue.waiting.size() == 1) ready_.push_back(key);
  return true;
}

std::vector<KeyQueues::Group> KeyQueues::take_ready() {
  std::vector<Group> groups;
  for (Key& key : ready_) {
    Queue& queue = queues_[key];
    groups.push_back({key, take_group(queue)});
    queue.busy = true;
  }
  ready_ = std::exchange(next_round_, {});
  return groups;
}

void KeyQueues::finish(const Key& key) {
  const auto queue = queues_.find(key);
  queue->second.busy = false;
  if (queue->second.waiting.empty()) {
    queues_.erase(queue);
  } else {
    next_round_.push_back(key);
  }
}

// In order of arrival, as many as one commit holds. An operation that also writes a key which the
// group writes already (the same id, sent twice) waits for the next group, where it finds that key
// taken.
std::vector<Task*> KeyQueues::take_group(Queue& queue) const {
  std::vector<Task*> group;
  std::deque<Task*> left;
  std::map<Key, bool> keys;  // And whether it is shared.
  std::size_t writes = 1;
  std::size_t bytes = 0;
  std::vector<Joint::Other> others;
  for (Task* task : queue.waiting) {
    const Joint& member = *join_step(*task).member;
    others.clear();
    member.list_others(others);
    bool fits = writes + member.writes() <= limits_.writes_per_commit &&
                bytes + member.bytes() <= kGroupBytes;
    for (const Joint::Other& other : others) {
      const auto taken = fits ? keys.find(*other.key) : keys.end();
      fits = fits && (taken == keys.end() || (taken->second && other.shared));
    }
    if (!fits && !group.empty()) {
      left.push_back(task);
      continue;
    }
    writes += member.writes();
    for (const Joint::Other& other : others) {
      if (!keys.emplace(*other.key, other.shared).second) --writes;  // It is written once.
    }
    bytes += member.bytes();
    group.push_back(task);
  }
  queue.waiting = std::move(left);
  return group;
}

}  // namespace once::detail
