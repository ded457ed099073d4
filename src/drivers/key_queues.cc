#include "drivers/key_queues.h"

#include <set>
#include <utility>

namespace once::detail {

bool KeyQueues::push(Task& task) {
  const Key& key = change_step(task).change->key;
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

// In order of arrival, as many as one commit holds. A change that also writes a key which the group
// writes already (the same id, sent twice) waits for the next group, where it finds that key taken.
std::vector<Task*> KeyQueues::take_group(Queue& queue) const {
  std::vector<Task*> group;
  std::deque<Task*> left;
  std::set<Key> keys;
  std::size_t writes = 1;
  for (Task* task : queue.waiting) {
    const std::vector<Write>& also = change_step(*task).change->also;
    bool fits = writes + also.size() <= limits_.writes_per_commit;
    for (const Write& write : also) fits = fits && !keys.contains(write.key);
    if (!fits && !group.empty()) {
      left.push_back(task);
      continue;
    }
    for (const Write& write : also) keys.insert(write.key);
    writes += also.size();
    group.push_back(task);
  }
  queue.waiting = std::move(left);
  return group;
}

}  // namespace once::detail
