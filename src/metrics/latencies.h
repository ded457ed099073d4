// How long things took, finely enough for quantiles of a few seconds. Counting takes no lock. Safe
// to share between threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

#include "metrics/registry.h"

namespace once::metrics {

// Buckets are an eighth of a power of two wide, so that the middle of one is within 1/16 of all
// that it holds.
class Latencies {
 public:
  static constexpr std::size_t kBuckets = 496;
  using Counts = std::array<std::uint64_t, kBuckets>;

  void observe(std::chrono::nanoseconds length) { buckets_[bucket_of(length)].add(); }

  Counts counts() const {
    Counts counts;
    std::ranges::transform(buckets_, counts.begin(), &Counter::value);
    return counts;
  }

  static std::size_t bucket_of(std::chrono::nanoseconds length) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 0));
    if (value < 8) return value;
    const std::size_t shift = static_cast<std::size_t>(std::bit_width(value)) - 4;
    return (shift + 1) * 8 + ((value >> shift) & 7U);
  }

  static std::chrono::nanoseconds middle_of(std::size_t bucket) {
    if (bucket < 8) return std::chrono::nanoseconds(bucket);
    const std::size_t shift = bucket / 8 - 1;
    const std::uint64_t least = (8 + bucket % 8) << shift;
    const std::uint64_t width = 1ULL << shift;
    return std::chrono::nanoseconds(least + width / 2);
  }

 private:
  std::array<Counter, kBuckets> buckets_;
};

// The length that this share of all counts is not longer than; nothing if there are no counts.
std::optional<std::chrono::nanoseconds> quantile(const Latencies::Counts& counts, double share);

}  // namespace once::metrics
