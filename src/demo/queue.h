// A queue that delivers at least once: a number that is not acknowledged in time is handed out
// again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace once::demo {

class Queue {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  using Length = std::chrono::steady_clock::duration;

  // The numbers from 0 to `count`, in this order. `visibility` is how long one may go without being
  // acknowledged.
  Queue(std::size_t count, Length visibility);

  // A number that is due again, or the next new one.
  std::optional<std::size_t> take(Moment now);

  void acknowledge(std::size_t number);

  // Hands it out again from `when` on, unless it was acknowledged meanwhile.
  void put_back(std::size_t number, Moment when);

  // When take() has the next number; nothing if all are acknowledged.
  std::optional<Moment> due() const;

  bool done() const { return acknowledged_ == count_; }
  std::size_t acknowledged() const { return acknowledged_; }
  std::uint64_t handed_out() const { return handed_out_; }
  std::uint64_t timed_out() const { return timed_out_; }  // Handed out again, unacknowledged.

 private:
  struct Place {
    Moment due;
    bool in_flight = false;
  };
  using Places = std::map<std::size_t, Place>;
  void forget(Places::iterator place);

  const std::size_t count_;
  const Length visibility_;
  std::size_t fresh_ = 0;  // The first that was never handed out.

  // The numbers that were handed out and are not acknowledged.
  Places places_;
  std::set<std::pair<Moment, std::size_t>> by_time_;

  std::size_t acknowledged_ = 0;
  std::uint64_t handed_out_ = 0;
  std::uint64_t timed_out_ = 0;
};

}  // namespace once::demo
