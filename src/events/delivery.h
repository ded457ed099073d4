// The events of one request: which may be started, and the answer when all are done. Several run at
// once, but those of one log one after the other, so that it has them in the order of the request
// (docs/hazards.md#h44). A repeated event waits for all others, so that it sees the outcome of the
// first. Safe to share between threads.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "events/event_request.h"
#include "events/forwarder.h"

namespace once::events {

class Delivery {
 public:
  using Done = api::Deferred::Done;

  Delivery(EventRequest request, ForwardContext context, Done done);

  const SharedWork& work(std::size_t index) const { return std::get<SharedWork>(parts_[index]); }
  const ForwardContext& context() const { return context_; }

  // The next event to start; empty if none may start now.
  std::optional<std::size_t> next();

  // Sends the answer to the request after the last event.
  void answered(std::size_t index, Response answer);

  // Sends the answer if there was nothing to start.
  void end_if_done();

 private:
  // Plans `events` after those that are planned. The first of each log may start with them; each
  // of the others when the one before it has ended.
  std::vector<std::size_t> plan(const std::vector<std::size_t>& events);
  bool take_done() ONCE_REQUIRES(mutex_);
  void finish();

  const bool batch_;
  const ForwardContext context_;
  const std::vector<EventPart> parts_;
  std::vector<std::optional<std::size_t>> next_of_log_;  // By event.
  std::vector<std::size_t> repeats_;                     // That may start when all others ended.
  std::size_t firsts_ = 0;                               // How many are not repeated.
  std::size_t all_ = 0;
  const std::size_t at_once_;

  Mutex mutex_;
  std::vector<Response> answers_ ONCE_GUARDED_BY(mutex_);
  std::deque<std::size_t> ready_ ONCE_GUARDED_BY(mutex_);
  std::size_t started_ ONCE_GUARDED_BY(mutex_) = 0;
  std::size_t through_ ONCE_GUARDED_BY(mutex_) = 0;
  bool ended_ ONCE_GUARDED_BY(mutex_) = false;
  Done done_;
};

}  // namespace once::events
