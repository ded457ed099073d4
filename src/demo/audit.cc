#include "demo/audit.h"

namespace once::demo {

Audit audit(const Schedule& schedule, const Books& books) {
  std::vector<std::uint64_t> times(schedule.orders.size());
  Audit found;
  std::uint64_t empty = 0;  // Since the last line.
  for (const std::optional<std::uint32_t>& line : books.lines) {
    if (!line) {
      ++empty;
      continue;
    }
    found.gaps += empty;
    empty = 0;
    ++times.at(*line);
  }
  for (const std::uint64_t count : times) {
    if (count == 0) ++found.lost;
    if (count > 0) ++found.applied;
    if (count > 1) found.repeated += count - 1;
  }
  found.off_by = books.cents - schedule.total_cents();
  return found;
}

}  // namespace once::demo
