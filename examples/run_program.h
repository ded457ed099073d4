// A program run to its end, for the tests of the examples.
#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "testing/child_process.h"

namespace examples {

using Words = std::vector<std::string>;

struct Finished {
  int status = 0;  // Minus the signal that ended it.
  std::string output;

  Words lines() const {
    Words all;
    std::istringstream in(output);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
};

// What it still prints, up to its end.
inline std::string rest_of(once::testing::ChildProcess& child) {
  std::string text;
  while (std::optional<std::string> line = child.read_line()) text.append(*line).append("\n");
  return text;
}

inline Finished run_to_end(const Words& arguments) {
  once::testing::ChildProcess child(ONCE_EXAMPLE, arguments);
  child.end_input();
  Finished finished;
  finished.output = rest_of(child);
  finished.status = child.wait();
  return finished;
}

// On that store.
inline Finished run_on(const std::string& store, Words arguments) {
  arguments.insert(arguments.end(), {"--store", store});
  return run_to_end(arguments);
}

}  // namespace examples
