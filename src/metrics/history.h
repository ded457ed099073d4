// What came of requests in the last quarter of an hour, in slots of a few seconds. At most 300 KB,
// and a few dozen where little happens. Safe to share between threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "metrics/answer_metrics.h"
#include "once/time.h"

namespace once::metrics {

struct OutcomeCount {
  Primitive primitive = Primitive::other;
  Outcome outcome = Outcome::executed;
  std::uint32_t count = 0;
};

struct HistorySlot {
  Time at;            // Its end.
  Duration length{};  // Since the end of the one before.

  // How long requests took, without those that wait for another holder. Nothing if there were none.
  std::optional<std::chrono::nanoseconds> p50;
  std::optional<std::chrono::nanoseconds> p99;

  // In the order of primitives and outcomes. Without pages, metrics and what else is no primitive.
  std::vector<OutcomeCount> outcomes;
};

class History {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(5);
  static constexpr std::size_t kSlots = 180;
  static constexpr Duration kSpan = kEvery * kSlots;

  // `counted` must outlive it. The first slot begins at `began`.
  History(const AnswerMetrics& counted, Time began) : counted_(counted), latest_(began) {}

  // Ends a slot and begins the next; to be called every kEvery. A clock that did not go on ends
  // none.
  void sample(Time now);

  // Those that ended after that time, the oldest first.
  std::vector<HistorySlot> slots(Time after) const;

 private:
  using Counts = std::array<std::array<std::uint64_t, wire::kOutcomes>, kPrimitives>;

  std::vector<OutcomeCount> new_outcomes() ONCE_REQUIRES(mutex_);

  const AnswerMetrics& counted_;
  mutable Mutex mutex_;
  Time latest_ ONCE_GUARDED_BY(mutex_);
  Counts outcomes_ ONCE_GUARDED_BY(mutex_){};  // At the end of the latest slot, as the next.
  Latencies::Counts latencies_ ONCE_GUARDED_BY(mutex_){};
  std::deque<HistorySlot> slots_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::metrics
