// Tenants that read so much that reading it takes long. They are known by what they read a moment
// ago: how large an item is, is only known once it was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "once/time.h"

namespace once::detail {

// Not safe to share: belongs to the driver's thread.
class HeavyReaders {
 public:
  // `bytes` that are more than a little were read for the tenant in this round.
  void read(std::uint64_t tenant, std::size_t bytes, Time now) {
    std::size_t& sum = in_round_[tenant];
    sum += bytes;
    if (sum <= kMostInRound) return;
    if (until_.size() >= kMostKnown) until_.clear();
    until_[tenant] = later(now, kMemory);
  }

  void round_ended() {
    if (!in_round_.empty()) in_round_.clear();
  }

  bool contains(std::uint64_t tenant, Time now) {
    if (until_.empty()) return false;
    const auto found = until_.find(tenant);
    if (found == until_.end()) return false;
    if (now < found->second) return true;
    until_.erase(found);
    return false;
  }

  bool empty() const { return until_.empty(); }

 private:
  static constexpr std::size_t kMostInRound = 4U << 20;
  static constexpr std::size_t kMostKnown = 10'000;
  static constexpr Duration kMemory = std::chrono::seconds(10);

  std::unordered_map<std::uint64_t, std::size_t> in_round_;
  std::unordered_map<std::uint64_t, Time> until_;
};

}  // namespace once::detail
