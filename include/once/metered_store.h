// Counts what passes through to another store, and how long it took.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "once/store.h"

namespace once {

// Upper bounds in seconds; a last bucket takes what is longer.
inline constexpr std::array<double, 7> kLatencyBounds = {0.0001, 0.0005, 0.001, 0.01, 0.1, 1, 10};

struct Latency {
  std::array<std::uint64_t, kLatencyBounds.size() + 1> buckets = {};  // Each its own, not summed.
  std::chrono::nanoseconds total{0};
};

inline constexpr std::size_t kErrorCodes = 7;

struct OperationMetrics {
  std::uint64_t calls = 0;
  std::uint64_t parts = 0;      // get: keys. scan, list: items found. commit, commit_each: writes.
  std::uint64_t committed = 0;  // Of the transactions of commit and commit_each.
  std::uint64_t lost = 0;
  std::array<std::uint64_t, kErrorCodes> errors = {};  // By ErrorCode.
  Latency latency;

  std::uint64_t failed(ErrorCode code) const { return errors[static_cast<std::size_t>(code)]; }
};

struct StoreMetrics {
  OperationMetrics get, scan, list, commit, commit_each;
  StoreUnits units;  // What the inner store tells of itself.
};

class MeteredStore : public Store {
 public:
  // Cheap, and never in the way of a call. Each number is exact; numbers that belong to calls
  // still under way may be in it in part.
  virtual StoreMetrics snapshot() const = 0;
};

// Time since a start of its own; never steps back.
using Stopwatch = std::function<std::chrono::nanoseconds()>;
std::chrono::nanoseconds steady_time();

// `inner` must outlive the store. `stopwatch` is called from every thread that uses the store.
std::unique_ptr<MeteredStore> meter(Store& inner, Stopwatch stopwatch = steady_time);

}  // namespace once
