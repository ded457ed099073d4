// The difference between a server's clock and ours, from the Date headers of its answers.
//
// An answer with Date d that was requested at a and received at b (our clock) was dated between a
// and b, and Date drops the fraction of the second: the server is ahead by something in [d - b, d +
// 1 s - a]. Each answer narrows that interval, so many answers are better than one second. Clocks
// drift, so it widens by one part in a thousand. If an answer contradicts it, a clock was set, and
// only that answer counts.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/mutex.h"
#include "once/time.h"

namespace once::aws {

// Safe to share between threads.
class ServerClock {
 public:
  void learn(Time server, Time asked, Time answered);

  // The server's time minus ours; zero until something was learnt.
  Duration offset() const;

  // The largest error of that; empty until something was learnt.
  std::optional<Duration> error() const;

 private:
  struct Known {
    std::chrono::microseconds least;  // Finer than a Time: the drift of a millisecond counts.
    std::chrono::microseconds most;
    Time since;
  };

  mutable Mutex mutex_;
  std::optional<Known> known_ ONCE_GUARDED_BY(mutex_);
};

// The time in a Date header; empty if it is none.
std::optional<Time> parse_date(std::string_view text);

}  // namespace once::aws
