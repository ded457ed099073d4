// A pause between two requests of one call: full jitter under a ceiling that doubles, never beyond
// the call's deadline.
#pragma once

#include <algorithm>

#include "aws/credentials.h"
#include "once/entropy.h"

namespace once::aws {

class Pauses {
 public:
  Pauses(Clock& clock, Entropy& entropy, Deadline deadline)
      : clock_(clock), entropy_(entropy), deadline_(deadline) {}

  // False, and no pause, when the deadline would come first.
  bool pause() {
    const Duration length = entropy_.random_below(ceiling_);
    if (std::chrono::steady_clock::now() + length >= deadline_) return false;
    if (length.count() > 0) clock_.sleep(length);
    ceiling_ = std::min(kCap, 2 * ceiling_);
    return true;
  }

 private:
  static constexpr Duration kCap = std::chrono::milliseconds(1'000);

  Clock& clock_;
  Entropy& entropy_;
  const Deadline deadline_;
  Duration ceiling_ = std::chrono::milliseconds(20);
};

}  // namespace once::aws
