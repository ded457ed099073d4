// The events of one request: which may be started, and the answer when all are through. Some are
// under way at once; one that is there twice waits until all others are through, so that it meets
// what became of the first. Safe to share between threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "api/event_requests.h"
#include "events/forwarder.h"
#include "kernel/mutex.h"

namespace once::events {

class Delivery {
 public:
  using Done = std::move_only_function<void(api::Response)>;

  Delivery(api::EventRequest request, Hop hop, Done done);

  const api::SharedWork& work(std::size_t index) const {
    return std::get<api::SharedWork>(parts_[index]);
  }
  const Hop& hop() const { return hop_; }

  // An event to be started now; nothing if none may be.
  std::optional<std::size_t> next();

  // When all are answered, the answer goes out.
  void answered(std::size_t index, api::Response answer);

  // Sends the answer if there was nothing to start at all.
  void end_if_done();

 private:
  bool take_done() ONCE_REQUIRES(mutex_);
  void finish();

  const bool batch_;
  const Hop hop_;
  const std::vector<api::EventPart> parts_;
  std::vector<std::size_t> order_;  // First those that are there once, then the repeats.
  std::size_t firsts_ = 0;
  const std::size_t at_once_;

  Mutex mutex_;
  std::vector<api::Response> answers_ ONCE_GUARDED_BY(mutex_);
  std::size_t started_ ONCE_GUARDED_BY(mutex_) = 0;
  std::size_t through_ ONCE_GUARDED_BY(mutex_) = 0;
  bool ended_ ONCE_GUARDED_BY(mutex_) = false;
  Done done_;
};

}  // namespace once::events
