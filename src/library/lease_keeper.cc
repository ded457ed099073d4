#include "library/lease_keeper.h"

#include <algorithm>
#include <utility>

namespace once {
namespace {

constexpr PauseBounds kRenewalPauses{
    .shortest = Duration(10), .first = Duration(50), .longest = Duration(500)};

}  // namespace

LeaseKeeper::LeaseKeeper(Clock& clock, LeaseCountdown lease, Renew renew, Events events,
                         Entropy& entropy)
    : clock_(clock),
      renew_(std::move(renew)),
      events_(std::move(events)),
      lease_(lease),
      backoff_(kRenewalPauses, clock, entropy),
      thread_([this] { keep(); }) {}

void LeaseKeeper::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  signal_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// False when it is time to stop.
bool LeaseKeeper::wait_until(Time turn) {
  Lock lock(mutex_);
  while (!stopping_ && clock_.now() < turn) clock_.wait(signal_, lock.native(), turn);
  return !stopping_;
}

void LeaseKeeper::keep() {
  while (wait_until(lease_.due())) {
    const Time now = clock_.now();
    const Renewal renewal = lease_.is_over(now) ? Renewal::refused : renew(now);
    if (renewal == Renewal::refused) {
      lost_ = true;
      return events_.lost();
    }
    if (renewal == Renewal::done) {
      lease_.renewed(now);
      backoff_.reset();
      events_.kept(lease_.until());
    } else {
      lease_.failed(clock_.now(), backoff_.next());
    }
  }
}

// A store that is down for a moment costs a try, not the lease.
LeaseKeeper::Renewal LeaseKeeper::renew(Time now) {
  const Result<RenewOutcome> outcome = renew_(std::min(lease_.left(now), kLongestRenewal));
  if (!outcome) return is_transient(outcome.error()) ? Renewal::failed : Renewal::refused;
  return std::holds_alternative<Renewed>(*outcome) ? Renewal::done : Renewal::refused;
}

}  // namespace once
