// Counts what a store uses of its server (once/store_units.h). Each store counts in one place:
// where its requests leave the process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "once/store_units.h"

namespace once {

// Safe to share between threads. Kinds are literals of the program, told by their place in the
// list.
class UnitCounter {
 public:
  explicit UnitCounter(std::initializer_list<std::string_view> kinds)
      : kinds_(kinds), amounts_(kinds.size()) {}

  void add(StoreOperation operation, std::size_t kind, double amount = 1) {
    amounts_[kind][static_cast<std::size_t>(operation)].fetch_add(amount,
                                                                  std::memory_order_relaxed);
  }

  // Of all operations.
  double sum(std::size_t kind) const {
    double sum = 0;
    for (const auto& amount : amounts_[kind]) sum += amount.load(std::memory_order_relaxed);
    return sum;
  }

  StoreUnits rows() const {
    StoreUnits rows;
    for (std::size_t operation = 0; operation < kOperations; ++operation) {
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        rows.push_back({static_cast<StoreOperation>(operation), kinds_[kind],
                        amounts_[kind][operation].load(std::memory_order_relaxed)});
      }
    }
    return rows;
  }

 private:
  static constexpr std::size_t kOperations = static_cast<std::size_t>(StoreOperation::other) + 1;

  const std::vector<std::string_view> kinds_;
  std::vector<std::array<std::atomic<double>, kOperations>> amounts_;
};

}  // namespace once
