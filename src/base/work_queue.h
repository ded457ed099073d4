// A fixed number of threads that each do one job at a time, and a bounded queue of jobs. Jobs may
// belong to parties, none of which can take all threads or all places in the queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/shares.h"

namespace once {

// Whose job it is: a party, such as a tenant, and a part of it, such as one of its routes. Each has
// a share. An empty name has none, and is bounded by the pool alone.
struct Party {
  std::string whole;
  std::string part;
};

struct WorkQueueOptions {
  std::size_t threads = 1;
  std::size_t max_waiting = 1;

  // So many jobs may be stalled at once, and do not count among those that the threads do: others
  // run in their place, on further threads.
  std::size_t max_stalled = 0;

  // Percent of the threads and of the places in the queue, for a party and for a part of one; and
  // percent of the stalled jobs for either.
  unsigned share = kUsualShare;
  unsigned part_share = kUsualShare;
  unsigned stalled_share = kUsualShare;
};

// Safe to share between threads.
template <class Job>
class WorkQueue {
 public:
  using Work = std::function<void(Job)>;
  using Make = std::function<Work()>;

  // `make` is called for each thread before they start, and returns the work of that thread alone.
  // With max_stalled it is called for further threads, too, and must live as long as this.
  WorkQueue(const WorkQueueOptions& options, const Make& make)
      : options_(options),
        make_(options.max_stalled > 0 ? make : nullptr),
        waiting_shares_(options.max_waiting, options.share, options.part_share),
        running_shares_(options.threads, options.share, options.part_share),
        stalled_shares_(options.max_stalled, options.stalled_share, options.stalled_share) {
    std::vector<Work> works;
    for (std::size_t i = 0; i < options_.threads; ++i) works.push_back(make());
    const Lock lock(mutex_);
    for (Work& work : works) start(std::move(work));
  }
  WorkQueue(std::size_t threads, std::size_t max_waiting, const Make& make)
      : WorkQueue({.threads = threads, .max_waiting = max_waiting}, make) {}
  ~WorkQueue() { finish(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False, with the job untouched, if too many wait, of all or of its party, or finish() was
  // called.
  bool put(Job& job, Party party = {}) {
    {
      const Lock lock(mutex_);
      if (ending_ || waiting_.size() >= options_.max_waiting) return false;
      if (!waiting_shares_.take(party)) return false;
      waiting_.push_back({std::move(job), std::move(party)});
    }
    signal_.notify_one();
    return true;
  }

  // The calling job, which is the party's, waits for something slow from now on: another may run in
  // its place. False if too many do so already, of all or of its party.
  bool stall(const Party& party) {
    {
      const Lock lock(mutex_);
      if (stalled_ >= options_.max_stalled || !stalled_shares_.take(party)) return false;
      ++stalled_;
      running_shares_.give_back(party);
      const bool may_start = threads_.size() < options_.threads + options_.max_stalled;
      if (idle_ == 0 && may_start && !ending_) start(make_());
    }
    signal_.notify_all();
    return true;
  }
  void go_on(const Party& party) {
    const Lock lock(mutex_);
    stalled_shares_.give_back(party);
    running_shares_.count(party);
    --stalled_;
  }

  // Jobs that wait for a thread, that a thread does, and of these the stalled ones.
  std::size_t waiting() const {
    const Lock lock(mutex_);
    return waiting_.size();
  }
  std::size_t running() const {
    const Lock lock(mutex_);
    return running_;
  }
  std::size_t stalled() const {
    const Lock lock(mutex_);
    return stalled_;
  }

  // Takes no more jobs, and returns when all that were taken are done.
  void finish() {
    std::vector<std::thread> threads;
    {
      const Lock lock(mutex_);
      ending_ = true;
      threads.swap(threads_);
    }
    signal_.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Waiting {
    Job job;
    Party party;
  };

  class PartyShares {
   public:
    PartyShares(std::size_t most, unsigned share, unsigned part_share)
        : wholes_(most, share), parts_(most, part_share) {}

    bool may_take(const Party& party) const {
      return (party.whole.empty() || wholes_.may_take(party.whole)) &&
             (party.part.empty() || parts_.may_take(party.part));
    }
    bool take(const Party& party) {
      if (!may_take(party)) return false;
      count(party);
      return true;
    }
    void count(const Party& party) {
      if (!party.whole.empty()) wholes_.take(party.whole);
      if (!party.part.empty()) parts_.take(party.part);
    }
    void give_back(const Party& party) {
      if (!party.whole.empty()) wholes_.give_back(party.whole);
      if (!party.part.empty()) parts_.give_back(party.part);
    }

   private:
    Shares wholes_;
    Shares parts_;
  };

  void start(Work work) ONCE_REQUIRES(mutex_) {
    threads_.emplace_back([this, work = std::move(work)] {
      while (std::optional<Waiting> next = take_next()) {
        attempt(work, std::move(next->job));
        done(next->party);
      }
    });
  }

  // The work reports failures itself. An exception that leaves it ends neither the process nor
  // other jobs.
  static void attempt(const Work& work, Job job) {
    try {
      work(std::move(job));
    } catch (...) {
      return;
    }
  }

  // The first whose party may have another thread. At the end, all may.
  std::optional<Waiting> find_next() ONCE_REQUIRES(mutex_) {
    if (running_ >= options_.threads + stalled_) return std::nullopt;
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (!ending_ && !running_shares_.may_take(at->party)) continue;
      std::optional<Waiting> found(std::move(*at));
      waiting_.erase(at);
      return found;
    }
    return std::nullopt;
  }

  std::optional<Waiting> take_next() {
    Lock lock(mutex_);
    std::optional<Waiting> found = find_next();
    while (!found && !(ending_ && waiting_.empty())) {
      ++idle_;
      signal_.wait(lock.native());
      --idle_;
      found = find_next();
    }
    if (!found) return std::nullopt;
    ++running_;
    waiting_shares_.give_back(found->party);
    running_shares_.count(found->party);
    return found;
  }

  // What it held may be enough for several that wait.
  void done(const Party& party) {
    {
      const Lock lock(mutex_);
      --running_;
      running_shares_.give_back(party);
      const bool has_share = !party.whole.empty() || !party.part.empty();
      if (!ending_ && (waiting_.empty() || !has_share)) return;
    }
    signal_.notify_all();
  }

  const WorkQueueOptions options_;
  const Make make_;

  mutable Mutex mutex_;
  std::condition_variable signal_;
  std::deque<Waiting> waiting_ ONCE_GUARDED_BY(mutex_);
  PartyShares waiting_shares_ ONCE_GUARDED_BY(mutex_);
  PartyShares running_shares_ ONCE_GUARDED_BY(mutex_);
  PartyShares stalled_shares_ ONCE_GUARDED_BY(mutex_);
  std::size_t running_ ONCE_GUARDED_BY(mutex_) = 0;
  std::size_t stalled_ ONCE_GUARDED_BY(mutex_) = 0;
  std::size_t idle_ ONCE_GUARDED_BY(mutex_) = 0;
  bool ending_ ONCE_GUARDED_BY(mutex_) = false;

  // Last: they use all of the above.
  std::vector<std::thread> threads_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once
