// Takes requests with events and sees to each: its claim, its forward, and its outcome. Nothing
// here blocks whoever calls it, nor the driver: forwards have threads of their own, a fixed number,
// and a queue with an end.
//
//   claim  ->  forward, while the claim is renewed  ->  log, tally and completion in one commit
//
// A handler that does not take the event frees the claim. A crash after the forward and before the
// commit leaves the claim to its lease, and the next delivery is forwarded again.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "drivers/work_queue.h"
#include "events/delivery.h"
#include "events/held_leases.h"
#include "events/turns.h"
#include "once/batching_driver.h"

namespace once::events {

struct DoorOptions {
  std::size_t forwards = 64;  // At once; four times as many wait.
};

// Safe to share between threads.
class Door {
 public:
  // The driver must outlive the last call of stop(), and this must outlive the driver, whose last
  // answers come here.
  Door(BatchingDriver& driver, const api::EventRoutes& routes, DoorOptions options = {},
       Clock& clock = system_clock());
  ~Door() { stop(); }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // `done` gets the answer on any thread, perhaps before this returns; it must not block.
  void receive(api::EventRequest request, Hop hop, Delivery::Done done);

  // Forwards no more: what is under way fails, and its claim is freed.
  void stop();

 private:
  using Instant = std::chrono::steady_clock::time_point;

  // An event under way.
  struct Job {
    std::shared_ptr<Delivery> delivery;
    std::size_t index = 0;
    Instant since;
    std::chrono::nanoseconds check{};
    std::optional<Claimed> claimed;
    std::uint64_t lease = 0;     // In leases_, if claimed.
    std::optional<Error> error;  // Of the store, if not.

    const api::SharedWork& work() const { return delivery->work(index); }
  };

  void advance(const std::shared_ptr<Delivery>& delivery);
  void begin(Job job);
  void process(Job job);
  void admit(Job job);
  void on_admitted(Job job, Result<api::Admission> admission);
  void to_forward(Job job);
  void turn_away(Job job);
  void end(const Job& job, api::Response answer);

  // On a thread of the forwards; these may block.
  void forward(const Job& job);
  api::Response conclude(const Job& job, const Result<api::Response>& answer);
  api::Response conclude_unclaimed(const Job& job, const Result<api::Response>& answer);
  Result<api::Response> run(const std::function<Plan<api::Response>()>& make, Duration patience);

  BatchingDriver& driver_;
  Clock& clock_;
  std::atomic<bool> stopping_ = false;
  Forwarder forwarder_;
  Turns turns_;
  std::optional<HeldLeases> leases_;        // Both are there if any route forwards.
  std::optional<WorkQueue<Job>> forwards_;  // Last: its threads use all of the above.
};

}  // namespace once::events
