#include "drivers/long_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace once::detail {
namespace {

// Lowers the priority of the calling thread, as nice(2) does; on Linux it is a thread's own. Not by
// much: what it holds for a moment, such as a lock of the store, others wait for.
void step_back() {
  constexpr int kSteps = 5;
  const auto thread = static_cast<id_t>(::gettid());
  std::ignore = ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kSteps);
}

}  // namespace

LongWork::LongWork(std::size_t threads, std::size_t most_waiting_of_tenant)
    : most_waiting_(most_waiting_of_tenant),
      most_turns_(2 * std::max<std::size_t>(threads, 2)),
      most_turns_of_tenant_(most_turns_ / 2 - 1) {
  for (std::size_t i = 0; i < most_turns_ / 2; ++i) threads_.emplace_back([this] { work(); });
}

bool LongWork::has_room(std::uint64_t tenant) {
  const Lock lock(mutex_);
  const auto found = queues_.find(tenant);
  const bool full = found != queues_.end() && found->second.jobs.size() >= most_waiting_;
  if (full) ++refused_;
  return !full;
}

void LongWork::put(std::uint64_t tenant, Job job) {
  {
    const Lock lock(mutex_);
    if (ending_) return;
    Queue& queue = queues_[tenant];
    queue.jobs.push_back(std::move(job));
    if (queue.jobs.size() == 1) order_.push_back(tenant);
    ++waiting_;
  }
  signal_.notify_one();
}

void LongWork::go_on(Turn turn, Job job) {
  {
    const Lock lock(mutex_);
    if (ending_) return;
    ready_.push_back({std::move(job), std::move(turn)});
  }
  signal_.notify_one();
}

void LongWork::finish() {
  {
    const Lock lock(mutex_);
    ending_ = true;
  }
  signal_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::size_t LongWork::waiting() const {
  const Lock lock(mutex_);
  return waiting_;
}

std::uint64_t LongWork::refused() const {
  const Lock lock(mutex_);
  return refused_;
}

void LongWork::work() {
  step_back();
  for (;;) {
    Next found;
    {
      Lock lock(mutex_);
      while (!next(found)) {
        if (ending_ && ready_.empty() && order_.empty()) return;
        signal_.wait(lock.native());
      }
    }
    found.job(std::move(found.turn));
  }
}

// What has its turn goes first: others may wait for what it holds.
bool LongWork::next(Next& found) {
  if (!ready_.empty()) {
    found = std::move(ready_.front());
    ready_.pop_front();
    return true;
  }
  // At the end those who have a turn may wait for what never comes.
  if (turns_ >= most_turns_ && !ending_) return false;
  const auto may_start = [this](std::uint64_t tenant) ONCE_REQUIRES(mutex_) {
    return queues_[tenant].turns < most_turns_of_tenant_ || ending_;
  };
  const auto at = std::ranges::find_if(order_, may_start);
  if (at == order_.end()) return false;
  const std::uint64_t tenant = *at;
  order_.erase(at);
  Queue& queue = queues_[tenant];
  found.job = std::move(queue.jobs.front());
  queue.jobs.pop_front();
  if (!queue.jobs.empty()) order_.push_back(tenant);
  ++queue.turns;
  ++turns_;
  --waiting_;
  found.turn = Turn(this, [this, tenant](void*) { give_back(tenant); });
  return true;
}

void LongWork::give_back(std::uint64_t tenant) {
  {
    const Lock lock(mutex_);
    --turns_;
    --queues_[tenant].turns;
    forget_if_idle(tenant);
  }
  signal_.notify_all();
}

void LongWork::forget_if_idle(std::uint64_t tenant) {
  const auto queue = queues_.find(tenant);
  if (queue->second.turns == 0 && queue->second.jobs.empty()) queues_.erase(queue);
}

}  // namespace once::detail
