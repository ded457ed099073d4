#include "drivers/lanes.h"

#include <set>
#include <utility>

namespace once::detail {

bool Lanes::enter(Task& task) {
  const Key& key = change_step(task).change->key;
  Lane& lane = lanes_[key];
  if (lane.waiting.size() >= max_waiting_) return false;
  lane.waiting.push_back(&task);
  if (!lane.busy && lane.waiting.size() == 1) ready_.push_back(key);
  return true;
}

std::vector<Lanes::Group> Lanes::take_ready() {
  std::vector<Group> groups;
  for (Key& key : ready_) {
    Lane& lane = lanes_[key];
    groups.push_back({key, take_group(lane)});
    lane.busy = true;
  }
  ready_ = std::exchange(resting_, {});
  return groups;
}

void Lanes::leave(const Key& key) {
  const auto lane = lanes_.find(key);
  lane->second.busy = false;
  if (lane->second.waiting.empty()) {
    lanes_.erase(lane);
  } else {
    resting_.push_back(key);
  }
}

// In order of arrival, as many as one commit holds. A change that adds a key which the group writes
// already (the same id, sent twice) waits for the next group, where it will find that key taken.
std::vector<Task*> Lanes::take_group(Lane& lane) const {
  std::vector<Task*> group;
  std::deque<Task*> left;
  std::set<Key> keys;
  std::size_t writes = 1;
  for (Task* task : lane.waiting) {
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
  lane.waiting = std::move(left);
  return group;
}

}  // namespace once::detail
