// Keeps the claims of events that are being forwarded, however long their handlers take: each is
// renewed three times a lease. Safe to share between threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "drivers/periodic.h"
#include "kernel/mutex.h"
#include "once/batching_driver.h"
#include "once/claims.h"

namespace once::events {

class HeldLeases {
 public:
  // The driver must outlive the last call of stop(), and this must outlive the driver, which tells
  // it what became of renewals. `shortest` is the shortest lease that is held.
  HeldLeases(BatchingDriver& driver, Clock& clock, Duration shortest);

  std::uint64_t hold(Key key, Ticket ticket, Duration lease);
  void let_go(std::uint64_t id);
  void stop();  // Renews no more.

 private:
  struct Held {
    Key key;
    Ticket ticket;
    Duration lease;
    Time due;
  };

  bool renew_due();
  void renew(std::uint64_t id, const Held& held);

  BatchingDriver& driver_;
  Clock& clock_;
  Mutex mutex_;
  std::map<std::uint64_t, Held> held_ ONCE_GUARDED_BY(mutex_);
  std::uint64_t last_id_ ONCE_GUARDED_BY(mutex_) = 0;
  std::optional<Periodic> renewing_;  // Last: it uses all of the above.
};

}  // namespace once::events
