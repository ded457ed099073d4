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
#include <span>
#include <unordered_map>
#include <vector>

#include "drivers/call_queues.h"
#include "drivers/heavy_readers.h"
#include "drivers/key_queues.h"
#include "drivers/parked_plans.h"
#include "once/batching_driver.h"

namespace once::detail {

// What of a plan takes long.
enum class LongPart : std::uint8_t {
  plan,           // Going on with the answer that it has.
  step_and_plan,  // Its step, too.
};

// What rounds may use. The functions are called on the driver's thread.
struct RoundWays {
  // Takes a plan whose step was answered to its executor. It may be admitted again.
  std::function<void(std::unique_ptr<Task>)> dispatch = nullptr;

  // Takes a call to where it is performed; then it comes back by finish(). Without it, a round
  // performs its calls itself, one after the other.
  std::function<void(StoreCall)> launch = nullptr;

  // Takes a plan to the long work, from where it may be admitted again. False, with the plan
  // untouched, if too much of it waits; never for LongPart::plan. Without it, nothing is long work.
  std::function<bool(std::unique_ptr<Task>& task, LongPart part)> go_long = nullptr;

  std::shared_ptr<WaitPlaces> places = nullptr;  // Without it, any number of plans may wait.

  HomeWatch* watch = nullptr;  // Is told for which homes plans wait.
};

// Not safe to share: belongs to the driver's thread.
class Rounds {
 public:
  Rounds(Store& store, Clock& clock, Entropy& entropy, std::size_t max_changes_per_key,
         RoundWays ways = {});

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

  // A plan that waited for the key has ended: the next in the line looks.
  void pass_on(const Key& key);

  // The plans of a caller that has hung up end, if they wait for a key.
  void cancel(const Executor& executor);

  // Another process may have written to this home, or to any if it is empty: the first in each line
  // for a key there looks.
  void hint(const std::string& home);

  // When the next round is due: in the past if steps wait, kNever if nothing waits. What waits for
  // a call under way is not counted: it goes on after finish().
  Time next_due() const;

  // Ends every plan that is under way. No call may be.
  void abandon();

  // Plans admitted and not yet ended, but for those that wait for a key.
  std::size_t under_way() const { return tasks_.size() - parked_.size(); }

 private:
  using Owned = std::unordered_map<Task*, std::unique_ptr<Task>>;

  void settle(Task& task);  // Runs the plan from its answered step to the next, or to its end.
  bool place(Task& task);   // Queues the task by its step; false if the step was refused at once.
  void end(Task& task, std::optional<Error> cut_short);
  bool end_if_late(Task& task);
  void start_groups();
  void finish_group(const KeyQueues::Group& group);
  void wake();
  void wake(const std::vector<Task*>& tasks);
  bool park(Task& task);
  std::vector<Task*> take_waiting_for(std::span<Task* const> committed);
  void launch_calls();
  void perform_commits(std::vector<Task*> tasks, std::vector<Task*>& performed);
  void perform_reads(CallKind kind, std::vector<Task*> tasks, std::vector<Task*>& performed);
  void perform_part(CallKind kind, std::vector<Task*> part, std::vector<Task*>& performed);
  bool goes_long(const Task& task);
  bool go_long(Task& task, LongPart part);
  Owned& owner_of(const Task& task) { return task.is_group ? groups_ : tasks_; }

  static constexpr std::size_t kKinds = 3;

  Store& store_;
  Clock& clock_;
  Entropy& entropy_;
  const RoundWays ways_;

  Owned tasks_;
  Owned groups_;  // Our own plans, which perform the changes of one key.
  std::array<std::vector<Task*>, kKinds> waiting_;  // For the next round, by CallKind.
  std::optional<CallQueues> calls_;                 // Instead of these, where calls are launched.
  std::multimap<Time, Task*> paused_;
  ParkedPlans parked_;
  KeyQueues queues_;
  HeavyReaders heavy_;
};

}  // namespace once::detail
