// Pauses between tries: full jitter under a ceiling that doubles, until a deadline.
#pragma once

#include <algorithm>

#include "once/entropy.h"
#include "once/retrying_store.h"

namespace once {

class Backoff {
 public:
  Backoff(const RetryOptions& options, Clock& clock, Entropy& entropy)
      : cap_(std::max(options.cap, Duration(1))),
        clock_(clock),
        entropy_(entropy),
        deadline_(later(clock.now(), std::min(options.deadline, kAttemptLife))),
        ceiling_(std::clamp(options.base, Duration(1), cap_)) {}

  // False, and no pause, when it would last beyond the deadline.
  bool pause() {
    const Duration length = entropy_.random_below(ceiling_);
    if (length > deadline_ - clock_.now()) return false;
    if (length.count() > 0) clock_.sleep(length);
    ceiling_ = std::min(cap_, 2 * ceiling_);
    return true;
  }

 private:
  const Duration cap_;
  Clock& clock_;
  Entropy& entropy_;
  const Time deadline_;
  Duration ceiling_;
};

}  // namespace once
