#include "cli/lease.h"

#include <algorithm>
#include <utility>

namespace once::cli {
namespace {

constexpr int kRenewalsPerLease = 3;
constexpr auto kRetryEvery = std::chrono::milliseconds(500);
constexpr int kFenced = 412;

}  // namespace

Lease::Lease(Target& target, api::Request renew, Duration length, std::function<void()> lost)
    : target_(target),
      renew_(std::move(renew)),
      length_(length),
      on_lost_(std::move(lost)),
      until_(Clock::now() + length),
      thread_([this] { keep(); }) {}

void Lease::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  signal_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// False when it is time to end.
bool Lease::wait_until(Clock::time_point when) {
  std::unique_lock lock(mutex_);
  return !signal_.wait_until(lock, when, [this] { return ending_; });
}

void Lease::keep() {
  for (auto next = Clock::now() + length_ / kRenewalsPerLease; wait_until(next);) {
    const auto asked = Clock::now();
    if (renew_once()) {
      until_ = asked + length_;
      next = asked + length_ / kRenewalsPerLease;
    } else if (lost_ || Clock::now() >= until_) {
      lost_ = true;
      return on_lost_();
    } else {
      next = std::min(until_, Clock::now() + kRetryEvery);
    }
  }
}

// A store that cannot be reached for a moment is tried again; one that says no has the last word.
bool Lease::renew_once() {
  const Result<api::Response> answer = target_.call(renew_);
  target_.rest();
  if (!answer) return false;
  lost_ = answer->status == kFenced;
  return answer->status == 200;
}

}  // namespace once::cli
