// Threads for what takes long, so that nothing short waits behind it: they run at a lower priority
// than all others. Tenants take turns, and each has a bounded part of the memory that such work
// needs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace once::detail {

// What is over this many bytes takes long: about a millisecond to parse or to merge.
inline constexpr std::size_t kLongWorkBytes = 64U << 10;

// Safe to share between threads.
class LongWork {
 public:
  // A job keeps `turn` for as long as what it has made is in memory: a tenant has a few of them.
  using Turn = std::shared_ptr<void>;
  using Job = std::move_only_function<void(Turn turn)>;

  LongWork(std::size_t threads, std::size_t most_waiting_of_tenant);
  ~LongWork() { finish(); }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  // Whether a job of the tenant may be put; if not, it counts as refused.
  bool has_room(std::uint64_t tenant);

  // Runs the job when it is the tenant's turn. It is put although there is no room: ask before.
  void put(std::uint64_t tenant, Job job);

  // Runs the job of who has a turn already.
  void go_on(Turn turn, Job job);

  // Takes no more jobs, and returns when all that were taken have run.
  void finish();

  std::size_t waiting() const;
  std::uint64_t refused() const;

 private:
  struct Queue {
    std::deque<Job> jobs;
    std::size_t turns = 0;
  };
  struct Next {
    Job job;
    Turn turn;
  };

  void work();
  bool next(Next& found) ONCE_REQUIRES(mutex_);
  void give_back(std::uint64_t tenant);
  void forget_if_idle(std::uint64_t tenant) ONCE_REQUIRES(mutex_);

  const std::size_t most_waiting_;
  const std::size_t most_turns_;            // Of all.
  const std::size_t most_turns_of_tenant_;  // Fewer than threads: another tenant finds one free.

  mutable Mutex mutex_;
  std::condition_variable signal_;
  std::unordered_map<std::uint64_t, Queue> queues_ ONCE_GUARDED_BY(mutex_);
  std::deque<std::uint64_t> order_ ONCE_GUARDED_BY(mutex_);  // Of tenants with waiting jobs.
  std::deque<Next> ready_ ONCE_GUARDED_BY(mutex_);           // They have their turn.
  std::size_t turns_ ONCE_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ ONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ ONCE_GUARDED_BY(mutex_) = 0;
  bool ending_ ONCE_GUARDED_BY(mutex_) = false;

  std::vector<std::thread> threads_;  // Last: they use all of the above.
};

}  // namespace once::detail
