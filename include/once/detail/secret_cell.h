// A store's secret, as far as this process has read it. For drivers; plans know it as
// store_secret().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "once/time.h"

namespace once {

// By it a store vouches for the tickets that it gave out. It is an item of the store, made once.
struct StoreSecret {
  std::array<std::uint64_t, 2> key{};
  Time created;  // For people.

  // Seen ids may be marked where claims are, as earlier versions did: the store is as old as that.
  bool old_marks = true;

  friend bool operator==(const StoreSecret&, const StoreSecret&) = default;
};

namespace detail {

// Safe to share between threads.
class SecretCell {
 public:
  // Null until it was read. Good for as long as the cell.
  const StoreSecret* get() const { return known_.load(std::memory_order_acquire); }

  // What was read. It is another one only if the store was emptied meanwhile.
  const StoreSecret* set(const StoreSecret& secret) {
    const std::lock_guard lock(mutex_);
    const StoreSecret* const known = get();
    if (known != nullptr && *known == secret) return known;
    all_.push_back(std::make_unique<const StoreSecret>(secret));
    known_.store(all_.back().get(), std::memory_order_release);
    return all_.back().get();
  }

 private:
  std::atomic<const StoreSecret*> known_ = nullptr;
  std::mutex mutex_;
  std::vector<std::unique_ptr<const StoreSecret>> all_;  // Others may still use the earlier ones.
};

}  // namespace detail
}  // namespace once
