// The batching driver without its threads. Each round performs every step that plans wait for, and
// all commits as one commit_each; on a store that takes several calls at once, each round starts
// the calls that can start, and each is brought back once performed.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "drivers/call_queues.h"
#include "drivers/key_queues.h"
#include "once/batching_driver.h"

namespace once::detail {

// Not safe to share: belongs to the driver's thread.
class Rounds {
 public:
  // Takes a plan whose step was answered to its executor. It may be admitted again.
  using Dispatch = std::function<void(std::unique_ptr<Task>)>;

  // Takes a call to where it is performed; then it comes back by finish().
  using Launch = std::function<void(StoreCall)>;

  // Without `launch`, a round performs its calls itself, one after the other.
  Rounds(Store& store, Clock& clock, Entropy& entropy, std::size_t max_changes_per_key,
         Dispatch dispatch = nullptr, Launch launch = nullptr);

  // Runs a plan to its first step. Touches nothing else, so that the submitting thread can do it:
  // the driver's thread is the bottleneck.
  static void begin(Task& task);

  // The same for a plan whose step was answered.
  static void resume(Task& task);

  // Takes a plan that was begun.
  void admit(std::unique_ptr<Task> task);

  // Performs every step that waits, or starts the calls for it, and wakes the plans whose pause is
  // over.
  void run_round();

  // A call that was started has been performed. The plans go on.
  void finish(const StoreCall& call);

  // When the next round is due: in the past if steps wait, kNever if nothing waits. What waits for
  // a call under way is not counted: it goes on after finish().
  Time next_due() const;

  // Ends every plan that is under way. No call may be.
  void abandon();

  // Plans admitted and not yet ended.
  std::size_t under_way() const { return tasks_.size(); }

 private:
  using Owned = std::unordered_map<Task*, std::unique_ptr<Task>>;

  void settle(Task& task);  // Runs the plan from its answered step to the next, or to its end.
  bool place(Task& task);   // Queues the task by its step; false if the step was refused at once.
  void end(Task& task, std::optional<Error> cut_short);
  bool end_if_late(Task& task);
  void start_groups();
  void finish_group(const KeyQueues::Group& group);
  void wake();
  void launch_calls();

  static constexpr std::size_t kKinds = 3;

  Store& store_;
  Clock& clock_;
  Entropy& entropy_;
  const Dispatch dispatch_;
  const Launch launch_;

  Owned tasks_;
  Owned groups_;  // Our own plans, which perform the changes of one key.
  std::array<std::vector<Task*>, kKinds> waiting_;  // For the next round, by CallKind.
  std::optional<CallQueues> calls_;                 // Instead of these, where calls are launched.
  std::multimap<Time, Task*> paused_;
  KeyQueues queues_;
};

}  // namespace once::detail
