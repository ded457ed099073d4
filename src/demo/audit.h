// What is wrong with the books after all was delivered and acknowledged. It looks only at what
// stands in the store.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "demo/schedule.h"

namespace once::demo {

// The log of orders and the sum of their cents, as they were read back.
struct Books {
  std::vector<std::optional<std::uint32_t>> lines;  // The order at each index; nothing: no line.
  std::int64_t cents = 0;
};

struct Audit {
  std::uint64_t applied = 0;   // Orders with a line or more.
  std::uint64_t lost = 0;      // Orders without a line.
  std::uint64_t repeated = 0;  // Lines of an order beyond its first.
  std::uint64_t gaps = 0;      // Indexes without a line, and with one after them.
  std::int64_t off_by = 0;     // Cents that the sum has too many, or too few.

  bool flawless() const { return lost == 0 && repeated == 0 && gaps == 0 && off_by == 0; }
};

Audit audit(const Schedule& schedule, const Books& books);

}  // namespace once::demo
