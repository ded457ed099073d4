// Another machine's time, from its answers (docs/hazards.md#h15, docs/hazards.md#h36).
//
// An answer that shows d, asked for at a and received at b of our clock, was made between a and b,
// and shows its time rounded down: the server is ahead by something in [d - b, d + step - a]. Each
// answer narrows that interval. Clocks drift, so it widens by one part in a thousand.
//
// An answer that contradicts the interval by more than a second is a jump. One wrong answer, or a
// clock that was wrong for some seconds, must not end anybody's lease: a jump is believed after
// three answers that agree with each other, and with nothing else, over half a minute.
#pragma once

#include <chrono>
#include <optional>

#include "base/mutex.h"
#include "once/time.h"

namespace once {

// The server's time minus ours. Safe to share between threads.
class ServerOffset {
 public:
  // `step`: what the server's time is rounded down to.
  explicit ServerOffset(Duration step) : step_(step) {}

  // The server showed `server` between `asked` and `answered` of our clock.
  void learn(Time server, Time asked, Time answered);

  // The middle of the interval; zero until something was learnt.
  Duration middle() const;

  // Its lower end: no later than the server's time.
  Duration least() const;

  // The largest error of middle(); empty until something was learnt.
  std::optional<Duration> error() const;

  // Two sources agree on it: two answers, or one and our own clock. Before that it may be the word
  // of one wrong answer.
  bool is_settled() const;

  // The last answer contradicted what is believed.
  bool is_disputed() const;

 private:
  using Fine = std::chrono::microseconds;  // Finer than a Time: the drift of a millisecond counts.
  struct Interval {
    Fine least;
    Fine most;
    Time first;   // The first answer,
    Time last;    // the last one,
    int answers;  // and how many there were.

    Interval widened(Time now) const;
    bool meets(const Interval& other, Fine tolerance) const;
    void take(const Interval& newer);
  };

  bool is_to_be_believed(const Interval& rumour) const ONCE_REQUIRES(mutex_);

  const Duration step_;
  mutable Mutex mutex_;
  std::optional<Interval> believed_ ONCE_GUARDED_BY(mutex_);
  std::optional<Interval> rumour_ ONCE_GUARDED_BY(mutex_);  // Contradicts it.
};

// A time that never goes back and never stands still. When the one it follows turns out to be
// earlier, it goes on at nine tenths of the pace of our own clock until that one has caught up.
// Safe to share between threads.
class ForwardTime {
 public:
  // `estimate` is what it follows, `own` our clock's time.
  Time follow(Time estimate, Time own);

 private:
  using Fine = std::chrono::sys_time<std::chrono::microseconds>;

  Mutex mutex_;
  bool begun_ ONCE_GUARDED_BY(mutex_) = false;
  Fine told_ ONCE_GUARDED_BY(mutex_);
  Time own_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once
