// Changes that wait on the same key stand in one lane; each round takes as many as fit in one
// commit. One group of a lane is under way at a time, so changes inside a process never overtake
// each other.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "once/batching_driver.h"

namespace once::detail {

// Not safe to share: belongs to the driver's thread.
class Lanes {
 public:
  struct Group {
    Key key;
    std::vector<Task*> members;  // Each is suspended at a ChangeStep on `key`.
  };

  Lanes(const Limits& limits, std::size_t max_waiting)
      : limits_(limits), max_waiting_(max_waiting) {}

  // False when the lane is full.
  bool enter(Task& task);

  // The groups that may start now: one for each lane that has somebody waiting and no group under
  // way. Their lanes are busy until leave().
  std::vector<Group> take_ready();

  // The group on `key` is through. The next one starts a round later than it could: whoever was
  // just answered mostly comes back at once, and is in it then.
  void leave(const Key& key);

  bool ready() const { return !ready_.empty() || !resting_.empty(); }

 private:
  struct Lane {
    std::deque<Task*> waiting;
    bool busy = false;
  };

  std::vector<Task*> take_group(Lane& lane) const;

  const Limits& limits_;
  const std::size_t max_waiting_;
  std::map<Key, Lane> lanes_;
  std::vector<Key> ready_;    // Lanes that may have something to start.
  std::vector<Key> resting_;  // Lanes that will be ready in the next round.
};

inline ChangeStep& change_step(Task& task) { return *std::get<ChangeStep*>(task.step); }

}  // namespace once::detail
