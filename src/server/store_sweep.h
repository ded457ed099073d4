// Removes expired items from the store, round after round, and tells how many there were.
#pragma once

#include "api/metrics.h"
#include "drivers/periodic.h"
#include "once/store.h"

namespace once::server {

class StoreSweep {
 public:
  // All must outlive it. The first round begins within a second.
  StoreSweep(Store& store, api::Metrics& metrics, Clock& clock,
             Duration every = std::chrono::minutes(5));

 private:
  bool go_on();

  Store& store_;
  api::Metrics& metrics_;
  Clock& clock_;
  const Duration every_;

  // Of the thread of `turns_` only.
  Time due_;
  Swept round_;

  const Periodic turns_;  // Last: it uses all of the above.
};

}  // namespace once::server
