// Renews the claims of events while they are forwarded, as a LeaseKeeper does, but by plans of the
// server's driver, so that their commits are grouped with others'. Safe to share between threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"
#include "base/periodic.h"
#include "library/lease_keeper.h"
#include "once/batching_driver.h"
#include "once/claims.h"

namespace once::events {

class HeldLeases {
 public:
  // The driver must outlive the last call of stop(), and this must outlive the driver, which
  // reports renewals to it. `shortest` is the shortest lease that will be held.
  HeldLeases(BatchingDriver& driver, Clock& clock, Duration shortest);

  // Shorter leases than the first ones will be held. Not while stop() is called.
  void expect(Duration shortest);

  // The claim was asked for at `asked`.
  std::uint64_t hold(Key key, Ticket ticket, Duration length, Time asked);
  void let_go(std::uint64_t id);
  void stop();  // Renews no more.

 private:
  struct Held {
    Key key;
    Ticket ticket;
    Duration length;
    LeaseCountdown lease;
  };

  bool renew_due();
  void renew(std::uint64_t id, const Held& held);
  void renewed(std::uint64_t id, Time asked, const RenewOutcome& outcome);

  BatchingDriver& driver_;
  Clock& clock_;
  Mutex mutex_;
  std::map<std::uint64_t, Held> held_ ONCE_GUARDED_BY(mutex_);
  std::uint64_t last_id_ ONCE_GUARDED_BY(mutex_) = 0;
  std::optional<Periodic> renewing_;  // Last: it uses all of the above.
};

}  // namespace once::events
