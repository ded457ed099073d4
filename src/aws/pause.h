// The pauses between the requests of one call, never beyond its deadline.
#pragma once

#include "aws/credentials.h"
#include "base/backoff.h"

namespace once::aws {

class Pauses {
 public:
  Pauses(Clock& clock, Entropy& entropy, Deadline deadline)
      : clock_(clock), backoff_(kBounds, clock, entropy), deadline_(deadline) {}

  // False, and no pause, when the deadline would come first.
  bool pause() {
    const Duration length = backoff_.next();
    if (std::chrono::steady_clock::now() + length >= deadline_) return false;
    if (length.count() > 0) clock_.sleep(length);
    return true;
  }

 private:
  static constexpr PauseBounds kBounds{.first = Duration(20), .longest = Duration(1'000)};

  Clock& clock_;
  Backoff backoff_;
  const Deadline deadline_;
};

}  // namespace once::aws
