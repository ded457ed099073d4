// A day as a picture.
#pragma once

#include <string>

#include "once/once.h"
#include "read.h"

namespace page_stats {

// What the picture shows.
struct ChartData {
  std::chrono::sys_days day;
  std::vector<std::int64_t> views;  // In each ten minutes: 144.
  std::vector<Stats> hours;         // 24.
  Stats whole;
  std::vector<std::string> pages;  // Most viewed first,
  std::vector<Stats> of_pages;     // and what each had.
};

once::Result<ChartData> read_chart(once::Once& once, std::chrono::sys_days day);

// A whole SVG document without scripts, links or fonts of its own.
std::string draw(const ChartData& data);

}  // namespace page_stats
