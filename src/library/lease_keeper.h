// Keeps a claim's lease while its work runs: renews it three times a lease, on a thread of its own,
// and tells when the claim may be another's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <thread>

#include "base/backoff.h"
#include "base/mutex.h"
#include "once/claims.h"
#include "once/entropy.h"
#include "once/time.h"

namespace once {

// A lease, counted down by a local clock from the moment at which it was asked for. The store began
// to count no earlier, so the lease is never believed in for longer than the store does, however
// long the answer took (docs/hazards.md#h15).
class LeaseCountdown {
 public:
  LeaseCountdown(Time asked, Duration length)
      : length_(length), until_(later(asked, length)), due_(later(asked, interval(length))) {}

  Time due() const { return due_; }  // The next renewal.
  Time until() const { return until_; }
  Duration left(Time now) const { return until_ - now; }
  bool is_over(Time now) const { return now >= until_; }

  void renewed(Time asked) { *this = LeaseCountdown(asked, length_); }

  // The next try is after `pause`, but no later than the lease's end.
  void failed(Time now, Duration pause) { due_ = std::min(until_, later(now, pause)); }

  // Two renewals may fail.
  static Duration interval(Duration length) { return std::max(Duration(1), length / 3); }

 private:
  Duration length_;
  Time until_;
  Time due_;
};

// Of one try to renew. One whose answer never comes is not the only one.
inline constexpr Duration kLongestRenewal = std::chrono::seconds(30);

class LeaseKeeper {
 public:
  // One try to renew, which takes no longer than `within`: what is left of the lease, or
  // kLongestRenewal if that is less.
  using Renew = std::function<Result<RenewOutcome>(Duration within)>;

  // Called on the keeper's thread: `kept` after each renewal; `lost` at most once, when the claim
  // is another's, cannot be renewed, or was not until its lease ended. Neither is called after
  // that.
  struct Events {
    std::function<void(Time until)> kept = [](Time) {};
    std::function<void()> lost = [] {};
  };

  // `lease` counts by `clock`, which must outlive this, as `entropy` must.
  LeaseKeeper(Clock& clock, LeaseCountdown lease, Renew renew, Events events,
              Entropy& entropy = system_entropy());

  // Waits for a call that is under way, not for the next one.
  ~LeaseKeeper() { stop(); }
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Renews no more.
  void stop();

  bool is_lost() const { return lost_; }

 private:
  enum class Renewal : std::uint8_t { done, failed, refused };

  void keep();
  Renewal renew(Time now);
  bool wait_until(Time turn);

  // Constant after construction.
  Clock& clock_;
  const Renew renew_;
  const Events events_;

  // The keeper's thread's.
  LeaseCountdown lease_;
  Backoff backoff_;

  std::atomic<bool> lost_ = false;
  Mutex mutex_;
  std::condition_variable signal_;
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace once
