// What the command line says.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "once/error.h"

namespace page_stats {

struct Options {
  std::string role;  // "" for the whole story.
  bool help = false;
  std::string store;
  std::optional<std::chrono::sys_days> day;
  std::size_t views = 5'000;
  std::size_t threads = 4;
  std::uint32_t seed = 1;
  std::chrono::hours from{0};
  std::chrono::hours to{24};
  std::string chart;               // A file for the story's chart.
  std::vector<std::string> words;  // A file to count, or pages to ask for.
};

// `invalid` with what is wrong, for people.
once::Result<Options> parse_options(int argc, char** argv);

std::string help();

}  // namespace page_stats
