// Counters, gauges and histograms. Counting takes no lock. A reader sees each number exactly, but
// related numbers may be one observation apart.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace once::metrics {

class Counter {
 public:
  void add(std::uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Histogram {
 public:
  // Ascending upper bounds in seconds; a last bucket holds everything longer.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()), buckets_(bounds.size() + 1) {}

  void observe(std::chrono::nanoseconds length) {
    const auto bound =
        std::ranges::lower_bound(bounds_, std::chrono::duration<double>(length).count());
    buckets_[static_cast<std::size_t>(bound - bounds_.begin())].add();
    nanoseconds_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 0)));
  }

  const std::vector<double>& bounds() const { return bounds_; }
  std::uint64_t bucket(std::size_t index) const {
    return buckets_[index].value();
  }  // Not cumulative.
  double seconds() const { return static_cast<double>(nanoseconds_.value()) / 1e9; }

 private:
  const std::vector<double> bounds_;
  std::vector<Counter> buckets_;
  Counter nanoseconds_;
};

}  // namespace once::metrics
