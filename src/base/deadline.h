// The end of a call that may take several steps.
#pragma once

#include <algorithm>

#include "once/time.h"

namespace once {

class Deadline {
 public:
  // `clock` must outlive it.
  Deadline(Clock& clock, Duration within) : clock_(clock), until_(later(clock.now(), within)) {}

  Duration left() const { return std::max(until_ - clock_.now(), Duration::zero()); }
  bool over() const { return clock_.now() >= until_; }
  Time until() const { return until_; }

 private:
  Clock& clock_;
  const Time until_;
};

}  // namespace once
