// The heart of the batching driver, without its thread: plans come in, and each round performs
// every step they wait for, all commits as one commit_each.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "drivers/lanes.h"
#include "once/batching_driver.h"

namespace once::detail {

// Not safe to share: belongs to the driver's thread.
class Rounds {
 public:
  // Gets a plan whose step was answered and that goes on elsewhere; it may be admitted again.
  using SendHome = std::function<void(std::unique_ptr<Task>)>;

  Rounds(Store& store, Clock& clock, Entropy& entropy, std::size_t max_changes_per_key,
         SendHome send_home = nullptr);

  // Runs a plan to its first step. Touches nothing else, so whoever submits it does this: the
  // driver's thread is the narrow place.
  static void begin(Task& task);

  // The same for one whose step was answered.
  static void resume(Task& task);

  // Takes in a plan that was begun.
  void admit(std::unique_ptr<Task> task);

  // Performs every step that waits, and wakes whoever's pause is over.
  void run_round();

  // When the next round is due: now or earlier if steps wait, kNever if nothing does.
  Time next_due() const;

  // Ends everything that is under way.
  void abandon();

  // Plans taken in and not yet ended.
  std::size_t under_way() const { return tasks_.size(); }

 private:
  using Owned = std::unordered_map<Task*, std::unique_ptr<Task>>;

  void settle(Task& task);  // The plan goes on from its answered step to the next, or to its end.
  bool place(Task& task);   // Queues the task by its step; false: the step was answered at once.
  void end(Task& task, std::optional<Error> cut_short);
  bool end_if_late(Task& task);
  void start_groups();
  void finish_group(const Lanes::Group& group);
  void wake();
  void perform_gets(const std::vector<Task*>& tasks);
  void perform_commits(const std::vector<Task*>& tasks);

  Store& store_;
  Clock& clock_;
  Entropy& entropy_;
  const SendHome send_home_;

  Owned tasks_;
  Owned groups_;  // Our own plans, which perform the changes of a lane.
  std::vector<Task*> getting_;
  std::vector<Task*> scanning_;
  std::vector<Task*> committing_;
  std::multimap<Time, Task*> paused_;
  Lanes lanes_;
};

}  // namespace once::detail
