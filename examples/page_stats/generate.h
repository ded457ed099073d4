// A believable day of a small web site, the same for the same seed.
#pragma once

#include <cstdint>
#include <vector>

#include "view.h"

namespace page_stats {

struct Day {
  std::chrono::sys_days day;
  std::size_t views = 5'000;
  std::uint32_t seed = 1;
};

// In the order of time.
std::vector<View> generate(const Day& day);

// What a queue that delivers at least once makes of them: about one in four comes again, now and
// then more than once, and nothing comes in order.
std::vector<View> deliver_at_least_once(const std::vector<View>& views, std::uint32_t seed);

}  // namespace page_stats
