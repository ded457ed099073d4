// Counting views, each once however often it is delivered.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "once/once.h"
#include "view.h"

namespace page_stats {

// Who is counted: the whole site, or a page by its path, which begins with "/".
inline constexpr std::string_view kSite = "site";

// The name of a tally: "site:views:minute", "/pricing:visitors:hour".
std::string tally_name(std::string_view subject, std::string_view what, once::TallyWindow window);

// All that a view changes.
once::Effects effects_of(const View& view);

struct Counted {
  std::size_t counted = 0;
  std::size_t known = 0;  // Deliveries of views that were counted before: they changed nothing.
};

// Counts them on so many threads, in no particular order. A store that cannot be reached is tried
// for half a minute. After an error some are counted: deliver all of them again.
once::Result<Counted> count(once::Once& once, std::span<const View> views, std::size_t threads);

}  // namespace page_stats
