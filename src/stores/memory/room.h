// The bytes that a bounded store holds or has reserved for a commit under way. Safe to share
// between threads.
#pragma once

#include <atomic>
#include <cstddef>

namespace once::memory {

class Room {
 public:
  explicit Room(std::size_t bound) : bound_(bound) {}

  bool bounded() const { return bound_ != 0; }
  std::size_t bound() const { return bound_; }
  std::size_t free() const { return bound_ - taken_.load(std::memory_order_relaxed); }

  // False, without taking anything, if that would exceed the bound.
  bool take(std::size_t bytes) {
    std::size_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (bytes > bound_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const std::size_t bound_;
  std::atomic<std::size_t> taken_ = 0;  // Never above the bound.
};

}  // namespace once::memory
