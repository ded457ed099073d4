// Time as stores and drivers see it. Nothing in Once reads the system clock except through a
// Clock that was handed to it, so tests move time instead of waiting for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace once {

using Duration = std::chrono::milliseconds;
using Time = std::chrono::sys_time<std::chrono::milliseconds>;

// The expiry of what does not expire.
inline constexpr Time kNever = Time::max();

// `now + length`, or kNever where that would overflow.
constexpr Time later(Time now, Duration length) {
  return length > Duration::zero() && now > kNever - length ? kNever : now + length;
}

// Safe to share between threads.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never earlier than what any caller was told before.
  virtual Time now() = 0;

  // Blocks this thread for `length`.
  virtual void sleep(Duration length) = 0;

  // Blocks until `signal` is notified or `until` has come, and may return early. `lock` is held
  // on entry and on return, and released in between.
  virtual void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
                    Time until) = 0;
};

// This process's time: the wall clock as it was at first use, then the time since boot. Setting the
// wall clock does not change it (docs/hazards.md#h36). Lives as long as the process.
Clock& system_clock();

// The same clock, where it is used to estimate another machine's time (docs/hazards.md#h15).
Clock& boot_clock();

}  // namespace once
