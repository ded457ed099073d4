// What an engine tells of itself, for metrics: how much room it takes and has left, and how far it
// is behind with its own work.
#pragma once

#include <string_view>
#include <vector>

#include "once/store.h"

namespace once {

struct EngineNumber {
  std::string_view name;  // Of the metric; a counter's ends with _total.
  std::string_view help;
  double value = 0;
};

// Empty for a store that is a server. Takes about as long as looking at the files of a directory.
// Defined in src/open.
std::vector<EngineNumber> engine_numbers(Store& store);

}  // namespace once
