#include "cli/progress.h"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace once::cli {
namespace {

constexpr auto kFirst = std::chrono::seconds(1);
constexpr auto kEvery = std::chrono::milliseconds(200);

}  // namespace

Progress::Progress(std::string what, Output output)
    : what_(std::move(what)),
      visible_(::isatty(STDERR_FILENO) == 1 &&
               (output == Output::at_the_end || ::isatty(STDOUT_FILENO) == 0)),
      began_(Clock::now()),
      next_(began_ + kFirst) {}

Progress::~Progress() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::add(std::uint64_t count) {
  count_ += count;
  const Clock::time_point now = Clock::now();
  if (!visible_ || now < next_) return;
  next_ = now + kEvery;
  shown_ = true;
  const std::chrono::duration<double> taken = now - began_;
  std::cerr << "\r\x1b[K" << count_ << ' ' << what_ << ", "
            << static_cast<std::uint64_t>(static_cast<double>(count_) / taken.count()) << "/s"
            << std::flush;
}

}  // namespace once::cli
