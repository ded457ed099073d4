// A fixed number of threads that each do one job at a time, and a bounded queue of jobs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace once {

// Safe to share between threads.
template <class Job>
class WorkQueue {
 public:
  using Work = std::function<void(Job)>;

  // `make` is called for each thread before they start, and returns the work of that thread alone.
  WorkQueue(std::size_t threads, std::size_t max_waiting, const std::function<Work()>& make)
      : max_waiting_(max_waiting) {
    for (std::size_t i = 0; i < threads; ++i) works_.push_back(make());
    for (const Work& work : works_) {
      threads_.emplace_back([this, &work] {
        while (std::optional<Job> job = next()) attempt(work, std::move(*job));
      });
    }
  }
  ~WorkQueue() { finish(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False, with the job untouched, if too many wait or finish() was called.
  bool put(Job& job) {
    {
      const Lock lock(mutex_);
      if (ending_ || waiting_.size() >= max_waiting_) return false;
      waiting_.push_back(std::move(job));
    }
    signal_.notify_one();
    return true;
  }

  // Takes no more jobs, and returns when all that were taken are done.
  void finish() {
    {
      const Lock lock(mutex_);
      ending_ = true;
    }
    signal_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  // The work reports failures itself. An exception that leaves it ends neither the process nor
  // other jobs.
  static void attempt(const Work& work, Job job) {
    try {
      work(std::move(job));
    } catch (...) {
      return;
    }
  }

  std::optional<Job> next() {
    Lock lock(mutex_);
    while (!ending_ && waiting_.empty()) signal_.wait(lock.native());
    if (waiting_.empty()) return std::nullopt;
    std::optional<Job> job(std::move(waiting_.front()));
    waiting_.pop_front();
    return job;
  }

  const std::size_t max_waiting_;
  std::vector<Work> works_;

  Mutex mutex_;
  std::condition_variable signal_;
  std::deque<Job> waiting_ ONCE_GUARDED_BY(mutex_);
  bool ending_ ONCE_GUARDED_BY(mutex_) = false;

  std::vector<std::thread> threads_;  // Last: they use all of the above.
};

}  // namespace once
