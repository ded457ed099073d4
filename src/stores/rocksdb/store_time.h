// The time of an embedded store: the clock's, unless that starts below what the store was told
// before it was last closed; then it runs ahead by the difference and so never steps back (H15).
#pragma once

#include <atomic>
#include <cstdint>

#include "once/time.h"

namespace once {

class StoreTime {
 public:
  explicit StoreTime(Clock& clock) : clock_(clock) {}

  Time now() { return clock_.now() + Duration(ahead_.load(std::memory_order_relaxed)); }

  // Once, before anybody outside has been told a time.
  void start_no_earlier_than(Time floor) {
    const Time now = clock_.now();
    if (floor > now) ahead_.store((floor - now).count(), std::memory_order_relaxed);
  }

 private:
  Clock& clock_;
  std::atomic<std::int64_t> ahead_ = 0;
};

}  // namespace once
