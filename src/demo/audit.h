// The errors in the books after all was delivered and acknowledged, judged by the contents of the
// store alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "demo/schedule.h"

namespace once::demo {

// The log of orders and the sum of their cents, as they were read back.
struct Books {
  std::vector<std::optional<std::uint32_t>> lines;  // The order at each index, if any.
  std::int64_t cents = 0;
};

struct Audit {
  std::uint64_t applied = 0;   // Orders with a line or more.
  std::uint64_t lost = 0;      // Orders without a line.
  std::uint64_t repeated = 0;  // Lines of an order beyond its first.
  std::uint64_t gaps = 0;      // Indexes without a line before the last line.
  std::int64_t off_by = 0;     // Cents by which the sum is too high or, if negative, too low.

  bool flawless() const { return lost == 0 && repeated == 0 && gaps == 0 && off_by == 0; }
};

Audit audit(const Schedule& schedule, const Books& books);

}  // namespace once::demo
