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

  // Where those who were answered do not come back, waiting for them is left off for a while.
  void gathered(std::size_t came) {
    if (came * 2 < ended_) skip_ = kSkipped;
  }

 private:
  static constexpr Length kShortest = std::chrono::microseconds(50);
  static constexpr Length kLongest = std::chrono::milliseconds(1);
  static constexpr int kShare = 4;
  static constexpr int kSkipped = 32;

  std::size_t ended_ = 0;
  Length patience_{};
  int skip_ = 0;
};

}  // namespace once::detail
