// A queue for each key of the operations that wait under it. A round takes as many of them as fit
// into one commit. One group of a key is under way at a time, so operations inside a process never
// overtake each other.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "once/batching_driver.h"

namespace once::detail {

// Not safe to share: belongs to the driver's thread.
class KeyQueues {
 public:
  struct Group {
    Key key;
    std::vector<Task*> members;  // Each is suspended at a JoinStep under `key`.
  };

  KeyQueues(const Limits& limits, std::size_t max_waiting)
      : limits_(limits), max_waiting_(max_waiting) {}

  // False when the queue of the task's key is full.
  bool push(Task& task);

  // The groups that may start now: one for each key with waiting operations and no group under
  // way.
  // Their keys are busy until finish().
  std::vector<Group> take_ready();

  // The group on `key` has ended. The next one starts a round later than it could, so that callers
  // that were just answered and come back at once are in it.
  void finish(const Key& key);

  bool ready() const { return !ready_.empty() || !next_round_.empty(); }

 private:
  struct Queue {
    std::deque<Task*> waiting;
    bool busy = false;
  };

  std::vector<Task*> take_group(Queue& queue) const;

  const Limits& limits_;
  const std::size_t max_waiting_;
  std::map<Key, Queue> queues_;
  std::vector<Key> ready_;       // Keys that may have a group to start.
  std::vector<Key> next_round_;  // Keys that will be ready in the next round.
};

inline JoinStep& join_step(Task& task) { return *std::get<JoinStep*>(task.step); }

}  // namespace once::detail
