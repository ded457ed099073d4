// Where the two sides of the demo keep their books.
#pragma once

#include <cstdint>
#include <string>

#include "once/time.h"

namespace once::demo {

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

}  // namespace once::demo
