// Pauses between tries, and the end of a call that may take several. Pauses are random, so that the
// clients of a server that was down do not all come back at the same moment.
#pragma once

#include <algorithm>
#include <cstdint>

#include "once/entropy.h"
#include "once/time.h"

namespace once {

// A pause is spread evenly between `shortest` and a bound, which is `first` before the first retry
// and doubles up to `longest`.
struct PauseBounds {
  Duration shortest{0};
  Duration first{10};
  Duration longest{1'000};

  // The pause before a retry; they count from 0. Plans have their random number from a step.
  Duration pause(int retry, std::uint64_t random) const;
};

// The pauses of one loop of tries. `clock` and `entropy` must outlive it.
class Backoff {
 public:
  Backoff(const PauseBounds& bounds, Clock& clock, Entropy& entropy, Time until = kNever)
      : bounds_(bounds), clock_(clock), entropy_(entropy), until_(until) {}

  // The next pause, for a caller that waits by itself.
  Duration next() { return bounds_.pause(retry_++, entropy_.random()); }

  // Sleeps for the next pause. False, without a sleep, if it would last beyond `until`.
  bool pause();

  // After a success: the next pause is a first one again.
  void reset() { retry_ = 0; }

 private:
  const PauseBounds bounds_;
  Clock& clock_;
  Entropy& entropy_;
  const Time until_;
  int retry_ = 0;
};

// The end of a call that may take several steps.
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
