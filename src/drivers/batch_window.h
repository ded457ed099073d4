// How long a round waits before it commits, so that clients that were just answered join it.
//
// Most of them send their next plan at once. A round that starts a moment too early commits without
// them; they then wait for all of it, and from there on every round has only half of the clients.
// Where a round takes long, as one that syncs does, a short wait pays.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace once::detail {

class BatchWindow {
 public:
  using Length = std::chrono::steady_clock::duration;

  // A round took `length`, and `answered` plans ended with it.
  void round_ended(Length length, std::size_t answered) {
    answered_ = answered;
    longest_wait_ = length < kShortest ? Length::zero() : std::min(length / kShare, kLongest);
    if (skip_ > 0) --skip_;
  }

  // The wanted size of the next batch; `waiting`, if a wait does not pay.
  std::size_t wanted(std::size_t waiting) const {
    return skip_ > 0 || longest_wait_ == Length::zero() ? waiting : std::max(waiting, answered_);
  }

  Length longest_wait() const { return longest_wait_; }

  // A wait has ended with `waiting` plans. If clients did not come back in time, the next rounds do
  // not wait: for twice as many rounds each time that a wait was in vain.
  void wait_ended(std::size_t waiting) {
    const bool in_vain = waiting < answered_;
    vain_ = in_vain ? std::min(vain_ * 2, kMostSkipped) : 1;
    skip_ = in_vain ? vain_ : 0;
  }

 private:
  static constexpr Length kShortest = std::chrono::microseconds(50);
  static constexpr Length kLongest = std::chrono::milliseconds(1);
  static constexpr int kShare = 4;  // A wait takes at most this part of the round before it.
  static constexpr int kMostSkipped = 256;

  std::size_t answered_ = 0;
  Length longest_wait_{};
  int vain_ = 1;
  int skip_ = 0;  // Rounds that do not wait.
};

}  // namespace once::detail
