// Looks for abandoned claims from time to time: claims whose lease is over and that nobody took
// over. Says how many there are in the metrics, and writes a line for each new one.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "base/periodic.h"
#include "metrics/registry.h"
#include "once/claims.h"
#include "once/store.h"
#include "server/journal.h"

namespace once::server {

class AbandonedWatch {
 public:
  // All must outlive it. The first look begins within a second; later ones so seldom that they take
  // a small share of the time, and where every read is a request to a server more seldom still.
  AbandonedWatch(Store& store, Journal& journal, metrics::Registry& registry, Clock& clock);

  // How many there were at the latest look.
  std::size_t count() const {
    const Lock lock(mutex_);
    return found_.count;
  }

 private:
  struct Found {
    std::size_t count = 0;
    Time oldest = kNever;  // The end of its lease.
  };

  bool go_on();
  void take(const claims::AbandonedClaim& claim);
  void finish();
  void write(metrics::Exposition& out) const;

  Store& store_;
  Journal& journal_;
  Clock& clock_;
  const Duration least_pause_;

  // Used only by the thread of `looking_`.
  Time due_;
  Time began_;
  bool under_way_ = false;
  std::string cursor_;
  Found round_;
  std::set<std::string> known_;  // Namespace, name and lease of those that a line was written for.
  std::set<std::string> met_;

  mutable Mutex mutex_;
  Found found_ ONCE_GUARDED_BY(mutex_);

  const metrics::Registry::Collecting collecting_;
  const Periodic looking_;  // Last: it uses all of the above.
};

}  // namespace once::server
