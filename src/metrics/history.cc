#include "metrics/history.h"

#include <cmath>
#include <numeric>

namespace once::metrics {

std::optional<std::chrono::nanoseconds> quantile(const Latencies::Counts& counts, double share) {
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all)));
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
    below += counts[bucket];
    if (below > 0 && below >= wanted) return Latencies::middle_of(bucket);
  }
  return std::nullopt;
}

std::vector<OutcomeCount> History::new_outcomes() {
  std::vector<OutcomeCount> found;
  for (std::size_t i = 0; i < kPrimitives; ++i) {
    const auto primitive = static_cast<Primitive>(i);
    if (primitive == Primitive::other) continue;
    for (std::size_t k = 0; k < wire::kOutcomes; ++k) {
      const auto outcome = static_cast<Outcome>(k);
      const std::uint64_t before = outcomes_[i][k];
      outcomes_[i][k] = counted_.count_of(primitive, outcome);
      const std::uint64_t more = outcomes_[i][k] - before;
      if (more > 0) found.push_back({primitive, outcome, static_cast<std::uint32_t>(more)});
    }
  }
  found.shrink_to_fit();  // It stays for a quarter of an hour.
  return found;
}

void History::sample(Time now) {
  const Lock lock(mutex_);
  if (now == latest_) return;
  // After a clock was set back, slots of the future would stay for long.
  std::erase_if(slots_, [&](const HistorySlot& slot) { return slot.at >= now; });
  const Duration length = now > latest_ ? now - latest_ : kEvery;
  latest_ = now;
  Latencies::Counts fresh = counted_.latencies().counts();
  std::swap(fresh, latencies_);
  for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i] = latencies_[i] - fresh[i];
  slots_.push_back({.at = now,
                    .length = length,
                    .p50 = quantile(fresh, 0.5),
                    .p99 = quantile(fresh, 0.99),
                    .outcomes = new_outcomes()});
  while (slots_.size() > kSlots || slots_.front().at <= now - kSpan) slots_.pop_front();
}

std::vector<HistorySlot> History::slots(Time after) const {
  const Lock lock(mutex_);
  std::vector<HistorySlot> found;
  for (const HistorySlot& slot : slots_) {
    if (slot.at > after) found.push_back(slot);
  }
  return found;
}

}  // namespace once::metrics
