// The books of a side: where they are kept, how they are read back, and the errors in them after
// all was delivered and acknowledged, judged by the contents of the store alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "demo/schedule.h"
#include "demo/worker.h"
#include "once/error.h"
#include "once/time.h"

namespace once::demo {

inline constexpr Duration kPatience = std::chrono::seconds(30);  // With a side's store.

// Where the two sides of the demo keep their books.
namespace plain {
inline constexpr const char* kLines = "/lines";  // How many there are.
inline constexpr const char* kTotal = "/total";
inline std::string seen_name(std::uint32_t order) { return "/seen/" + std::to_string(order); }
inline std::string line_name(std::int64_t index) { return "/line/" + std::to_string(index); }
}  // namespace plain

namespace guarded {
inline constexpr const char* kStream = "orders";
inline constexpr const char* kTally = "cents";
inline constexpr Duration kLease{800};  // Ends before what was killed is delivered again.
inline std::string claim_key(std::uint32_t order) { return "order-" + std::to_string(order); }
}  // namespace guarded

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

// `most_lines`: the most that were ever written. `corrupt`: a line that no worker wrote.
Result<Books> read_books(Way way, const std::string& url, std::uint32_t orders,
                         std::uint64_t most_lines);

}  // namespace once::demo
