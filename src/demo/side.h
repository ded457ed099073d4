// One side of the demo: a store, workers and a queue of deliveries between them.
#pragma once

#include <poll.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "demo/books.h"
#include "demo/queue.h"
#include "demo/store_process.h"
#include "demo/worker.h"

namespace once::demo {

// What has happened so far.
struct Tally {
  std::uint64_t deliveries = 0;  // In the queue,
  std::uint64_t finished = 0;    // and acknowledged.
  std::uint64_t handed_out = 0;
  std::uint64_t killed = 0;
  std::uint64_t timed_out = 0;  // Delivered again because nobody acknowledged in time.
  std::uint64_t applied = 0;    // As the workers report. The audit checks it.
  std::uint64_t skipped = 0;    // Known to be done already.
  std::uint64_t busy = 0;       // Put back, because another worker had the order or took it over.
  std::uint64_t taken_over = 0;
  std::chrono::milliseconds took{0};
};

class Side {
 public:
  using Clock = std::chrono::steady_clock;

  // `schedule` must outlive it. Nothing may be in `directory`.
  static Result<Side> start(Way way, const Schedule& schedule, std::uint32_t workers,
                            const std::filesystem::path& directory);

  // Gives a delivery to each idle worker.
  void hand_out(Clock::time_point now);

  // The latest time to do so next; nothing if there is no more to deliver.
  std::optional<Clock::time_point> due() const;

  void watch(std::vector<pollfd>& watched) const;

  // Reads from a socket that is ready. An error if the store keeps failing, or a process ended
  // unexpectedly.
  Result<void> hear(int socket, Clock::time_point now);

  bool done() const { return queue_.done(); }
  Tally tally() const;
  Result<Audit> audit() const;

 private:
  struct Worker {
    Child process;
    std::optional<std::size_t> delivery;  // What it has.
    bool doomed = false;                  // It was given a delivery at which it is killed.
  };
  Side(Way way, const Schedule& schedule, StoreProcess store);

  Result<Child> start_worker() const;
  Result<void> replace(Worker& worker);
  Result<void> take(const Report& report, std::size_t delivery, Clock::time_point now);

  const Way way_;
  const Schedule* const schedule_;
  StoreProcess store_;
  Queue queue_;
  std::vector<bool> killed_at_;  // Deliveries whose kill was given out: once each.
  std::vector<Worker> workers_;
  Tally tally_;
  std::uint64_t failures_ = 0;
  Clock::time_point began_;
  Clock::time_point heard_;  // Last.
};

}  // namespace once::demo
