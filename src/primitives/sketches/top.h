// The most frequent items with bounds on their counts: Misra and Gries 1982, merged as in Agarwal,
// Cormode, Huang, Phillips, Wei, Yi, "Mergeable Summaries" (PODS 2012).
//
// Error: with k counters and items that count N in all, every item's true count lies in
// [count - error, count], an item that is not reported counts at most error(), and error() is at
// most N / (k + 1). That holds after any merges in any order; which of the light items are reported
// within these bounds may depend on the order.
//
//   record 'K', format 1
//   ┌──────────┬────────┬─────────┬────────┬────────────────────────────────────┐
//   │ counters │ total  │ removed │ items  │ each: item bytes, count number,    │
//   │ number   │ number │ number  │ number │ ascending by item                  │
//   └──────────┴────────┴─────────┴────────┴────────────────────────────────────┘
//   `removed` is the total that was subtracted from every counter: the error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/item.h"

namespace once::sketches {

inline constexpr std::size_t kMaxCounters = 10'000;
inline constexpr std::size_t kMaxTopItem = 512;  // Bytes.

struct Heavy {
  std::string item;
  std::uint64_t count = 0;  // The true count is at most this,
  std::uint64_t error = 0;  // and at least count - error.

  friend bool operator==(const Heavy&, const Heavy&) = default;
};

class Top {
 public:
  static constexpr bool kIdempotent = false;  // Merging again counts again.

  // `counters` is 1 to kMaxCounters.
  explicit Top(std::size_t counters = 256) : counters_(counters) {}

  std::size_t counters() const { return counters_; }
  std::uint64_t total() const { return total_; }
  std::uint64_t error() const { return removed_; }

  // `invalid`, and nothing changed, if the item is longer than kMaxTopItem, `count` is 0, or the
  // total would go beyond 2^63 - 1.
  Result<void> add(std::string_view item, std::uint64_t count = 1);

  // `invalid`, and nothing changed, if the other has a different number of counters, or for the
  // total.
  Result<void> merge(const Top& other);

  // The kept items, the most frequent first, equal ones by name.
  std::vector<Heavy> report() const;

  Bytes encode() const;
  static Result<Top> decode(std::string_view record);

  friend bool operator==(const Top&, const Top&) = default;

 private:
  Result<void> grow_total(std::uint64_t count);
  void prune();

  std::size_t counters_;
  std::uint64_t total_ = 0;
  std::uint64_t removed_ = 0;
  std::map<std::string, std::uint64_t, std::less<>>
      kept_;  // At most counters_ items, none with count 0.
};

}  // namespace once::sketches
