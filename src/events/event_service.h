// Receives CloudEvents for a server and processes each:
//
//   claim  ->  forward, while the claim is renewed  ->  log, tally and completion in one commit
//
// If the handler does not accept the event, the claim is released. After a crash between forward
// and commit the claim ends with its lease, and the next delivery is forwarded again.
//
// Blocks neither its caller nor the driver: forwards have a fixed number of threads and a bounded
// queue.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "base/shared_value.h"
#include "base/work_queue.h"
#include "events/delivery.h"
#include "events/held_leases.h"
#include "events/log_mutexes.h"
#include "events/route_counts.h"
#include "once/batching_driver.h"

namespace once::events {

// Safe to share between threads.
class EventService final : public api::EventReceiver {
 public:
  // The driver must outlive the last call of stop(), and this must outlive the driver, whose last
  // answers arrive here.
  EventService(BatchingDriver& driver, EventOptions options, Clock& clock = system_clock());
  ~EventService() override { stop(); }
  EventService(const EventService&) = delete;
  EventService& operator=(const EventService&) = delete;

  // Parses the events. The answer is Deferred: processing begins when it is started.
  api::Answer receive(api::Call& call) override;
  std::vector<api::EventRouteReport> routes() const override {
    return counts_.report(options()->routes);
  }

  // Events that come from now on go by these routes. Not while stop() is called.
  void set_routes(EventRoutes routes);

  // How many events are at their handlers, and how many wait for that.
  std::size_t forwarding() const { return may_forward_ ? forwards_->running() : 0; }
  std::size_t waiting() const { return may_forward_ ? forwards_->waiting() : 0; }

  // Ends forwarding: forwards under way fail, and their claims are released.
  void stop();

 private:
  using Instant = std::chrono::steady_clock::time_point;

  // An event being processed.
  struct Job {
    std::shared_ptr<Delivery> delivery;
    std::size_t index = 0;
    Instant since;
    Time asked;  // When the claim was asked for.
    std::chrono::nanoseconds check{};
    std::optional<Claimed> claimed;
    std::uint64_t lease = 0;     // Id in leases_, if claimed.
    std::optional<Error> error;  // Of the store, if not claimed.

    const SharedWork& work() const { return delivery->work(index); }
  };

  void start(EventRequest request, ForwardContext context, Delivery::Done done);
  void advance(const std::shared_ptr<Delivery>& delivery);
  void begin(Job job);
  void process(Job job);
  void admit(Job job);
  void on_admitted(Job job, Result<Admission> admission);
  void enqueue(Job job);
  void turn_away(Job job);
  void end(const Job& job, Response answer);
  void answered(const Job& job, Response answer);

  // Called on a thread of the forwards; these may block.
  void forward(const Job& job);
  Response conclude(const Job& job, const Result<Response>& answer);
  Response conclude_unclaimed(const Job& job, const Result<Response>& answer);
  Result<Response> run(const std::function<Plan<Response>()>& make, Duration patience);

  BatchingDriver& driver_;
  std::shared_ptr<const EventOptions> options() const { return options_.load(); }
  void prepare_forwards(const EventRoutes& routes);

  SharedValue<EventOptions> options_;
  Clock& clock_;
  std::atomic<bool> stopping_ = false;
  Forwarder forwarder_;
  LogMutexes log_mutexes_;
  RouteCounts counts_;
  std::optional<HeldLeases> leases_;        // Both exist once any route forwards.
  std::atomic<bool> may_forward_ = false;   // They exist: what reads it may use them.
  std::optional<WorkQueue<Job>> forwards_;  // Last: its threads use all of the above.
};

}  // namespace once::events
