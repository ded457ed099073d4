#include "demo/schedule.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace once::demo {
namespace {

constexpr std::uint64_t kDuplicatesOfTen = 3;
constexpr std::uint64_t kSoon = 8;  // A retry comes within so many orders; others come at any time.

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers from a seed with every standard library,
// which its distributions do not promise.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

// After which order the duplicate of this one comes.
std::uint64_t repeated_after(Numbers& numbers, std::uint64_t order, std::uint64_t orders) {
  if (numbers.below(2) == 0) return std::min(order + numbers.below(kSoon), orders - 1);
  return order + numbers.below(orders - order);
}

void choose_kills(Numbers& numbers, std::uint32_t kills, std::vector<Delivery>& deliveries) {
  std::vector<std::uint32_t> places(deliveries.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = i;
  for (std::uint32_t i = 0; i < kills && i < places.size(); ++i) {
    std::swap(places[i], places[i + numbers.below(places.size() - i)]);
    deliveries[places[i]].killed = static_cast<Stage>(numbers.below(kStages));
  }
}

}  // namespace

std::int64_t Schedule::total_cents() const {
  std::int64_t total = 0;
  for (const Order& order : orders) total += order.cents;
  return total;
}

Schedule make_schedule(std::uint64_t seed, const Sizes& sizes) {
  Numbers numbers(seed);
  Schedule schedule;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> places;
  for (std::uint32_t i = 0; i < sizes.orders; ++i) {
    const auto cents = static_cast<std::int64_t>(1 + numbers.below(10'000));
    schedule.orders.push_back({cents, std::chrono::microseconds(1'000 + numbers.below(5'000))});
    places.emplace_back(i, 0, i);
    if (numbers.below(10) < kDuplicatesOfTen) {
      places.emplace_back(repeated_after(numbers, i, sizes.orders), i + 1, i);
    }
  }
  std::ranges::sort(places);
  for (const auto& [after, nth, order] : places) schedule.deliveries.push_back({order, {}});
  choose_kills(numbers, sizes.kills, schedule.deliveries);
  return schedule;
}

}  // namespace once::demo
