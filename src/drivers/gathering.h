// Whether a round waits for company. Whoever was answered mostly comes back at once; a round that
// starts a moment too early commits without them, they wait for all of it, and ever after each
// round has only half of them. Where a round takes long, as one that syncs does, a short wait pays.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace once::detail {

class Gathering {
 public:
  using Length = std::chrono::steady_clock::duration;

  // The last round took so long, and so many plans ended with it.
  void round_took(Length length, std::size_t ended) {
    ended_ = ended;
    patience_ = length < kShortest ? Length::zero() : std::min(length / kShare, kLongest);
    if (skip_ > 0) --skip_;
  }

  // How many plans are worth waiting for when so many are there; no more than are if none.
  std::size_t wanted(std::size_t there) const {
    return skip_ > 0 || patience_ == Length::zero() ? there : std::max(there, ended_);
  }

  Length patience() const { return patience_; }

  // So many came. Where some of those who were answered did not come back in time, waiting for them
  // is left off for a while, and for longer each time it was in vain.
  void gathered(std::size_t came) {
    vain_ = came < ended_ ? std::min(vain_ * 2, kMostSkipped) : 1;
    skip_ = came < ended_ ? vain_ : 0;
  }

 private:
  static constexpr Length kShortest = std::chrono::microseconds(50);
  static constexpr Length kLongest = std::chrono::milliseconds(1);
  static constexpr int kShare = 4;
  static constexpr int kMostSkipped = 256;

  std::size_t ended_ = 0;
  Length patience_{};
  int vain_ = 1;
  int skip_ = 0;  // Rounds that are not to wait.
};

}  // namespace once::detail
