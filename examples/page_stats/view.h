// A view of a page, as it is delivered: one line of JSON.
//
//   {"id":"2026-11-15/00042","time":"2026-11-15T09:14:03.127Z","page":"/pricing",
//    "visitor":"v-31","ms":182}
#pragma once

#include <chrono>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "once/error.h"
#include "once/time.h"

namespace page_stats {

struct View {
  std::string id;  // Of the view, not of its delivery: a redelivery has the same.
  once::Time time;
  std::string page;
  std::string visitor;
  std::int64_t ms = 0;  // What the page took to answer.
};

std::string to_json(const View& view);

// One view a line. An error names the line; nothing is read of a file that has one.
once::Result<std::vector<View>> read_views(std::istream& lines);

std::string to_text(once::Time time);  // 2026-11-15T09:14:03.127Z
std::string to_text(std::chrono::sys_days day);
std::optional<std::chrono::sys_days> parse_day(const std::string& text);

std::string with_commas(std::int64_t number);  // 12,345

}  // namespace page_stats
