// Reading what was counted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "count.h"

namespace page_stats {

struct Stats {
  std::int64_t views = 0;
  std::int64_t visitors = 0;            // About so many different ones.
  std::optional<std::int64_t> slowest;  // None if nobody came: no view is not a quick view.
  std::vector<once::HeavyItem> pages;   // Of the site: the most viewed first.
};

// What each subject has from `range.from` until `range.to`, by buckets of `window`, in order: one
// batch query, however many subjects there are.
once::Result<std::vector<Stats>> read_stats(once::Once& once, std::span<const std::string> subjects,
                                            once::TallyWindow window,
                                            const once::TallyRange& range);

// Of one subject.
once::Result<Stats> read_stats(once::Once& once, std::string_view subject, once::TallyWindow window,
                               const once::TallyRange& range);

// A table for people: the site and these pages, or without any the most viewed ones of that day.
once::Result<std::string> query(once::Once& once, std::chrono::sys_days day,
                                std::chrono::hours from, std::chrono::hours to,
                                std::vector<std::string> pages);

}  // namespace page_stats
