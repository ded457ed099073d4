// Removes expired items from the store periodically, and counts them.
#pragma once

#include "base/periodic.h"
#include "metrics/answer_metrics.h"
#include "once/store.h"

namespace once::server {

class StoreSweep {
 public:
  // All must outlive it. The first round begins within a second.
  StoreSweep(Store& store, metrics::AnswerMetrics& metrics, Clock& clock,
             Duration every = std::chrono::minutes(5));

 private:
  bool go_on();

  Store& store_;
  metrics::AnswerMetrics& metrics_;
  Clock& clock_;
  const Duration every_;
  metrics::Gauge& seconds_;
  metrics::Gauge& removed_;

  // Used only by the thread of `sweeping_`.
  Time due_;
  Time began_;
  Swept round_;

  const Periodic sweeping_;  // Last: it uses all of the above.
};

}  // namespace once::server
